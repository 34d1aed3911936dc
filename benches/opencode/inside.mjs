// Runs inside the OpenCode process, as a plugin: measures the two transforms of a request, for
// Flamestack, for a bare echo of the same bytes, and for a plugin that prunes.

import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

/** What to measure; written after the server has started. */
let setting
const MODEL = { id: "mock-1", providerID: "mock", api: { npm: "@ai-sdk/anthropic" }, limit: { context: 200_000, output: 8_000 } }

/** The n-th message of a long session: a user's every twentieth, tool calls between. */
function message(session, n) {
  const id = `msg_${String(n).padStart(6, "0")}`
  const part = (more) => ({ id: `prt_${id}_${more.type}`, messageID: id, sessionID: session, ...more })
  if (n % 20 === 0) {
    const info = { id, sessionID: session, role: "user", time: { created: n }, agent: "build", model: { providerID: "mock", modelID: "mock-1" } }
    return { info, parts: [part({ type: "text", text: `Please look at part ${n} of the shop next.` })] }
  }
  const tokens = { input: 100, output: 20, reasoning: 0, cache: { read: 0, write: 0 } }
  const info = { id, sessionID: session, role: "assistant", time: { created: n, completed: n + 1 }, cost: 0, tokens, modelID: "mock-1", providerID: "mock" }
  const state = {
    status: "completed",
    input: { filePath: `/shop/src/part${n}.rs`, offset: n },
    output: `line of part ${n}\n`.repeat(40),
    title: "read",
    metadata: {},
    time: { start: n, end: n + 1 },
  }
  return {
    info,
    parts: [
      part({ type: "step-start" }),
      part({ type: "text", text: `I look at part ${n}.`, time: { start: n, end: n } }),
      part({ type: "tool", callID: `call_${n}`, tool: "read", state }),
      part({ type: "step-finish", reason: "tool-calls", cost: 0, tokens }),
    ],
  }
}

/** The times of one step, again and again: each has one message more than the step before. */
async function measure(session, hooks, rounds) {
  const times = []
  let kept = 0
  for (let round = -5; round < rounds; round += 1) {
    // As the host reads them from its database, anew for each request.
    const made = Array.from({ length: setting.messages + round + 5 }, (_, n) => message(session, n))
    const messages = JSON.parse(JSON.stringify(made))
    const system = ["You are opencode"]
    const begun = performance.now()
    await hooks["experimental.chat.messages.transform"]?.({}, { messages })
    await hooks["experimental.chat.system.transform"]?.({ sessionID: session, model: MODEL }, { system })
    if (round >= 0) times.push(performance.now() - begun)
    kept = messages.length
  }
  return { times, kept }
}

/** A bare echo of what has to cross the pipe in a step: one new message. */
async function echo(session, rounds) {
  const child = spawn("cat", [], { stdio: ["pipe", "pipe", "ignore"] })
  child.stdout.setEncoding("utf8")
  let heard
  let rest = ""
  child.stdout.on("data", (chunk) => {
    rest += chunk
    if (!rest.endsWith("\n")) return
    rest = ""
    heard()
  })
  const times = []
  for (let round = -5; round < rounds; round += 1) {
    const line = `${JSON.stringify({ jsonrpc: "2.0", id: round, method: "prepare", params: message(session, 2_001) })}\n`
    const begun = performance.now()
    await new Promise((resolve) => {
      heard = resolve
      child.stdin.write(line)
    })
    if (round >= 0) times.push(performance.now() - begun)
  }
  child.kill()
  return { times }
}

/** Pushes and pops through the session, so that most of it is folded. */
async function frames(session, hooks) {
  const { stack_frame_push: push, stack_frame_pop: pop } = hooks.tool
  const at = (n) => ({ sessionID: session, messageID: message(session, n).info.id, agent: "build", abort: new AbortController().signal })
  for (let n = 0; n + 100 <= setting.messages; n += 100) {
    await push.execute({ title: `Part ${n}`, successCriteria: "It is understood" }, at(n + 5))
    await pop.execute({ status: "completed", results: `Part ${n} is as it should be` }, at(n + 95))
  }
}

async function run(input, session) {
  const load = async (path) => (await import(pathToFileURL(path).href)).default
  const ours = await (await load(setting.plugin)).server(input, { command: setting.flame, deadline: 10_000 })
  const messages = Array.from({ length: setting.messages }, (_, n) => message(session, n))
  await ours["experimental.chat.messages.transform"]({}, { messages })
  await frames(session, ours)
  const results = { echo: await echo(session, setting.rounds), flamestack: await measure(session, ours, setting.rounds) }
  await ours.dispose()
  if (setting.pruner) {
    const module = await load(setting.pruner)
    const pruner = await (module.server ?? module)(input, {})
    // It takes a hundred times as long.
    const limit = new Promise((resolve) => setTimeout(resolve, 120_000))
    results.pruner = await Promise.race([measure(session, pruner, Math.ceil(setting.rounds / 20)), limit])
  }
  return results
}

export default {
  id: "flamestack-bench",
  server: async (input) => ({
    "chat.message": async ({ sessionID }) => {
      setting = JSON.parse(readFileSync(process.env.BENCH_SETTING, "utf8"))
      // Not awaited: what is measured may itself ask the server about this session.
      run(input, sessionID)
        .catch((error) => ({ error: String(error?.stack ?? error) }))
        .then((results) => writeFileSync(setting.results, JSON.stringify(results)))
    },
  }),
}
