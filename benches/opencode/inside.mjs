// Runs inside the OpenCode process, as a plugin: measures the two transforms of a request, for
// Flamestack, for a bare echo of the same bytes (on standard output, and by a direct line), and for a
// plugin that prunes.
//
// All take turns, and each gets the session's messages read anew just before, as they are for every
// request: what that does to caches and to the garbage collector is the same for all.

import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { frames, messages } from "./session.mjs"

/** What to measure; written after the server has started. */
let setting
const MODEL = { id: "mock-1", providerID: "mock", api: { npm: "@ai-sdk/anthropic" }, limit: { context: 200_000, output: 8_000 } }
/** Rounds that are not counted: code is compiled when it has run for a while. */
const WARM = 50

/** The time of one request's transforms, and how many messages they leave. */
async function request(session, hooks, count) {
  const list = messages(session, count)
  const system = ["You are opencode"]
  const begun = performance.now()
  await hooks["experimental.chat.messages.transform"]?.({}, { messages: list })
  await hooks["experimental.chat.system.transform"]?.({ sessionID: session, model: MODEL }, { system })
  return { took: performance.now() - begun, kept: list.length, system: system.join("\n").length }
}

/** A sidecar that answers one question with one answer, and what asking it takes. */
function bare(session, { question, answer }) {
  const child = spawn(setting.echo, [answer], { stdio: ["pipe", "pipe", "ignore"] })
  child.stdout.setEncoding("utf8")
  let heard
  let rest = ""
  child.stdout.on("data", (chunk) => {
    rest += chunk
    if (!rest.endsWith("\n")) return
    const answered = JSON.parse(rest)
    rest = ""
    heard(answered)
  })
  const asked = JSON.parse(question)
  return {
    async ask(count) {
      messages(session, count)
      const begun = performance.now()
      await new Promise((resolve) => {
        heard = resolve
        child.stdin.write(`${JSON.stringify(asked)}\n`)
      })
      return performance.now() - begun
    },
    end: () => child.kill(),
  }
}

/** The same, asked and answered by a direct line as the plugin uses it. */
async function direct(session, { question, answer }) {
  const { DirectLine } = await import(new URL("direct.js", pathToFileURL(setting.plugin)).href)
  const folder = mkdtempSync(join(setting.place, "line-"))
  const pipes = { questions: join(folder, "questions"), answers: join(folder, "answers") }
  execFileSync("mkfifo", Object.values(pipes))
  const child = spawn(setting.echo, [answer, pipes.questions, pipes.answers], { stdio: ["pipe", "pipe", "ignore"] })
  child.stdout.on("data", () => {})
  const asked = JSON.parse(question)
  let line
  while (!line) {
    try {
      line = new DirectLine(pipes)
    } catch {
      // It has not opened its ends yet.
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  return {
    async ask(count) {
      messages(session, count)
      const begun = performance.now()
      let answered
      const hear = (heard) => (answered = JSON.parse(heard))
      line.write(`${JSON.stringify(asked)}\n`)
      while (!answered) line.listen(() => answered !== undefined, hear)
      await answered
      return performance.now() - begun
    },
    end: () => {
      line.close()
      child.kill()
    },
  }
}

/** What crosses the pipe for a request with one new message, and for one with nothing new. */
async function crossing(session, start) {
  const [questions, answers] = ["questions", "answers"].map((name) => join(setting.place, name))
  // Without a direct line, so that all of it passes here.
  const between = `tee "$1" | "$0" sidecar | sed -u 's/"direct":/"without":/' | tee "$2"`
  const hooks = await start(["sh", "-c", between, setting.flame, questions, answers])
  const last = () => {
    const [question, answer] = [questions, answers].map((path) => readFileSync(path, "utf8").trim().split("\n").at(-1))
    return { question, answer }
  }
  for (const more of [1, 2]) await request(session, hooks, setting.messages + more)
  const one = last()
  await request(session, hooks, setting.messages + 2)
  const nothing = last()
  await hooks.dispose()
  return { one, nothing }
}

async function run(input, session) {
  const load = async (path) => (await import(pathToFileURL(path).href)).default
  const plugin = await load(setting.plugin)
  const start = (command) => plugin.server(input, { command, deadline: 10_000 })
  const ours = await start(setting.flame)
  await request(session, ours, setting.messages)
  await frames(session, setting.messages, ours)
  const crossed = await crossing(session, start)
  const echoes = {
    one: bare(session, crossed.one),
    directOne: await direct(session, crossed.one),
    nothing: bare(session, crossed.nothing),
    directNothing: await direct(session, crossed.nothing),
  }
  const times = { echoOne: [], directOne: [], one: [], echoNothing: [], directNothing: [], nothing: [], pruner: [] }
  let kept
  for (let round = -WARM; round < setting.rounds; round += 1) {
    const count = setting.messages + WARM + round
    const took = {}
    took.echoOne = await echoes.one.ask(count)
    took.directOne = await echoes.directOne.ask(count)
    took.one = (await request(session, ours, count)).took
    took.echoNothing = await echoes.nothing.ask(count)
    took.directNothing = await echoes.directNothing.ask(count)
    const again = await request(session, ours, count)
    took.nothing = again.took
    kept = again
    if (round >= 0) for (const [name, time] of Object.entries(took)) times[name].push(time)
  }
  for (const echo of Object.values(echoes)) echo.end()
  await ours.dispose()
  const bytes = ({ question, answer }) => [question.length + 1, answer.length + 1]
  const results = { times, kept: kept.kept, messages: setting.messages + WARM + setting.rounds - 1, bytes: { one: bytes(crossed.one), nothing: bytes(crossed.nothing) } }
  if (setting.pruner) results.pruned = await prune(input, session, await load(setting.pruner), times.pruner)
  return results
}

/** The same of a plugin that prunes: it takes much longer, so there are fewer rounds. */
async function prune(input, session, module, times) {
  const hooks = await (module.server ?? module)(input, {})
  // As the host does before the first request.
  const { data } = await input.client.config.get()
  await hooks.config?.(structuredClone(data))
  const rounds = Math.ceil(setting.rounds / 20)
  let last
  for (let round = -3; round < rounds; round += 1) {
    last = await request(session, hooks, setting.messages + 3 + round)
    if (round >= 0) times.push(last.took)
  }
  return { kept: last.kept, system: last.system }
}

export default {
  id: "flamestack-bench",
  server: async (input) => ({
    // When the turn is over: what is measured may itself ask the server, or keep it from answering.
    event: async ({ event }) => {
      if (event.type !== "session.idle" || setting) return
      setting = JSON.parse(readFileSync(process.env.BENCH_SETTING, "utf8"))
      const results = await run(input, event.properties.sessionID).catch((error) => ({ error: String(error?.stack ?? error) }))
      writeFileSync(setting.results, JSON.stringify(results))
    },
  }),
}
