// The server is killed with -9 in a tool, in a model call and with subagents, and started again: states,
// checkpoints and briefs are right, and nothing is executed twice. Numbers are those of the demands of
// users on interruption and resume.

import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync, readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { OPENCODE } from "./lab/install.mjs"
import { Lab } from "./lab/opencode.mjs"

const bash = (command) => ({ calls: [{ name: "bash", args: { command, description: "Work" } }] })
const task = (prompt) => ({ calls: [{ name: "task", args: { description: "Part", prompt, subagent_type: "general" } }] })
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** The process of the sidecar below a server. */
function sidecarOf(server) {
  const found = readdirSync("/proc").find((pid) => {
    try {
      const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
      return Number(parent) === server && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("sidecar")
    } catch {
      return false
    }
  })
  return Number(found)
}
const resume = (lab, session) => JSON.parse(lab.flame(["session", "resume", `opencode:${session}`, "--json"]))
const lastWords = (request) => JSON.stringify(request.messages.at(-1))

/** Starts a session whose first call runs and does not end. */
async function inTool(lab, words = "Build the cart") {
  const session = await lab.session({ title: words })
  const runs = lab.next(
    ({ type, properties: { part } }) => type === "message.part.updated" && part?.tool === "bash" && part.state.status === "running",
  )
  lab.model.on(words, bash("echo ran >> ran.txt; sleep 30"), { text: "Done." })
  await lab.begin(session, words)
  await runs
  for (let left = 100; !existsSync(join(lab.project, "ran.txt")) && left > 0; left -= 1) await pause(50)
  await lab.shown(session, "executing")
  return session
}
const runs = (lab) => readFileSync(join(lab.project, "ran.txt"), "utf8").trim().split("\n").length

