import assert from "node:assert/strict"
import { test } from "node:test"
import { applyToRequest } from "../dist/apply.js"
import { message } from "../dist/messages.js"
import { applyToSummary, applyToSystem, shape } from "../dist/shape.js"

const assistantInfo = (more = {}) => ({ id: "m", sessionID: "s", role: "assistant", time: { created: 1, completed: 2 }, ...more })
const sent = (part) => message(assistantInfo(), [part]).parts

test("a part is sent as the host has it, without what the sidecar does not read", () => {
  const metadata = { exit: 0, sessionId: "ses_2", diff: "x".repeat(1000), files: [{ filePath: "/p/c", patch: "long", movePath: "/p/d" }] }
  const state = { status: "completed", input: { filePath: "/p/c" }, output: "ok", title: "t", metadata, time: { start: 1, end: 2 } }
  assert.deepEqual(sent({ id: "p", messageID: "m", sessionID: "s", type: "tool", callID: "c", tool: "edit", state }), [
    {
      id: "p",
      type: "tool",
      callID: "c",
      tool: "edit",
      state: {
        status: "completed",
        input: { filePath: "/p/c" },
        output: "ok",
        time: { start: 1, end: 2 },
        metadata: { exit: 0, sessionId: "ses_2", files: [{ movePath: "/p/d", filePath: "/p/c" }] },
      },
    },
  ])
  const attached = { id: "p", type: "file", filename: "a.png", url: "data:image/png;base64,AAAA", mime: "image/png" }
  assert.deepEqual(sent(attached), [{ id: "p", type: "file", filename: "a.png", source: {} }])
})

test("parts that the sidecar does not know are left out", () => {
  for (const type of ["step-start", "step-finish", "snapshot", "agent", "retry", "brand-new"]) {
    assert.deepEqual(sent({ id: "p", type }), [])
  }
  assert.deepEqual(sent({ id: "p", type: "text", text: "seen, not sent", ignored: true }), [])
})

test("an error is sent by its name and its message", () => {
  const error = { name: "APIError", data: { message: "too long", responseBody: "x".repeat(1000) } }
  assert.deepEqual(message(assistantInfo({ error }), []).error, { name: "APIError", data: { message: "too long" } })
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
  applyToRequest(shape, messages, { ...nothing, drop: ["b", "gone"], insert: [{ before: "c", id: "flame_x", text: "results" }], tail: "the tail" })
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
    applyToRequest(shape, messages, plan, seen)
    return ids(messages).join(" ")
  }
  assert.equal(after("abc", { list: 1, before: 0, known: 0 }), "a msg_flame_x c")
  assert.equal(after("abcde", { list: 2, before: 1, known: 3 }), "a msg_flame_x c e")
  assert.equal(after("abe", { list: 3, before: 2, known: 2 }), "a e", "the list was cut back and continues otherwise")
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
