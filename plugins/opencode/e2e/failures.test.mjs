// The sidecar dies, hangs, talks rubbish or is not there; the store is locked or broken. The
// agent's turn continues, the terminal stays silent, and a prompt that was folded stays folded.

import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, beforeEach, describe, test } from "node:test"
import { fileURLToPath } from "node:url"
import { FLAME, OPENCODE } from "./lab/install.mjs"
import { Lab } from "./lab/opencode.mjs"

const saboteur = fileURLToPath(new URL("./lab/saboteur.mjs", import.meta.url))
const push = { name: "stack_frame_push", args: { title: "Look around", successCriteria: "Seen it" } }
const pop = { name: "stack_frame_pop", args: { status: "completed", results: "seen it all" } }
const bash = (word) => ({ name: "bash", args: { command: `echo ${word}`, description: "Say" } })

/** A session with a folded frame. */
async function folded(lab, name) {
  const session = await lab.session({ title: name })
  lab.model.on(`Begin ${name}`, { calls: [push] }, { calls: [bash("raw-history")] }, { calls: [pop] }, { text: "Done" })
  await lab.prompt(session, `Begin ${name}`)
  assert.ok(!lab.model.work(session).at(-1).says("raw-history"), "folded")
  return session
}

/** A sidecar that was lost is started again some time later, when it is needed. */
async function back(lab) {
  const session = await lab.session({ title: "Is it back?" })
  const status = { calls: [{ name: "stack_status", args: {} }] }
  for (let n = 0; n < 100; n += 1) {
    lab.model.on(`Is it back, the ${n}th?`, status, { text: "Well" })
    await lab.prompt(session, `Is it back, the ${n}th?`)
    const answers = lab.model.work(session).at(-1).messages.filter((one) => one.role === "tool")
    if (!JSON.stringify(answers.at(-1)).includes("Flamestack did not answer")) return
  }
  assert.fail("it does not come back")
}

/** A turn with work in it; its requests. */
async function turn(lab, session, text, ...calls) {
  lab.model.on(text, { calls: [bash("more-work"), ...calls] }, { text: "Done as well" })
  const before = lab.model.work(session).length
  const answer = await lab.prompt(session, text)
  assert.equal(answer.info.error, undefined)
  assert.equal(answer.parts.findLast((part) => part.type === "text").text, "Done as well")
  return lab.model.work(session).slice(before)
}

