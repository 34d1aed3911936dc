import assert from "node:assert/strict"
import { test } from "node:test"
import { applyToRequest, applyToSummary, applyToSystem } from "../dist/apply.js"
import { message, part } from "../dist/messages.js"

const tool = (name, state) => ({ id: "prt_1", messageID: "msg_1", sessionID: "ses_1", type: "tool", callID: "call_1", tool: name, state })
const time = { start: 1, end: 2 }

test("tool calls, with the files that they say they changed", () => {
  const changed = (name, input, metadata = {}) =>
    part(tool(name, { status: "completed", input, output: "ok", title: "", metadata, time })).changed
  assert.deepEqual(changed("write", { filePath: "/p/a" }), ["/p/a"])
  assert.deepEqual(changed("edit", { filePath: "/p/b" }), ["/p/b"])
  const files = [{ filePath: "/p/c", type: "update" }, { filePath: "/p/d", movePath: "/p/e", type: "move" }]
  assert.deepEqual(changed("apply_patch", { patchText: "" }, { files }), ["/p/c", "/p/e"])
  assert.equal(changed("read", { filePath: "/p/f" }), undefined)
})

test("an exit code, an error, a subagent's session and its bare answer", () => {
  assert.equal(part(tool("bash", { status: "completed", input: {}, output: "", title: "", metadata: { exit: 2 }, time })).exitCode, 2)
  const failed = part(tool("read", { status: "error", input: {}, error: "File not found", time }))
  assert.deepEqual([failed.state, failed.output], ["error", "File not found"])
  const running = part(tool("task", { status: "running", input: {}, metadata: { sessionId: "ses_2" }, time: { start: 1 } }))
  assert.deepEqual([running.state, running.session], ["running", "ses_2"])
  const output = '<task id="ses_2" state="completed">\n<task_result>\nAll done\n</task_result>\n</task>'
  assert.equal(part(tool("task", { status: "completed", input: {}, output, title: "", metadata: {}, time })).output, "All done")
})

test("what the protocol has no word for is left out", () => {
  for (const type of ["step-start", "step-finish", "file", "snapshot", "agent", "retry", "brand-new"]) {
    assert.equal(part({ id: "p", type }), undefined)
  }
  assert.equal(part({ id: "p", type: "text", text: "seen, not sent", ignored: true }), undefined)
})

test("an interrupted message says so, a failed one says why", () => {
  const info = (error) => ({ id: "m", role: "assistant", time: { created: 1 }, error })
  assert.equal(message(info({ name: "MessageAbortedError", data: { message: "Aborted" } }), []).error, "aborted")
  assert.equal(message(info({ name: "APIError", data: { message: "too long" } }), []).error, "APIError: too long")
})

const text = (id, words, more) => ({ id, messageID: "m", sessionID: "s", type: "text", text: words, ...more })
const user = (id, ...parts) => ({ info: { id, sessionID: "s", role: "user", time: { created: 1 }, agent: "build" }, parts })
const assistant = (id, ...parts) => ({ info: { id, sessionID: "s", role: "assistant", time: { created: 1 } }, parts })
const ids = (messages) => messages.map((one) => one.info.id)
const nothing = { drop: [], strip: [], insert: [] }

test("a plan is applied in place, and the host's own messages stay as they were", () => {
  const messages = [user("a", text("pa", "A")), assistant("b", text("pb", "B")), assistant("c", text("pc", "C")), user("d", text("pd", "D"))]
  const [first, , , last] = messages
  const kept = structuredClone(messages)
  applyToRequest(messages, { ...nothing, drop: ["b", "gone"], insert: [{ before: "c", id: "flame_x", text: "results" }], tail: "the tail" })
  assert.deepEqual(ids(messages), ["a", "msg_flame_x", "c", "d"])
  assert.equal(messages[1].info.role, "user")
  assert.deepEqual(messages[1].parts.map((one) => one.text), ["results"])
  assert.deepEqual(messages[3].parts.map((one) => one.text), ["D", "the tail"])
  assert.ok(messages[3].parts[1].id > "pd", "the host sorts parts by their ids")
  assert.deepEqual([first, last], [kept[0], kept[3]])
})

test("a plan that was applied before only looks up what is new", () => {
  const plan = { ...nothing, drop: ["b", "d"], insert: [{ before: "c", id: "flame_x", text: "results" }] }
  const list = (names) => [...names].map((name) => user(name, text(`p${name}`, name)))
  const after = (names, seen) => {
    const messages = list(names)
    applyToRequest(messages, plan, seen)
    return ids(messages).join(" ")
  }
  assert.equal(after("abc", { list: 1, before: 0, known: 0 }), "a msg_flame_x c")
  assert.equal(after("abcde", { list: 2, before: 1, known: 3 }), "a msg_flame_x c e")
  assert.equal(after("abe", { list: 3, before: 2, known: 2 }), "a e", "the list was cut back and goes on otherwise")
  assert.equal(after("bac", { list: 5, before: 4, known: 3 }), "a msg_flame_x c", "a list in between is not known here")
  assert.equal(after("dcb", undefined), "msg_flame_x c")
  assert.equal(after("abc", { list: 6, before: 5, known: 3 }), "a msg_flame_x c")
})

test("a summary gets no tail, and loses what was ours even without an answer", () => {
  const ours = text("p2", "<stack-update>x</stack-update>", { synthetic: true })
  const quoted = text("p3", "<stack-update> is what the user asks about")
  const messages = () => [user("a", text("p1", "A"), ours, quoted), user("b", { ...ours, id: "p4" })]
  const without = messages()
  applyToSummary(without, undefined)
  assert.deepEqual(without.flatMap((one) => one.parts.map((part) => part.id)), ["p1", "p3"])
  const planned = messages()
  applyToSummary(planned, { ...nothing, strip: ["p1"], tail: "no" })
  assert.deepEqual(planned.flatMap((one) => one.parts.map((part) => part.id)), ["p3"])
})

test("strict backends get one system message, the others a block of its own", () => {
  const after = (provider, words) => {
    const system = ["You are"]
    applyToSystem(system, words, provider)
    return system
  }
  assert.deepEqual(after("@ai-sdk/openai-compatible", "header"), ["You are\nheader"])
  assert.deepEqual(after("@ai-sdk/anthropic", "header"), ["You are", "header"])
  assert.deepEqual(after(undefined, "header"), ["You are\nheader"])
  assert.deepEqual(after("@ai-sdk/anthropic", undefined), ["You are"])
})
