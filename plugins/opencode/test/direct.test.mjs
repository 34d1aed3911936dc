import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test as any } from "node:test"
import { fileURLToPath } from "node:url"
import { Conversations } from "../dist/conversations.js"
import { DirectLine } from "../dist/direct.js"
import { same } from "../dist/messages.js"
import { Sidecar } from "../dist/sidecar.js"

// There are no named pipes of this kind elsewhere, and no direct line.
const test = (name, body) => any(name, { skip: process.platform === "win32" }, body)

const folder = mkdtempSync(join(tmpdir(), "flame-test-"))
after(() => rmSync(folder, { recursive: true }))
// A sidecar that is killed leaves its pipes behind.
process.env.TMPDIR = folder

let laid = 0
/** Both ends of a line. */
function line() {
  laid += 1
  const pipes = { questions: join(folder, `questions${laid}`), answers: join(folder, `answers${laid}`) }
  execFileSync("mkfifo", Object.values(pipes))
  const [questions, answers] = Object.values(pipes).map((path) => openSync(path, constants.O_RDWR | constants.O_NONBLOCK))
  const chunk = Buffer.alloc(1 << 20)
  const asked = () => {
    try {
      return Buffer.from(chunk.subarray(0, readSync(questions, chunk)))
    } catch {
      return Buffer.alloc(0)
    }
  }
  const ours = new DirectLine(pipes)
  after(() => ours.close())
  return { ours, asked, answer: (text) => writeSync(answers, text), hangUp: () => [questions, answers].forEach((end) => closeSync(end)) }
}

test("a line is there as soon as it is written", () => {
  const { ours, asked } = line()
  ours.write("one\n")
  assert.equal(asked().toString(), "one\n")
})

test("what does not fit comes later, whole and in order", async () => {
  const { ours, asked } = line()
  const long = `${"é".repeat(300_000)}\n`
  ours.write(long)
  ours.write("short\n")
  assert.ok(ours.waiting > 0)
  let all = asked()
  while (all.length < Buffer.byteLength(long) + 6) {
    await new Promise((resolve) => setTimeout(resolve, 1))
    all = Buffer.concat([all, asked()])
  }
  assert.ok(all.toString() === `${long}short\n`)
  assert.equal(ours.waiting, 0)
})

test("answers are heard, old ones too, until the right one came", () => {
  const { ours, answer } = line()
  const heard = []
  answer("old\nnéw\nrest")
  ours.listen(() => heard.includes("néw"), (one) => heard.push(one))
  assert.deepEqual(heard, ["old", "néw"])
  answer(" of it\n")
  ours.listen(() => heard.length > 2, (one) => heard.push(one))
  assert.equal(heard[2], "rest of it")
})

test("when nothing comes, one goes on", () => {
  const { ours } = line()
  ours.listen(() => false, assert.fail)
})

test("when nobody is there, nothing is thrown", () => {
  const { ours, hangUp } = line()
  hangUp()
  ours.write("one\n")
  ours.listen(() => false, assert.fail)
})

const double = fileURLToPath(new URL("../e2e/lab/double.mjs", import.meta.url))
const reading = { id: ({ id }) => id, mark: (one) => one, alike: same, message: (one) => one }

function started(mode) {
  const hello = { protocol: 1, host: "test", hostVersion: null, directory: "/", shimVersion: null, direct: true }
  const sidecar = new Sidecar({ command: [process.execPath, double, mode], hello, deadline: 10_000, lost: () => {} })
  after(() => sidecar.close())
  return sidecar
}

/** A sidecar that is there, and a conversation. */
async function served(mode) {
  const sidecar = started(mode)
  await sidecar.welcomed()
  const conversations = new Conversations(reading)
  const conversation = conversations.of("s")
  let rounds = 0
  /** Whether the event loop went on before the answer came. */
  const waited = async () => {
    const messages = Array.from({ length: (rounds += 1) }, (_, n) => ({ id: `${n}`, parts: [] }))
    let turned = false
    const turn = setImmediate(() => (turned = true))
    await conversations.prepare(sidecar, conversation, messages).answered
    clearImmediate(turn)
    assert.deepEqual(JSON.parse(conversation.plan.system).known, rounds - 1)
    return turned
  }
  return { sidecar, waited }
}

test("an answer by the direct line comes before anything else does", async () => {
  const { waited } = await served("direct")
  // The first time, the sidecar may not have heard yet that it is to listen there.
  await waited()
  const turns = []
  for (let n = 0; n < 20; n += 1) turns.push(await waited())
  assert.ok(turns.includes(false), "never once")
})

test("an answer that does not come by the direct line comes by standard output", async () => {
  const { waited } = await served("direct-mute")
  for (let n = 0; n < 3; n += 1) assert.equal(await waited(), true)
})

test("a direct line that cannot be opened is done without", async () => {
  const { waited } = await served("direct-nowhere")
  for (let n = 0; n < 3; n += 1) assert.equal(await waited(), true)
})

test("what is asked keeps its order on the way to the direct line", async () => {
  const sidecar = started("direct")
  const heard = []
  const all = []
  const ask = () => {
    const asked = sidecar.ask("show", { what: `${all.length}` })
    all.push(asked.then(({ text }) => heard.push(text)))
  }
  // From before the welcome until long after it.
  let greeted = false
  sidecar.welcomed().then(() => (greeted = true))
  while (!greeted) {
    ask()
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  for (let n = 0; n < 50; n += 1) ask()
  await Promise.all(all)
  assert.deepEqual(heard, Array.from(all, (_, n) => `${n}`))
})

test("a sidecar that stops reading its direct line is waited for once, and replaced when it is gone", async () => {
  const sidecar = started("direct-hung")
  await sidecar.welcomed()
  const long = "x".repeat(1 << 20)
  await assert.rejects(sidecar.ask("show", { what: long }, 100), /not answered in time/)
  await assert.rejects(sidecar.ask("show", { what: long }, 100), /not answered in time/)
  const first = sidecar.generation
  // Nobody reads 32 MB either.
  for (let n = 0; n < 32; n += 1) sidecar.tell({ session: "s", happenings: [{ kind: "idle", text: long }] })
  while (!sidecar.start()) await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(sidecar.generation, first + 1)
})
