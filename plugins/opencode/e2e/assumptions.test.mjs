// What the idea of a stack inside OpenCode rests on, held against the real thing by a plugin of
// the test's own: when hooks run, whose they are, what a compaction says, files, and messages put in front.

import assert from "node:assert/strict"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
let session
let calls
const place = mkdtempSync(join(tmpdir(), "flame-probe-"))

const PROBE = `
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
const note = (hook, session, more = {}) => appendFileSync(${JSON.stringify(join(place, "calls"))}, JSON.stringify({ hook, session, ...more }) + "\\n")
export default {
  id: "probe",
  server: async ({ directory }) => {
    const stored = join(directory, ".opencode", "flame")
    mkdirSync(stored, { recursive: true })
    writeFileSync(join(stored, "state.json"), "{}")
    return {
      "chat.message": async (input) => note("chat.message", input.sessionID),
      "experimental.chat.messages.transform": async (_input, output) => {
        note("messages.transform", output.messages[0]?.info.sessionID)
        const first = output.messages.find((one) => one.info.role === "user")
        const part = { ...first.parts[0], id: "prt_0probe", type: "text", text: "before everything", synthetic: true }
        output.messages.unshift({ info: { ...first.info, id: "msg_0probe" }, parts: [part] })
      },
      "experimental.chat.system.transform": async (input) => note("system.transform", input.sessionID),
      "tool.execute.before": async (input) => note("tool.execute.before", input.sessionID),
      "tool.execute.after": async (input) => note("tool.execute.after", input.sessionID),
      "experimental.session.compacting": async (input) => note("session.compacting", input.sessionID),
      event: async ({ event }) => {
        if (event.type === "session.compacted") note("session.compacted", event.properties.sessionID)
        if (event.type === "message.part.updated" && event.properties.part.type === "text")
          note("text", event.properties.part.sessionID, { text: event.properties.part.text })
      },
    }
  },
}`

before(async () => {
  const probe = join(place, "probe.mjs")
  writeFileSync(probe, PROBE)
  lab = await Lab.start({ plugin: false, plugins: [probe] })
  session = await lab.session({ title: "Probed" })
  const bash = { name: "bash", args: { command: "echo probed", description: "Probe" } }
  lab.model.on("Probe this", { calls: [bash] }, { text: "Probed" })
  await lab.prompt(session, "Probe this")
  const compacted = lab.next((event) => event.type === "session.compacted")
  await lab.summarize(session)
  await compacted
  calls = readFileSync(join(place, "calls"), "utf8").trim().split("\n").map((line) => JSON.parse(line))
})
after(async () => {
  await lab.stop()
  rmSync(place, { recursive: true })
})

test("1. hooks run in the order that a turn has", () => {
  const order = calls.map((call) => call.hook).filter((hook) => hook !== "text")
  const step = ["messages.transform", "system.transform"]
  const turn = ["chat.message", ...step, "tool.execute.before", "tool.execute.after", ...step]
  assert.deepEqual(order.slice(0, turn.length), turn)
  assert.ok(order.indexOf("session.compacting") > turn.length - 1)
})

test("2. every hook says whose it is, the transforms too", () => {
  for (const call of calls) assert.equal(call.session, session, call.hook)
})

test("3. a compaction is announced, and its summary can be read", () => {
  assert.ok(calls.some((call) => call.hook === "session.compacted"))
  assert.ok(calls.some((call) => call.hook === "text" && call.text === lab.model.summary))
})

test("4. a plugin may keep files in the project", () => {
  assert.ok(existsSync(join(lab.project, ".opencode/flame/state.json")))
})

test("5. a message put in front reaches the model, and is not shown", async () => {
  for (const request of lab.model.work(session)) assert.equal(request.userTexts[0], "before everything")
  assert.ok(!JSON.stringify(await lab.messages(session)).includes("before everything"))
})