test("B.2.1, B.2.2, B.2.3, B.2.11 killed in a tool: the outcome is unknown, and nothing continues automatically", async () => {
  const lab = await Lab.start()
  try {
    const session = await inTool(lab)
    // The state of the call is recorded before the kill.
    await pause(300)
    await lab.crash()
    const found = await lab.shown(session, "interrupted")
    assert.match(found.stateHistory.at(-1).cause, /process|host|crash|kill/i)
    const [call] = found.checkpoint.inFlight
    assert.equal(call.tool, "bash")
    assert.match(call.input, /echo ran >> ran.txt/)
    assert.ok(found.checkpoint.lastMessage && found.checkpoint.git.head, JSON.stringify(found.checkpoint))
    assert.equal(found.checkpoint.frame, found.frame)

    const requests = lab.model.work().length
    await lab.serve()
    await pause(1_500)
    assert.equal(lab.model.work().length, requests, "nothing runs until the user types")
    const state = resume(lab, session)
    assert.equal(state.interruption.inFlight[0].outcome, "unknown")
    assert.match(state.interruption.inFlight[0].check, /before running it again/)
    assert.equal(state.resume, "ask")
    assert.equal(state.directory, lab.project)
    assert.match(state.model, /mock-1/)
    const text = lab.flame(["session", "resume", `opencode:${session}`])
    assert.match(text, /Outcome unknown, verify first: bash/)
    assert.match(text, /\/undo/)
    assert.match(text, /opencode --session/)

    lab.model.on("What is the state?", { text: "I verify first." })
    await lab.prompt(session, "What is the state?")
    const [asked] = lab.model.work(session).slice(requests)
    assert.match(lastWords(asked), /What is the state\?/)
    assert.match(lastWords(asked), /Outcome unknown, verify first: bash `echo ran/)
    assert.equal(runs(lab), 1, "the call was not executed again")
    assert.equal(lab.model.work(session).length, requests + 1, "no prompt was sent again")
    await lab.shown(session, "between_turn")
    const recalled = lab.flame(["recall", `opencode:${session}`, "--tokens", "20000"])
    const transcript = recalled.slice(recalled.indexOf("## Transcript"))
    assert.ok(transcript.indexOf("echo ran") < transcript.indexOf("What is the state?"), transcript)
    // Said once.
    lab.model.on("And now?", { text: "Going on." })
    await lab.prompt(session, "And now?")
    assert.doesNotMatch(lastWords(lab.model.work(session).at(-1)), /Outcome unknown/)
    assert.deepEqual(lab.noise(), [])
  } finally {
    await lab.stop()
  }
})

test("B.2.11 the machine goes down with everything on it: found when the user asks, by the process that is gone", async () => {
  const lab = await Lab.start()
  try {
    const session = await inTool(lab, "Build the attic")
    await pause(300)
    // The sidecar first, so that it cannot see how the host ends.
    process.kill(sidecarOf(lab.server.pid), "SIGKILL")
    const { pid } = lab.server
    await lab.crash()
    // There is no signal for it: the question itself finds it.
    const found = await lab.shown(session, "interrupted")
    const requests = lab.model.work().length
    await lab.serve()
    assert.match(found.why, new RegExp(`process ${pid} is gone`))
    assert.deepEqual([found.checkpoint.cause, found.stateHistory.at(-1).cause], ["crash", "crashed"])
    assert.match(found.checkpoint.inFlight[0].input, /echo ran >> ran.txt/)
    // Where and how it ran is recorded, not guessed.
    const state = resume(lab, session)
    assert.deepEqual([state.directory, state.agent ?? found.role], [lab.project, found.role])
    assert.match(state.model, /mock-1/)
    await pause(1_000)
    assert.deepEqual([lab.model.work().length, runs(lab)], [requests, 1])
  } finally {
    await lab.stop()
  }
})

test("B.2.11 found at the next start, by the process that is gone", async () => {
  const lab = await Lab.start()
  try {
    const session = await inTool(lab, "Build the cellar")
    await pause(300)
    process.kill(sidecarOf(lab.server.pid), "SIGKILL")
    await lab.crash()
    await lab.serve()
    // The sidecar starts with the first request, and looks before it serves it.
    const other = await lab.session({ title: "Another" })
    lab.model.on("Look around", { text: "Nothing to see." })
    await lab.prompt(other, "Look around")
    // A command that does not look for lost turns.
    const shown = JSON.parse(lab.flame(["show", `opencode:${session}`, "--json"]))
    assert.equal(shown.host.interruptions, 1)
  } finally {
    await lab.stop()
  }
})

test("Ctrl-C at the terminal reaches all processes in it: the sidecar lives on and records the cut", async () => {
  const lab = await Lab.start()
  try {
    lab.model.on("Build the roof", bash("echo ran >> ran.txt; sleep 30"), { text: "Done." })
    const host = spawn(OPENCODE, ["run", "Build the roof"], {
      cwd: lab.project, env: lab.environment, detached: true, stdio: ["ignore", "ignore", "ignore"],
    })
    const ended = new Promise((resolve) => host.once("exit", resolve))
    for (let left = 600; !existsSync(join(lab.project, "ran.txt")) && left > 0; left -= 1) await pause(50)
    await pause(300)
    process.kill(-host.pid, "SIGINT")
    await ended
    // The sidecar records it at the end of its input; a question in the same moment would find it first.
    await pause(1_500)
    const [{ session }] = JSON.parse(lab.flame(["session", "list", "--json"]))
    const found = await lab.shown(session.replace("opencode:", ""), "interrupted")
    assert.equal(found.checkpoint.cause, "kill", found.why)
    assert.match(found.checkpoint.inFlight[0].input, /echo ran >> ran.txt/)
    assert.equal(runs(lab), 1)
  } finally {
    await lab.stop()
  }
})

test("B.2.5 prompts that were queued are shown, and neither dropped nor run", async () => {
  const lab = await Lab.start()
  try {
    const session = await inTool(lab, "Build the till")
    await lab.begin(session, "Also paint it green")
    await pause(500)
    await lab.crash()
    const found = await lab.shown(session, "interrupted")
    assert.match(JSON.stringify(found.checkpoint.queued), /paint it green/)
    const requests = lab.model.work().length
    await lab.serve()
    await pause(1_000)
    assert.equal(lab.model.work().length, requests)
    assert.match(lab.flame(["session", "resume", `opencode:${session}`]), /paint it green/)
  } finally {
    await lab.stop()
  }
})

test("B.2.2 killed in a model call: no call was in flight, and the model learns of the cut", async () => {
  const lab = await Lab.start()
  try {
    const session = await lab.session({ title: "Bill" })
    const waits = lab.model.waits()
    lab.model.on("Write the bill", { text: "This will never be said to its end", hang: true })
    await lab.begin(session, "Write the bill")
    await waits
    await lab.shown(session, "executing")
    await lab.crash()
    const found = await lab.shown(session, "interrupted")
    assert.deepEqual(found.checkpoint.inFlight, [])
    await lab.serve()
    lab.model.on("Go on please", { text: "The bill is written." })
    await lab.prompt(session, "Go on please")
    const words = lastWords(lab.model.work(session).at(-1))
    assert.match(words, /The last turn was cut off/)
    assert.doesNotMatch(words, /Outcome unknown/)
    await lab.shown(session, "between_turn")
  } finally {
    await lab.stop()
  }
})

test("B.2.4, B.2.10 killed with a child: both are cut off, and no second child is started", async () => {
  const lab = await Lab.start()
  try {
    const session = await lab.session({ title: "Shop" })
    const made = lab.next((event) => event.type === "session.created" && event.properties.info.parentID === session)
    const waits = lab.model.waits()
    lab.model.on("Build the shop", task("Count the shelves"), { text: "Done." })
    lab.model.on("Count the shelves", { text: "This is never said to its end", hang: true })
    await lab.begin(session, "Build the shop")
    const child = (await made).properties.info.id
    await waits
    await lab.shown(session, "waiting_child")
    const running = await lab.shown(child, "executing")
    assert.deepEqual([running.level, running.parent], [2, `opencode:${session}`])
    await lab.crash()
    assert.match((await lab.shown(session, "interrupted")).checkpoint.inFlight[0].tool, /task/)
    await lab.shown(child, "interrupted")
    const sessions = (await lab.serve(), await lab.api("GET", "/session")).length
    lab.model.on("Where are we?", { text: "A subagent was cut off." })
    await lab.prompt(session, "Where are we?")
    assert.match(lastWords(lab.model.work(session).at(-1)), /Outcome unknown, verify first: task/)
    assert.equal((await lab.api("GET", "/session")).length, sessions)
    assert.equal(lab.model.work(child).length, 1)
  } finally {
    await lab.stop()
  }
})

test("B.2.10 a child that finished around the crash gives control back to its parent", async () => {
  const lab = await Lab.start()
  try {
    const session = await lab.session({ title: "Store" })
    const waits = lab.model.waits()
    lab.model.on("Build the store", { text: "This is never said to its end", hang: true })
    await lab.begin(session, "Build the store")
    await waits
    const child = await lab.session({ title: "Count the boxes", parentID: session })
    lab.model.on("Count the boxes", { text: "There are 42 boxes in boxes.rs." })
    await lab.prompt(child, "Count the boxes")
    await lab.shown(child, "between_turn")
    await lab.crash()
    await lab.shown(session, "interrupted")
    await lab.serve()
    lab.model.on("What did it find?", { text: "42." })
    await lab.prompt(session, "What did it find?")
    await lab.shown(child, "completed")
    assert.match(lastWords(lab.model.work(session).at(-1)), /has finished: There are 42 boxes in boxes.rs./)
    assert.equal(lab.model.work(child).length, 1)
  } finally {
    await lab.stop()
  }
})

test("B.2.1, B.2.6, B.2.8, B.2.9 with `auto` the turn continues once, and attempts are counted until one ends", async () => {
  const lab = await Lab.start({ env: { FLAME_SESSION_RESUME: "auto" } })
  try {
    const session = await lab.session({ title: "Index" })
    const quiet = await lab.session({ title: "Quiet" })
    lab.model.on("Say hello", { text: "Hello." })
    await lab.prompt(quiet, "Say hello")
    let waits = lab.model.waits()
    lab.model.on("Build the index", { text: "This is never said to its end", hang: true })
    await lab.begin(session, "Build the index")
    await waits
    await lab.shown(session, "executing")
    await lab.crash()
    await lab.shown(session, "interrupted")

    waits = lab.model.waits()
    lab.model.on("because `session.resume` is `auto`", { text: "Cut off again", hang: true })
    await lab.serve()
    const continued = await waits
    assert.equal(continued.session, session)
    assert.match(lastWords(continued), /Go on with the work on “Index”/)
    assert.match(lastWords(continued), /The last turn was cut off/)
    assert.equal(lab.model.work(quiet).length, 1, "only what was running continues")
    await lab.shown(session, "executing")
    await lab.crash()
    assert.equal((await lab.shown(session, "interrupted")).resumeAttempts, 1)

    const requests = lab.model.work().length
    await lab.serve()
    await pause(2_000)
    assert.equal(lab.model.work().length, requests, "once")
    waits = lab.model.waits()
    lab.model.on("I try it", { text: "Never ends", hang: true })
    await lab.begin(session, "I try it")
    await waits
    assert.equal((await lab.shown(session, "executing")).resumeAttempts, 2)
    const idle = lab.next((event) => event.type === "session.idle" && event.properties.sessionID === session)
    await lab.api("POST", `/session/${session}/abort`)
    await idle
    lab.model.on("Again", { text: "The index is built." })
    await lab.prompt(session, "Again")
    assert.equal((await lab.shown(session, "between_turn")).resumeAttempts, 0)
  } finally {
    await lab.stop()
  }
})

test("B.2.8 an endpoint that fails for good gets one attempt", async () => {
  const lab = await Lab.start({ env: { FLAME_SESSION_RESUME: "auto" } })
  try {
    const session = await lab.session({ title: "Index" })
    const waits = lab.model.waits()
    lab.model.on("Build the index", { text: "This is never said to its end", hang: true })
    await lab.begin(session, "Build the index")
    await waits
    await lab.shown(session, "executing")
    await lab.crash()
    await lab.shown(session, "interrupted")
    const requests = lab.model.work().length
    const gone = () => ({ refuse: { message: "gone for good" }, status: 400 })
    lab.model.on("because `session.resume` is `auto`", ...Array.from({ length: 9 }, gone))
    await lab.serve()
    const failed = await lab.shown(session, "failed")
    assert.deepEqual([failed.resumeAttempts, failed.metrics.failures], [1, 1])
    for (const start of ["the same", "the next"]) {
      await pause(1_500)
      assert.equal(lab.model.work().length, requests + 1, `one attempt in ${start} start`)
      await lab.crash()
      await lab.serve()
    }
  } finally {
    await lab.stop()
  }
})

test("B.2.1 where another plugin resumes sessions, nothing is continued by us", async () => {
  const other = join(import.meta.dirname, "lab/opencode-auto-resume.mjs")
  const lab = await Lab.start({ env: { FLAME_SESSION_RESUME: "auto" }, plugins: [other] })
  try {
    const session = await lab.session({ title: "Index" })
    const waits = lab.model.waits()
    lab.model.on("Build the index", { text: "This is never said to its end", hang: true })
    await lab.begin(session, "Build the index")
    await waits
    await lab.shown(session, "executing")
    await lab.crash()
    await lab.shown(session, "interrupted")
    const requests = lab.model.work().length
    await lab.serve()
    await pause(2_000)
    assert.equal(lab.model.work().length, requests)
  } finally {
    await lab.stop()
  }
})
