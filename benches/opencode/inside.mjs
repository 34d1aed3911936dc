// Runs inside the OpenCode process, as a plugin: forwards every hook to the plugin that is measured, and
// times the two that a request waits for.
//
// One is measured at a time, each in its own server: what one leaves to the event loop and to the
// garbage collector would count for the other.

import { readFileSync, writeFileSync } from "node:fs"
import { pathToFileURL } from "node:url"
import { echo } from "./echo.mjs"
import { fill, frames, leaveOut } from "./session.mjs"

const MESSAGES = "experimental.chat.messages.transform"
const SYSTEM = "experimental.chat.system.transform"

const setting = JSON.parse(readFileSync(process.env.BENCH_SETTING, "utf8"))
const load = async (path) => await import(pathToFileURL(path).href)

/** The hooks that are measured. */
async function measured(input) {
  const { who } = setting
  if (who === "ours") return await (await load(setting.plugin)).default.server(input, { command: setting.flame, deadline: 10_000 })
  if (who === "pruner") {
    const { default: module } = await load(setting.pruner)
    return await (module.server ?? module)(input, {})
  }
  const { message } = await load(setting.plugin.replace("index.js", "messages.js"))
  const result = { drop: [], insert: [], plan: "0123456789abcdef", same: true, strip: [] }
  const ask = echo(setting.echo, JSON.stringify({ jsonrpc: "2.0", id: 1, result }))
  let question
  return {
    // The same bytes that cross for Flamestack: what is new, and that the plan is still good.
    before: (messages) => {
      const { info, parts } = messages.at(-1)
      const params = { session: info.sessionID, known: messages.length - 1, messages: [message(info, parts)], has: result.plan, model: { name: "mock/mock-1", limit: { context: 200_000, output: 8_000 } } }
      question = { jsonrpc: "2.0", id: 1, method: "prepare", params }
      return [JSON.stringify(question).length + 1, JSON.stringify({ jsonrpc: "2.0", id: 1, result }).length + 1]
    },
    [MESSAGES]: () => ask(question),
    after: (messages) => leaveOut(messages, setting.messages),
  }
}

/** True if the newest message ends a frame. */
const pops = ({ parts }) => parts.some((part) => part.type === "tool" && part.tool === "stack_frame_pop")

export default {
  id: "flamestack-bench",
  server: async (input) => {
    const hooks = await measured(input)
    const requests = []
    let filled = false
    const own = {
      [MESSAGES]: async (given, output) => {
        const { messages } = output
        const request = { messages: messages.length, popped: pops(messages.at(-1)), bytes: hooks.before?.(messages) }
        const begun = performance.now()
        await hooks[MESSAGES](given, output)
        request.took = performance.now() - begun
        hooks.after?.(messages)
        request.kept = messages.length
        requests.push(request)
      },
      [SYSTEM]: async (given, output) => {
        const begun = performance.now()
        await hooks[SYSTEM]?.(given, output)
        const request = requests.at(-1)
        if (request) request.took += performance.now() - begun
      },
      event: async (given) => {
        await hooks.event?.(given)
        if (given.event.type !== "session.idle") return
        const session = given.event.properties.sessionID
        if (!filled) {
          filled = true
          await fill(session, setting.messages)
          if (setting.who === "ours") await frames(session, setting.messages, hooks.tool)
        }
        // Every turn anew: the last one is there when the server is stopped.
        writeFileSync(setting.results, JSON.stringify(requests))
      },
    }
    // Some of them are read later than here.
    const theirs = Object.keys(hooks).map((name) => [name, { enumerable: true, get: () => own[name] ?? hooks[name] }])
    const ours = Object.entries(own).map(([name, value]) => [name, { enumerable: true, value }])
    return Object.defineProperties({}, Object.fromEntries([...theirs, ...ours]))
  },
}
