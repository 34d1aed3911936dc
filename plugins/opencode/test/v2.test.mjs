// OpenCode 2, by the shapes that were recorded from a running server.

import assert from "node:assert/strict"
import { existsSync, mkdtempSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { fileURLToPath } from "node:url"
import plugin from "../dist/index.js"

const double = fileURLToPath(new URL("../e2e/lab/double.mjs", import.meta.url))
const cleanups = []
after(() => cleanups.forEach((cleanup) => cleanup()))

function start(more = {}) {
  const hooks = {}
  const tools = []
  const cleanup = plugin.setup({
    options: { command: [process.execPath, double, "well"], deadline: 10_000 },
    location: { directory: process.cwd() },
    session: { hook: (name, run) => (hooks[name] = run) },
    tool: { transform: (run) => run({ add: (tool) => tools.push(tool) }), hook: (name, run) => (hooks[name] = run) },
    ...more,
  })
  cleanups.push(cleanup)
  return { hooks, tools }
}

/** The events that the sidecar got, once there are enough of them. */
async function heard(file, count) {
  for (let left = 200; ; left -= 1) {
    const text = existsSync(file) ? readFileSync(file, "utf8") : ""
    const events = text.split("\n").filter(Boolean).flatMap((line) => JSON.parse(line).params?.events ?? [])
    if (events.length >= count || left === 0) return events
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const messages = () => [
  { id: "msg_1", role: "user", content: [{ type: "text", text: "EXECCM go" }], metadata: { frame: "f1" } },
  { id: "msg_2", role: "assistant", content: [{ type: "tool-call", id: "call_7_0", name: "read", input: { path: "README.md" }, providerExecuted: false }] },
  { role: "tool", content: [{ type: "tool-result", id: "call_7_0", name: "read", result: { type: "text", value: "..." }, providerExecuted: false }] },
]

test("a context is prepared like any other", async () => {
  const { hooks } = start()
  const event = { sessionID: "ses_1", agent: "build", model: { id: "m", providerID: "p" }, system: [{ type: "text", text: "You are" }], messages: messages() }
  await hooks.context(event)
  assert.equal(event.system.length, 2)
  assert.deepEqual(JSON.parse(event.system[1].text), { known: 0, sent: 2 })
  assert.deepEqual(event.messages, messages())
})

test("a dropped call takes its result along", async () => {
  const { hooks } = start()
  const [first, call, result] = messages()
  const event = { sessionID: "ses_2", system: [], messages: [first, { ...call, id: "drop_2" }, result] }
  await hooks.context(event)
  assert.deepEqual(event.messages, [first])
})

test("a prompt gets its words, a summariser its instructions", async () => {
  const { hooks } = start()
  const prompt = { sessionID: "ses_1", messageID: "msg_1", prompt: { text: "Fix it" } }
  await hooks.prompt(prompt)
  assert.equal(prompt.prompt.text, "Fix it\n\n<stack-update>Fix it</stack-update>")
  const compaction = { sessionID: "ses_1", system: [], messages: messages() }
  await hooks.compaction(compaction)
  assert.deepEqual(compaction.system, [{ type: "text", text: "Keep the goal" }])
})

test("tools are called in their session", async () => {
  const { tools } = start()
  const push = tools.find((tool) => tool.name === "stack_frame_push")
  assert.deepEqual(push.options, { codemode: false })
  const answer = await push.execute({}, { sessionID: "ses_1", messageID: "msg_2" })
  assert.equal(answer.content, "called stack_frame_push in msg_2")
})

const call = (more) => ({ sessionID: "ses_1", agent: "build", messageID: "msg_2", id: "call_7_0", ...more })

test("a call is reported before it runs and when it has ended", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "flame-v2-")), "heard")
  const { hooks } = start({ options: { command: [process.execPath, double, "well", file], deadline: 10_000 } })
  const shell = call({ tool: "shell", input: { command: "make" } })
  await hooks["execute.before"](shell)
  await hooks["execute.after"]({ ...shell, status: "completed", result: { content: [{ type: "text", text: "made" }] } })
  const read = call({ id: "call_7_1", tool: "read", input: { path: "nowhere" } })
  await hooks["execute.before"](read)
  await hooks["execute.after"]({ ...read, status: "error", error: { _tag: "Tool.Error", message: "no such file" } })
  const events = await heard(file, 4)
  assert.deepEqual(events.map(({ kind, id, parts: [part] }) => [kind, id, part.id, part.tool, part.state.status]), [
    ["message", "msg_2", "msg_2/call_7_0", "shell", "running"],
    ["message", "msg_2", "msg_2/call_7_0", "shell", "completed"],
    ["message", "msg_2", "msg_2/call_7_1", "read", "running"],
    ["message", "msg_2", "msg_2/call_7_1", "read", "error"],
  ])
  assert.deepEqual([events[1].parts[0].state.output, events[3].parts[0].state.error], ["made", "no such file"])
})

test("a delegation that is too deep is answered in place of the tool", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "flame-v2-")), "heard")
  const { hooks } = start({ options: { command: [process.execPath, double, "well", file], deadline: 10_000 } })
  const subagent = (input) => call({ tool: "subagent", input: { agent: "general", description: "Part", ...input } })
  await assert.rejects(hooks["execute.before"](subagent({ prompt: "too deep" })), /This delegation was not made: general/)
  await hooks["execute.before"](subagent({ prompt: "Build it" }))
  // Going on with a subagent is no new one.
  await hooks["execute.before"](subagent({ prompt: "too deep", sessionID: "ses_9" }))
  assert.equal((await heard(file, 2)).length, 2, "a call that was not made is not in flight")
})

test("the ends of executions and the sessions of subagents are signals", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "flame-v2-")), "heard")
  const said = [
    { type: "session.created", data: { sessionID: "ses_2", parentID: "ses_1", agent: "general", title: "Look" } },
    { type: "session.execution.interrupted", data: { sessionID: "ses_1", reason: "user" } },
    { type: "session.execution.failed", data: { sessionID: "ses_1", error: { type: "unknown", message: "no credit" } } },
    { type: "session.execution.succeeded", location: { directory: "/elsewhere" }, data: { sessionID: "ses_1" } },
    { type: "session.execution.succeeded", location: { directory: process.cwd() }, data: { sessionID: "ses_1" } },
    { type: "session.compaction.ended", data: { sessionID: "ses_1", reason: "manual", text: "..", recent: "" } },
  ]
  const subscribe = async function* () {
    yield* said
  }
  start({ options: { command: [process.execPath, double, "well", file], deadline: 10_000 }, event: { subscribe } })
  const events = (await heard(file, 5)).filter(({ kind }) => kind !== "hookStats")
  assert.deepEqual(events.map(({ kind }) => kind).sort(), ["compacted", "failed", "idle", "interrupted", "session"])
  assert.deepEqual(events.find(({ kind }) => kind === "session"), { kind: "session", title: "Look", parent: "ses_1", agent: "general" })
  assert.equal(events.find(({ kind }) => kind === "failed").why, "no credit")
})

test("commands that only a hook could carry out are not offered", () => {
  const offered = []
  start({ command: { transform: (run) => run({ update: (name) => offered.push(name) }) } })
  assert.ok(offered.length > 0 && !offered.includes("session-new"), offered.join())
})

test("OpenCode 1.18 calls `setup` as well, with less to work on: nothing happens", () => {
  assert.equal(typeof plugin.setup({ options: {} }), "function")
})
