// The sidecar dies, hangs, talks rubbish or is not there; the store is locked or broken. The
// agent's turn goes on, the terminal stays silent, and a prompt that was folded stays folded.

import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs"
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

/** A turn with work in it; its requests. */
async function turn(lab, session, text, ...calls) {
  lab.model.on(text, { calls: [bash("more-work"), ...calls] }, { text: "Done as well" })
  const before = lab.model.work(session).length
  const answer = await lab.prompt(session, text)
  assert.equal(answer.info.error, undefined)
  assert.equal(answer.parts.findLast((part) => part.type === "text").text, "Done as well")
  return lab.model.work(session).slice(before)
}

describe("a sidecar that misbehaves", () => {
  let lab
  let door
  const mode = (text) => writeFileSync(join(door, "mode"), text)
  before(async () => {
    door = mkdtempSync(join(tmpdir(), "flame-door-"))
    lab = await Lab.start({ plugin: { deadline: 2_000, command: [process.execPath, saboteur, door, FLAME] } })
  })
  beforeEach(() => mode("well"))
  after(() => lab.stop())

  for (const how of ["late", "garbage", "killed"]) {
    test(`${how}: the turn completes and what was folded stays folded`, async () => {
      const session = await folded(lab, how)
      mode(how)
      const requests = await turn(lab, session, `Go on although ${how}`, { name: "stack_status", args: {} })
      for (const request of requests) {
        assert.ok(!request.says("raw-history"), "folded")
        assert.ok(request.says("seen it all"), "the results are there")
      }
      assert.ok(requests.at(-1).says("Flamestack did not answer"), "the model is told that its call came to nothing")
      // Answers that were held back come now, when nobody waits for them.
      mode("well")
      const later = await turn(lab, session, `Go on after ${how}`)
      for (const request of later) assert.ok(!request.says("raw-history"), "folded")
      assert.deepEqual(lab.model.problems, [])
      assert.deepEqual(lab.noise(), [])
    })
  }

  test("its loss is one line in the host's log", async () => {
    const told = () => lab.log().split("\n").filter((line) => line.includes("the sidecar is gone"))
    // Nobody waits for the line to be written, the plugin least of all.
    for (let tries = 0; told().length === 0 && tries < 200; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    assert.equal(told().length, 1)
  })
})

test("late, with the deadline that everybody has: no hook waits for an answer", async () => {
  const door = mkdtempSync(join(tmpdir(), "flame-door-"))
  writeFileSync(join(door, "mode"), "late")
  const lab = await Lab.start({ plugin: { deadline: undefined, command: [process.execPath, saboteur, door, FLAME] } })
  try {
    // Not one answer comes before both turns are over.
    const session = await lab.session({ title: "Late" })
    for (const text of ["Work although it is late", "Work on although it is late"]) {
      assert.equal((await turn(lab, session, text)).length, 2)
    }
    const heard = readFileSync(join(door, "heard"), "utf8").split("\n").filter((line) => line !== "")
    const messages = heard.map((line) => JSON.parse(line))
    const hooks = messages
      .filter((one) => one.method === "observe")
      .flatMap((one) => one.params.happenings)
      .flatMap((one) => (one.kind === "shim" ? one.hooks : []))
    const asking = hooks.filter((hook) => ["chat.message", "experimental.chat.messages.transform"].includes(hook.name))
    assert.ok(asking.some((hook) => hook.failures > 0), "they missed the deadline")
    // A deadline of a quarter of a second, on a machine that may have other things to do.
    for (const hook of hooks) assert.ok(hook.slowestMs < 5_000, `${hook.name} waited ${hook.slowestMs} ms`)
    assert.deepEqual(lab.model.problems, [])
    assert.deepEqual(lab.noise(), [])
  } finally {
    await lab.stop()
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

  test("broken", async () => {
    const session = await folded(lab, "broken")
    await lab.halt()
    const path = journal()
    const whole = readFileSync(path)
    writeFileSync(path, Buffer.concat([Buffer.from("rubbish".repeat(100)), whole.subarray(700)]))
    await lab.serve()
    const requests = await turn(lab, session, "Go on although it is broken")
    assert.equal(requests.length, 2)
    assert.deepEqual(lab.model.problems, [])
    assert.deepEqual(lab.noise(), [])
  })
})
