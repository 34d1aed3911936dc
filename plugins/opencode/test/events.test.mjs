import assert from "node:assert/strict"
import { test } from "node:test"
import { EventQueue, Events } from "../dist/events.js"
import { Sessions } from "../dist/sessions.js"

function start() {
  const sent = []
  const links = []
  const edited = []
  const copies = []
  const sessions = new Sessions({})
  sessions.edited = (...which) => edited.push(which.join(" "))
  const queue = new EventQueue((session, events) => sent.push(...events.map((one) => ({ session, ...one }))))
  const events = new Events({
    sessions,
    queue,
    link: (session, link) => links.push([session.id, link]),
    copy: (...which) => copies.push(which.join(" of ")),
  })
  return {
    events,
    links,
    copies,
    edited,
    take: (type, properties) => events.take({ type, properties }),
    said() {
      queue.flush("ses_1")
      queue.flush("ses_2")
      return sent.splice(0)
    },
  }
}
const info = (more = {}) => ({ id: "ses_1", title: "T", directory: "/p", ...more })

test("a session is described once, until it changes", () => {
  const { take, said, links } = start()
  take("session.created", { info: info() })
  take("session.updated", { info: info({ metadata: { flamestack: { session: "ses_1" } } }) })
  assert.deepEqual(said(), [{ session: "ses_1", kind: "session", title: "T", directory: "/p" }])
  assert.deepEqual(links, [["ses_1", { session: "ses_1" }]])
  take("session.updated", { info: info({ summary: { additions: 3, deletions: 1, files: 2 }, metadata: { flamestack: { session: "ses_1" } } }) })
  assert.deepEqual(said()[0].diff, [3, 1, 2])
})

test("a session that `flame run` drives, and what it starts, is left to it", () => {
  const { events, take, said, links } = start()
  const metadata = { flamestack: { run: "r", frame: "f1", attempt: 1 } }
  take("session.created", { info: info({ metadata }) })
  take("session.created", { info: info({ id: "ses_2", parentID: "ses_1" }) })
  for (const sessionID of ["ses_1", "ses_2"]) take("session.idle", { sessionID })
  assert.deepEqual(said(), [])
  assert.deepEqual(links, [], "its link would be lost")
  assert.ok(events.isDriven("ses_1") && events.isDriven("ses_2") && events.knows("ses_1"))
})

test("a session that has no name yet is not called by its placeholder", () => {
  const { take, said } = start()
  const link = { metadata: { flamestack: { session: "ses_1" } } }
  take("session.created", { info: info({ title: "New session - 2026-11-16T08:00:00.000Z", ...link }) })
  assert.deepEqual(said(), [{ session: "ses_1", kind: "session", directory: "/p" }])
  take("session.updated", { info: info({ title: "New session for the shop", ...link }) })
  assert.equal(said()[0].title, "New session for the shop")
})

test("a fork is known by the link that it copied, and gets its own", () => {
  const { events, take, said, links, copies } = start()
  take("session.created", { info: info({ id: "ses_2", metadata: { flamestack: { session: "ses_1", frame: "f1" } } }) })
  const [described] = said()
  assert.equal(described.copyOf, "ses_1")
  assert.equal(described.frame, undefined, "the frame stays with the original")
  assert.deepEqual(links, [["ses_2", { session: "ses_2", copyOf: "ses_1" }]])
  assert.deepEqual(copies, ["ses_2 of ses_1"])
  take("session.updated", { info: info({ id: "ses_2", metadata: { flamestack: links[0][1] } }) })
  assert.deepEqual([said(), links.length, copies.length], [[], 1, 1], "which is not news")

  events.copied("ses_2", "ses_1", [{ id: "m1", role: "user", sessionID: "ses_1", time: { created: 7 } }])
  assert.deepEqual(said(), [
    { session: "ses_2", kind: "copied", from: "ses_1", messages: [{ id: "m1", role: "user", at: 7 }] },
  ])
})

test("a fork of a fork is a copy of that one", () => {
  const { take, said } = start()
  take("session.created", { info: info({ id: "ses_2", metadata: { flamestack: { session: "ses_1", copyOf: "ses_0" } } }) })
  assert.equal(said()[0].copyOf, "ses_1")
})

test("a session that was made for a frame says so", () => {
  const { take, said, links } = start()
  take("session.created", { info: info({ parentID: "ses_0", metadata: { flamestack: { frame: "f1" } } }) })
  assert.deepEqual(said()[0], { session: "ses_1", kind: "session", title: "T", directory: "/p", parent: "ses_0", frame: "f1" })
  assert.deepEqual(links, [["ses_1", { session: "ses_1", frame: "f1" }]])
})

