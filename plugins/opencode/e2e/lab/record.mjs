// Records what the plugin tells the sidecar in the real OpenCode, for tests of the state machine and, with `--work`,
// of the heuristics of autonomy: `node e2e/lab/record.mjs [--work] FILE [NAME]...`. One line a stream: its name, its
// session, the state that it ends in, and the protocol's lines, without those that carry no signal.

import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { FLAME } from "./install.mjs"
import { Lab } from "./opencode.mjs"
import { WORK, prepare } from "./work.mjs"

const words = process.argv.slice(2)
const isWork = words[0] === "--work"
const [file, ...names] = isWork ? words.slice(1) : words
const saboteur = join(import.meta.dirname, "saboteur.mjs")
const bash = (command) => ({ calls: [{ name: "bash", args: { command, description: "Work" } }] })
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const of = (session) => (event) => event.properties.sessionID === session

/** Waits for the next event of a type of a session. */
const next = (lab, type, session) => lab.next((event) => event.type === type && of(session)(event))
const running = (lab, tool) =>
  lab.next(({ type, properties: { part } }) => type === "message.part.updated" && part?.tool === tool && part.state.status === "running")

async function abort(lab, session) {
  const idle = next(lab, "session.idle", session)
  await lab.api("POST", `/session/${session}/abort`)
  await idle
}

/** Each stream is what one session did, up to the state that it stays in. */
const STREAMS = {
  async "a turn with a call"(lab, session) {
    lab.model.on("Work on it", bash("echo one"), bash("echo two"), { text: "Done." })
    await lab.prompt(session, "Work on it")
  },
  async "stopped in a call"(lab, session) {
    const runs = running(lab, "bash")
    lab.model.on("Work on it", bash("sleep 60"), { text: "Done." })
    await lab.begin(session, "Work on it")
    await runs
    await pause(300)
    await abort(lab, session)
  },
  async "stopped in a model call"(lab, session) {
    const waits = lab.model.waits()
    lab.model.on("Work on it", { text: "This is never said to its end", hang: true })
    await lab.begin(session, "Work on it")
    await waits
    await abort(lab, session)
  },
  async "refused by the provider"(lab, session) {
    lab.model.on("Work on it", { refuse: { message: "no credit" }, status: 400 })
    await lab.prompt(session, "Work on it")
  },
  async "asked again by the provider"(lab, session) {
    lab.model.on("Work on it", { refuse: { message: "busy" }, status: 503 }, { text: "Done." })
    await lab.prompt(session, "Work on it")
  },
  async "stopped while the provider is busy"(lab, session) {
    const busy = { refuse: { message: "busy" }, status: 503, headers: { "retry-after-ms": "60000" } }
    lab.model.on("Work on it", busy)
    const retried = lab.next(({ type, properties }) => type === "session.status" && properties.status.type === "retry")
    await lab.begin(session, "Work on it")
    await retried
    await abort(lab, session)
  },
  async "a permission"(lab, session) {
    const asked = next(lab, "permission.asked", session)
    lab.model.on("Work on it", bash("rm -f nothing"), { text: "Done." })
    const turn = lab.prompt(session, "Work on it")
    await lab.api("POST", `/permission/${(await asked).properties.id}/reply`, { reply: "once" })
    await turn
  },
  async "a rejected permission"(lab, session) {
    const asked = next(lab, "permission.asked", session)
    lab.model.on("Work on it", bash("rm -f nothing"), { text: "Done." })
    const turn = lab.prompt(session, "Work on it")
    await lab.api("POST", `/permission/${(await asked).properties.id}/reply`, { reply: "reject" })
    await turn
  },
  async "a subagent"(lab, session) {
    const args = { description: "Look", prompt: "Look around", subagent_type: "general" }
    lab.model.on("Work on it", { calls: [{ name: "task", args }] }, { text: "Done." })
    lab.model.on("Look around", bash("echo looked"), { text: "Nothing there." })
    await lab.prompt(session, "Work on it")
  },
  async "a summary"(lab, session) {
    lab.model.on("Work on it", { text: "Done." })
    await lab.prompt(session, "Work on it")
    await lab.summarize(session)
  },
  async "stopped, then continued"(lab, session) {
    const waits = lab.model.waits()
    lab.model.on("Work on it", { text: "This is never said to its end", hang: true })
    await lab.begin(session, "Work on it")
    await waits
    await abort(lab, session)
    lab.model.on("Go on", bash("echo on"), { text: "Done." })
    await lab.prompt(session, "Go on")
  },
  async "a prompt during a turn"(lab, session) {
    const runs = running(lab, "bash")
    lab.model.on("Work on it", bash("sleep 1"), { text: "Done." })
    lab.model.on("And this", { text: "Done, too." })
    const idle = next(lab, "session.idle", session)
    await lab.begin(session, "Work on it")
    await runs
    await lab.begin(session, "And this")
    await idle
  },
  async "an answer that breaks off"(lab, session) {
    lab.model.on("Work on it", { breaksOff: true }, { text: "Done." })
    await lab.prompt(session, "Work on it")
  },
}

const streams = []
for (const [name, play] of Object.entries(isWork ? WORK : STREAMS)) {
  if (names.length > 0 && !names.includes(name)) continue
  const permission = { "*": "allow", bash: { "*": "allow", "rm *": "ask" } }
  const heard = join(process.env.TMPDIR ?? "/tmp", `flame-record-${process.pid}-${streams.length}`)
  // A full window is left alone.
  const config = { permission, ...(isWork && { compaction: { auto: false } }) }
  const lab = await Lab.start({ config, plugin: { command: [process.execPath, saboteur, heard, FLAME] } })
  try {
    if (isWork) prepare(lab)
    const session = await lab.session({ title: "Recorded" })
    await Promise.race([play(lab, session), pause(40_000).then(() => Promise.reject(new Error(`${name}: no end`)))])
    await pause(1_000)
    const { state, stateHistory } = JSON.parse(lab.flame(["session", "show", `opencode:${session}`, "--json"]))
    const text = readFileSync(join(heard, "heard"), "utf8").replaceAll(lab.project, "/p").replaceAll(lab.root, "/r")
    const lines = text.trim().split("\n").map((line) => JSON.parse(line))
    streams.push({ name, session, state, states: stateHistory.map(({ to }) => to), lines: lines.filter(signals).map(bare) })
    console.log(`${name}: ${stateHistory.map(({ to }) => to).join(" ")} (${lines.length} lines, ${lab.model.requests.length} requests)`)
  } catch (error) {
    console.log(String(error), lab.model.problems)
  } finally {
    await lab.stop()
  }
}
writeFileSync(file, streams.map((one) => `${JSON.stringify(one)}\n`).join(""))

function signals({ method, params }) {
  return ["prompt", "prepare", "observe", "summarize", "summarized"].includes(method) && params.session !== undefined
}

/** Leaves out how the hooks fared, which is no signal. */
function bare({ method, params }) {
  if (method !== "observe") return { method, params }
  return { method, params: { ...params, events: params.events.filter(({ kind }) => kind !== "hookStats") } }
}
