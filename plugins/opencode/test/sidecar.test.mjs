import assert from "node:assert/strict"
import { realpathSync } from "node:fs"
import { tmpdir } from "node:os"
import { relative } from "node:path"
import { after, test } from "node:test"
import { fileURLToPath } from "node:url"
import { Sessions } from "../dist/sessions.js"
import { same } from "../dist/messages.js"
import { Sidecar } from "../dist/sidecar.js"

const double = fileURLToPath(new URL("../e2e/lab/double.mjs", import.meta.url))
const reading = { id: ({ id }) => id, mark: (one) => one, alike: same, message: (one) => one }
const started = []
const sidecar = (mode, more = {}) => {
  const lost = []
  const command = mode === "missing" ? ["/nowhere/flame"] : [process.execPath, double, mode]
  const hello = { protocol: 1, host: "test", hostVersion: null, directory: "/", shimVersion: null }
  const one = new Sidecar({ command, hello, deadline: 10_000, lost: (why) => lost.push(why), ...more })
  started.push(one)
  return { one, lost }
}
after(() => started.forEach((one) => one.close()))

test("a question is answered", async () => {
  const { one } = sidecar("well")
  assert.deepEqual(await one.ask("show", { what: "tree" }), { text: "tree" })
})

test("the process is started in its directory, by a path that is not relative to that", async () => {
  const directory = realpathSync(tmpdir())
  const hello = { protocol: 1, host: "test", hostVersion: null, directory, shimVersion: null }
  const { one } = sidecar("well", { hello })
  assert.deepEqual(await one.ask("show", { what: "directory" }), { text: directory })
  const script = relative(process.cwd(), process.execPath)
  const { one: near } = sidecar("well", { hello, command: [script, double, "well"] })
  assert.deepEqual(await near.ask("show", { what: "tree" }), { text: "tree" })
})

test("a directory that is gone has no sidecar, and is not recorded elsewhere", async () => {
  const hello = { protocol: 1, host: "test", hostVersion: null, directory: "/nowhere/at/all", shimVersion: null }
  const { one, lost } = sidecar("well", { hello })
  await assert.rejects(one.ask("show", { what: "tree" }))
  assert.equal(lost.length, 1)
})

test("a request waits until its deadline, and the next ones not at all until an answer comes", async () => {
  const { one } = sidecar("hung", { deadline: 100 })
  await assert.rejects(one.ask("show", { what: "tree" }), /not answered in time/)
  await assert.rejects(one.ask("show", { what: "tree" }, 1e9), /not answered in time/)
})

test("an answer that comes too late still counts", async () => {
  const { one } = sidecar("late", { deadline: 200 })
  const sessions = new Sessions(reading)
  const state = sessions.of("s")
  await assert.rejects(sessions.prepare(one, state, []).answered)
  assert.equal(state.plan, undefined)
  const heard = new Promise((resolve) => {
    const poll = () => (state.plan ? resolve() : setTimeout(poll, 5))
    poll()
  })
  await one.ask("show", { what: "tree" }).catch(() => {})
  await heard
  assert.equal(state.plan.system, "late")
})

test("rubbish between the answers is passed over", async () => {
  const { one } = sidecar("garbage")
  assert.deepEqual(await one.ask("show", { what: "status" }), { text: "status" })
})

test("a refusal is an error, not a loss", async () => {
  const { one, lost } = sidecar("refuses")
  await assert.rejects(one.ask("show", { what: "tree" }), /no/)
  assert.deepEqual(lost, [])
})

test("a process that dies is reported once and started again, not at once", async () => {
  // The test's own clock and no deadline: on a busy machine a process takes longer to die than to be tried again.
  let time = 0
  const { one, lost } = sidecar("dies", { deadline: 2 ** 31 - 1, now: () => time })
  await assert.rejects(one.ask("show", { what: "tree" }), /gone/)
  await assert.rejects(one.ask("show", { what: "tree" }), /not running/)
  const first = one.generation
  time += 60_000
  assert.ok(one.start())
  assert.equal(one.generation, first + 1)
  assert.equal(lost.length, 1)
})

test("a program that is not there is reported", async () => {
  const { one, lost } = sidecar("missing")
  await assert.rejects(one.ask("show", { what: "tree" }), /gone/)
  assert.equal(lost.length, 1)
})

const message = (id, text) => ({ id, role: "user", parts: [{ type: "text", id: `${id}p`, text }] })

test("only what is new crosses the pipe", async () => {
  const { one } = sidecar("well")
  const sessions = new Sessions(reading)
  const state = sessions.of("s")
  const list = [message("a", "1"), message("b", "2")]
  const asked = async (messages) => {
    await sessions.prepare(one, state, messages).answered
    return JSON.parse(state.plan.system)
  }
  assert.deepEqual(await asked(list), { known: 0, sent: 2 })
  assert.deepEqual(await asked([...structuredClone(list), message("c", "3")]), { known: 2, sent: 1, has: "p" })
  assert.deepEqual(await asked([message("a", "1"), message("b", "edited"), message("c", "3")]), { known: 1, sent: 2, has: "p" })
  // The last one is as it was, and one before it is not: that is found out while the answer is awaited.
  assert.deepEqual(await asked([message("a", "edited"), message("b", "edited"), message("c", "3")]), { known: 0, sent: 3, has: "p" })
  // A process that was started meanwhile knows nothing.
  state.generation = -1
  assert.deepEqual(await asked([message("a", "1")]), { known: 0, sent: 1, has: "p" })
})