test("reverted, restored, and reverted for good", () => {
  const { take, said } = start()
  const update = (more) => take("session.updated", { info: info({ metadata: { flamestack: { session: "ses_1" } }, ...more }) })
  update()
  said()
  update({ revert: { messageID: "msg_5" } })
  update({ revert: { messageID: "msg_5" } })
  assert.deepEqual(said(), [{ session: "ses_1", kind: "reverted", message: "msg_5" }])
  update()
  assert.deepEqual(said(), [{ session: "ses_1", kind: "reverted" }])
  update({ revert: { messageID: "msg_5" } })
  said()
  take("message.removed", { sessionID: "ses_1", messageID: "msg_5" })
  update()
  assert.deepEqual(said(), [{ session: "ses_1", kind: "removed", message: "msg_5" }])
})

const assistant = (more = {}) => ({ id: "msg_2", sessionID: "ses_1", role: "assistant", time: { created: 1 }, ...more })
const part = (more) => ({ id: "prt_1", messageID: "msg_2", sessionID: "ses_1", ...more })

test("parts are sent when they are final, a subagent's session before", () => {
  const { take, said } = start()
  take("message.updated", { info: assistant() })
  take("message.part.updated", { part: part({ type: "text", text: "hal", time: { start: 1 } }) })
  assert.deepEqual(said(), [])
  take("message.part.updated", { part: part({ type: "text", text: "half", time: { start: 1, end: 2 } }) })
  take("message.part.updated", { part: part({ type: "patch", hash: "h", files: ["/p/a"] }) })
  const state = { status: "running", input: {}, metadata: { sessionId: "ses_2" }, time: { start: 1 } }
  take("message.part.updated", { part: part({ type: "tool", tool: "task", callID: "c", state }) })
  assert.deepEqual(
    said().map((one) => one.parts[0].type),
    ["text", "patch", "tool"],
  )
})

test("the user's message is not sent twice", () => {
  const { events, take, said } = start()
  events.prompted("msg_1")
  take("message.updated", { info: { id: "msg_1", sessionID: "ses_1", role: "user", time: { created: 1 } } })
  take("message.part.updated", { part: { id: "p", messageID: "msg_1", sessionID: "ses_1", type: "text", text: "Hi" } })
  assert.deepEqual(said(), [])
})

test("a stop is an interruption, another error a failure", () => {
  const { take, said } = start()
  take("session.error", { sessionID: "ses_1", error: { name: "MessageAbortedError", data: {} } })
  take("session.error", { sessionID: "ses_1", error: { name: "APIError", data: {} } })
  take("session.error", {})
  take("session.idle", { sessionID: "ses_1" })
  assert.deepEqual(said().map((one) => one.kind), ["interrupted", "failed", "idle"])
})

test("a failure names the message that it ended", () => {
  const { take, said } = start()
  const info = (id, completed) => ({ info: { id, sessionID: "ses_1", role: "assistant", time: { created: 1, completed } } })
  take("message.updated", info("msg_1", 2))
  take("message.updated", info("msg_2"))
  take("session.error", { sessionID: "ses_1", error: { name: "APIError", data: { message: "no credit" } } })
  assert.deepEqual(said().at(-1), { session: "ses_1", kind: "failed", why: "APIError: no credit", message: "msg_2" })
})

test("a session that is idle before the provider is asked again was stopped", () => {
  const { take, said } = start()
  const status = (type) => take("session.status", { sessionID: "ses_1", status: { type } })
  const idle = () => {
    status("idle")
    take("session.idle", { sessionID: "ses_1" })
    return said().filter(({ kind }) => kind === "idle").map(({ stopped }) => stopped)
  }
  for (const type of ["busy", "retry", "busy", "retry"]) status(type)
  assert.deepEqual([...idle(), ...idle()], [true, undefined], "once")
  for (const type of ["busy", "retry", "busy"]) status(type)
  assert.deepEqual(idle(), [undefined], "it was asked again, and answered")
  for (const type of ["busy", "retry"]) status(type)
  take("session.error", { sessionID: "ses_1", error: { name: "APIError", data: {} } })
  assert.deepEqual(idle(), [undefined], "an error ended it")
})

test("parts that change or are removed are reported as edited", () => {
  const { take, edited } = start()
  take("message.part.updated", { part: { id: "p", messageID: "msg_1", sessionID: "ses_1", type: "text", text: "edited" } })
  take("message.part.removed", { sessionID: "ses_1", messageID: "msg_2", partID: "p" })
  assert.deepEqual(edited, ["ses_1 msg_1", "ses_1 msg_2"])
})