const WAYS = ["late", "hung", "garbage", "killed", "missing"]
describe("a sidecar that misbehaves", () => {
  let lab
  let door
  let program
  const mode = (text) => writeFileSync(join(door, "mode"), text)
  before(async () => {
    door = mkdtempSync(join(tmpdir(), "flame-door-"))
    program = join(door, "program")
    symlinkSync(process.execPath, program)
    lab = await Lab.start({ plugin: { deadline: 2_000, command: [program, saboteur, door, FLAME] } })
  })
  beforeEach(async () => {
    mode("well")
    await back(lab)
  })
  after(async () => {
    await lab.stop()
    rmSync(door, { recursive: true })
  })

  test("a summary is made although it hangs, of what was folded, and the work continues", async () => {
    const session = await folded(lab, "summed up")
    mode("hung")
    await lab.summarize(session)
    const summary = lab.model.requests.findLast((request) => request.kind === "summary")
    assert.ok(!summary.says("raw-history"), "folded")
    assert.ok(summary.says("seen it all"), "the results are there")
    const requests = await turn(lab, session, "Go on after the summary")
    for (const request of requests) assert.ok(request.says("the summary of the scripted model"))
    assert.deepEqual(lab.model.problems, [])
    assert.deepEqual(lab.noise(), [])
  })

  for (const how of WAYS) {
    test(`${how}: the turn completes and what was folded stays folded`, async () => {
      const session = await folded(lab, how)
      // The program is gone, and so is the process.
      if (how === "missing") rmSync(program)
      mode(how === "missing" ? "killed" : how)
      const requests = await turn(lab, session, `Go on although ${how}`, { name: "stack_status", args: {} })
      for (const request of requests) {
        assert.ok(!request.says("raw-history"), "folded")
        assert.ok(request.says("seen it all"), "the results are there")
      }
      assert.ok(requests.at(-1).says("Flamestack did not answer"), "the model sees that its call failed")
      // Answers that were held back come now, when no request waits for them.
      if (how === "missing") symlinkSync(process.execPath, program)
      mode("well")
      const later = await turn(lab, session, `Go on after ${how}`)
      for (const request of later) assert.ok(!request.says("raw-history"), "folded")
      assert.deepEqual(lab.model.problems, [])
      assert.deepEqual(lab.noise(), [])
    })
  }

  test("each loss is one line in the host's log", async () => {
    // Killed, and killed to be missing then: that it could not be started again is not another line.
    const lines = await lab.logged(/the sidecar is gone \((it ended|spawn)/, 2)
    assert.equal(lines.length, 2)
  })
})

test("hung, with the deadline that everybody has: what that costs a turn", async (t) => {
  const door = mkdtempSync(join(tmpdir(), "flame-door-"))
  writeFileSync(join(door, "mode"), "hung")
  const lab = await Lab.start({ plugin: { deadline: undefined, command: [process.execPath, saboteur, door, FLAME] } })
  try {
    // Not one answer comes before both turns are over.
    const session = await lab.session({ title: "Hung" })
    for (const text of ["Work although it hangs", "Work on although it hangs"]) {
      assert.equal((await turn(lab, session, text)).length, 2)
    }
    const heard = readFileSync(join(door, "heard"), "utf8").split("\n").filter((line) => line !== "")
    const reports = heard
      .map((line) => JSON.parse(line))
      .filter((one) => one.method === "observe")
      .flatMap((one) => one.params.events)
      .filter((one) => one.kind === "hookStats")
    assert.equal(reports.length, 2, "each turn reported on its hooks")
    const gaveUp = reports.map(({ hooks }) => {
      const asked = hooks.filter((hook) => hook.failures > 0)
      return Object.fromEntries(asked.map((hook) => [hook.name, hook.failures]))
    })
    // Once for the prompt and once for each request; the first one before that waits for a greeting.
    const turnOfTwo = { "chat.message": 1, "experimental.chat.messages.transform": 2 }
    assert.deepEqual(gaveUp, [{ config: 1, ...turnOfTwo }, turnOfTwo])
    for (const [index, { hooks }] of reports.entries()) {
      const spent = hooks.reduce((sum, hook) => sum + hook.totalMs, 0)
      t.diagnostic(`turn ${index + 1} spent ${spent.toFixed(0)} ms in the hooks of a plugin whose sidecar hangs`)
    }
    assert.deepEqual(lab.model.problems, [])
    assert.deepEqual(lab.noise(), [])
  } finally {
    await lab.stop()
    rmSync(door, { recursive: true })
  }
})

test("a sidecar that is not there: OpenCode works as if nothing were installed", async () => {
  const lab = await Lab.start({ plugin: { command: "/nowhere/flame" } })
  try {
    const requests = await turn(lab, await lab.session({ title: "Alone" }), "Work alone", { name: "stack_status", args: {} })
    assert.ok(requests.at(-1).says("Flamestack did not answer"))
    assert.deepEqual(lab.model.problems, [])
    assert.deepEqual(lab.noise(), [])
  } finally {
    await lab.stop()
  }
})

describe("a store in trouble", () => {
  let lab
  before(async () => (lab = await Lab.start({ plugin: { deadline: 2_000 } })))
  after(() => lab.stop())
  const journal = () => {
    const found = readdirSync(lab.state, { recursive: true }).find((name) => name.endsWith("journal.db"))
    return join(lab.state, found)
  }

  test("locked by another program", async () => {
    const session = await folded(lab, "locked")
    // OpenCode's own program is a Bun, and a Bun can hold a lock on a SQLite file.
    const script = `
      const { Database } = require("bun:sqlite")
      const db = new Database(${JSON.stringify(journal())})
      db.exec("PRAGMA busy_timeout = 30000")
      db.exec("BEGIN EXCLUSIVE")
      console.log("locked")
      setInterval(() => {}, 1e6)`
    const holder = spawn(OPENCODE, ["-e", script], {
      env: { ...lab.environment, BUN_BE_BUN: "1" },
      stdio: ["ignore", "pipe", "inherit"],
    })
    try {
      await new Promise((resolve, reject) => {
        holder.stdout.once("data", resolve)
        holder.once("exit", (code) => reject(new Error(`the lock could not be taken (${code})`)))
      })
      const requests = await turn(lab, session, "Go on although it is locked")
      for (const request of requests) assert.ok(!request.says("raw-history"), "folded")
    } finally {
      holder.kill()
    }
    assert.deepEqual(lab.noise(), [])
  })

  test("broken while it is served, and after a restart", async () => {
    const session = await folded(lab, "broken")
    const path = journal()
    const whole = readFileSync(path)
    writeFileSync(path, Buffer.concat([Buffer.from("rubbish".repeat(100)), whole.subarray(700)]))
    const requests = await turn(lab, session, "Go on although it is broken")
    for (const request of requests) {
      assert.ok(!request.says("raw-history"), "folded")
      assert.ok(request.says("seen it all"), "the results are there")
    }
    await lab.halt()
    await lab.serve()
    assert.equal((await turn(lab, session, "Go on although it was broken")).length, 2)
    assert.deepEqual(lab.model.problems, [])
    assert.deepEqual(lab.noise(), [])
  })
})
