// Changes to messages that were sent already, as the host makes them: all objects are made anew.

import assert from "node:assert/strict"
import { test } from "node:test"
import { Memory } from "../dist/memory.js"
import { alike, mark } from "../dist/messages.js"

const time = { start: 1, end: 2 }
const user = (id) => ({ info: { id, role: "user", time: { created: 1 } }, parts: [{ id: `${id}p`, type: "text", text: id }] })
const call = (id, state = {}, info = {}) => ({
  info: { id, role: "assistant", time: { created: 1, completed: 2 }, ...info },
  parts: [
    { id: `${id}t`, type: "text", text: "I look", time },
    { id: `${id}c`, type: "tool", callID: id, tool: "bash", state: { status: "completed", input: {}, output: "ok", time, ...state } },
  ],
})
const memoryOf = (...list) => {
  const memory = new Memory({ id: ({ info }) => info.id, mark, alike })
  memory.keep(structuredClone(list))
  return memory
}
/** Returns the number of messages of the first list that are known in the second. */
const known = (before, now) => memoryOf(...before).keep(now).known
const story = () => [user("a"), call("b"), call("c"), user("d"), call("e")]

test("what is likely known is never less than what is known", () => {
  const [a, b, c, d, e] = story()
  const lists = [story(), [...story(), call("f")], [a, b], [a, c, d, e], [user("s"), e], [a, b, user("x"), d, e], []]
  for (const list of lists) assert.ok(memoryOf(...story()).likely(list) >= known(story(), list))
  assert.equal(memoryOf(...story()).likely([...story(), call("f")]), 5)
  assert.equal(memoryOf(...story()).likely([a, b, user("x")]), 2, "compared, because the last one is another")
  const edited = memoryOf(...story())
  edited.changed("c")
  assert.equal(edited.likely(story()), 2)
})

test("what is only longer is known up to there", () => {
  assert.equal(known(story(), story()), 5)
  assert.equal(known(story(), [...story(), call("f")]), 5)
  assert.equal(known([], story()), 0)
})

test("wound back, removed, summarised: known up to the first that is another", () => {
  const [a, b, c, d, e] = story()
  assert.equal(known(story(), [a, b]), 2, "wound back")
  assert.equal(known(story(), [a, b, user("x")]), 2, "wound back, and on from there")
  assert.equal(known(story(), [a, c, d, e]), 1, "one in the middle was removed")
  assert.equal(known(story(), [a, b, user("x"), d, e]), 2, "one in the middle is another")
  assert.equal(known(story(), [user("s"), call("t", {}, { summary: true }), e]), 0, "summarised")
  assert.equal(known(story(), []), 0)
})

test("parts that were removed or came later", () => {
  const fewer = story()
  fewer[1].parts.pop()
  assert.equal(known(story(), fewer), 1)
  const more = story()
  more[2].parts.push({ id: "p", type: "patch", files: ["/a"] })
  assert.equal(known(story(), more), 2)
})

test("a call that still ran is compared again, wherever it is, and sent again when it has changed", () => {
  const running = call("b", { status: "running", output: undefined })
  const before = [user("a"), running, call("c")]
  assert.equal(known(before, structuredClone(before)), 3)
  assert.equal(known(before, [user("a"), call("b"), call("c")]), 1)
  assert.equal(known(before, [user("a"), call("b", { status: "error", error: "Tool execution aborted" }), call("c")]), 1)
})

test("a message that was being written is sent again when it has changed", () => {
  const before = [user("a"), call("b", {}, { time: { created: 1 } })]
  assert.equal(known(before, structuredClone(before)), 2)
  assert.equal(known(before, [user("a"), call("b")]), 1)
  const failed = call("b", {}, { time: { created: 1 }, error: { name: "MessageAbortedError" } })
  assert.equal(known(before, [user("a"), failed]), 1)
})

test("an edit or a pruned output is reported by its event, once", () => {
  const memory = memoryOf(...story())
  const pruned = () => story().with(2, call("c", { time: { ...time, compacted: 3 } }))
  memory.changed("c")
  memory.changed("never sent")
  assert.equal(memory.keep(pruned()).known, 2)
  assert.equal(memory.keep(pruned()).known, 5)
  memory.changed("e")
  assert.equal(memory.keep([user("a")]).known, 1)
  assert.equal(memory.keep(story()).known, 1)
})

test("a list is named, and so is the one before it", () => {
  const memory = memoryOf()
  const first = memory.keep([user("a")])
  const second = memory.keep([user("a"), user("b")])
  assert.deepEqual([second.before, second.known], [first.list, 1])
  memory.forget()
  assert.notEqual(memory.keep([user("a")]).before, second.list)
})
