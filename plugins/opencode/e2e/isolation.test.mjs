// `frames.isolation = session`: a planned frame is worked on in a session of its own.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
before(async () => (lab = await Lab.start({ env: { FLAME_FRAMES_ISOLATION: "session" } })))
after(() => lab.stop())

const call = (name, args) => ({ calls: [{ name, args }] })
const activate = (...titles) => (request) => {
  const id = (title) => new RegExp(`([a-z0-9]{8})  ${title}`).exec(request.raw)[1]
  return { calls: titles.map((title) => ({ name: "stack_frame_activate", args: { sessionID: id(title) } })) }
}
/** Returns the newest answers of tools in a request. */
const answers = (request) => {
  const last = request.messages.findLastIndex((one) => one.role !== "tool")
  return request.messages.slice(last + 1).map((one) => one.content)
}
const tree = (session) => lab.flame(["tree", "--all", `opencode:${session}`, "--session", `opencode:${session}`])
const plan = (...titles) => call("stack_frame_plan_children", { children: titles.map((title) => ({ title, successCriteria: `${title} works` })) })

test("a child session does the work, and its results return to the parent", async () => {
  const permission = [{ permission: "webfetch", pattern: "*", action: "deny" }]
  const session = await lab.session({ title: "Shop", permission })
  lab.model.on(
    "Build the shop",
    call("stack_frame_push", { title: "Build the shop", successCriteria: "Orders work" }),
    plan("Cart", "Mails"),
    activate("Cart"),
    { text: "The cart is there." },
  )
  lab.model.on(
    "Cart",
    call("bash", { command: "echo child-work", description: "Work" }),
    call("stack_frame_pop", { status: "completed", results: "The cart keeps its items" }),
    { text: "Cart finished." },
  )
  await lab.prompt(session, "Build the shop")

  const [child] = await lab.api("GET", `/session/${session}/children`)
  const [, cart] = /(\w{8}) {2}Cart/.exec(tree(session))
  assert.equal(child.title, "Cart")
  assert.equal(child.parentID, session)
  assert.deepEqual(child.metadata.flamestack, { session: child.id, frame: cart }, "it is linked to its frame")
  assert.deepEqual(child.permission, permission, "and may no more than its parent")
  const [first] = lab.model.work(child.id)
  assert.equal(first.userTexts[0], "Cart\n\nDone means: Cart works", "its prompt says what is to be done")
  const { header } = JSON.parse(lab.flame(["context", "--as-sent", "--json", "--session", `opencode:${child.id}`]))
  assert.ok(first.system[0].endsWith(`\n${header.text}`), "its context goes with it")
  assert.match(header.text, /<ancestors[\s\S]*Orders work[\s\S]*<current-frame[\s\S]*Cart works/)
  assert.match(header.text, /<user-directives from="user" count="1">\n<directive>Build the shop<\/directive>/, "what its parent says is not the user's word")
  const last = lab.model.work(session).at(-1)
  assert.deepEqual(answers(last), [`${cart} “Cart” is completed (claimed)\nThe cart keeps its items`], "the parent gets the results")
  assert.ok(!last.says("child-work"), "and none of the work")
  assert.match(lab.flame(["tree"]), /✓ \w+ {2}Cart/)
  assert.deepEqual(lab.model.problems, [])
})

test("children of children, and several at once: no session waits for ever", async () => {
  const session = await lab.session({ title: "House" })
  lab.model.on(
    "Build the house",
    call("stack_frame_push", { title: "House", successCriteria: "It is built" }),
    plan("Wall", "Door"),
    activate("Wall", "Door"),
    { text: "It is built." },
  )
  lab.model.on("Wall works", plan("Stone"), activate("Stone"), call("stack_frame_pop", { status: "completed", results: "The wall is up" }), { text: "Up." })
  lab.model.on("Stone works", { text: "The stones are cut" })
  lab.model.on("Door works", { text: "The door closes" })
  await lab.prompt(session, "Build the house")
  const results = answers(lab.model.work(session).at(-1))
  assert.deepEqual(results.map((text) => text.slice(9)), ["“Wall” is completed (claimed)\nThe wall is up", "“Door” is completed (claimed)\nThe door closes"])
  assert.match(tree(session), /✓ \w{8} {2}Wall[\s\S]*✓ \w{8} {2}Stone[\s\S]*✓ \w{8} {2}Door/)
  const [wall] = await lab.api("GET", `/session/${session}/children`)
  assert.match(answers(lab.model.work(wall.id).at(-1))[0], /no frame is active now/, "what is above is its parent's")
  assert.deepEqual(lab.model.problems, [])
})

test("a child that fails: its frame has failed, and the parent learns why", async () => {
  const session = await lab.session({ title: "Bank" })
  lab.model.on("Borrow some", call("stack_frame_push", { title: "Bank", successCriteria: "Money" }), plan("Loan"), activate("Loan"), { text: "None." })
  lab.model.on("Loan works", { refuse: { message: "no credit", type: "refused" } })
  await lab.prompt(session, "Borrow some")
  const [result] = answers(lab.model.work(session).at(-1))
  assert.match(result, /^\w{8} “Loan” has failed\n.*no credit$/)
  assert.match(tree(session), /✗ \w{8} {2}Loan/)
})

test("stopping the parent stops the child, and what it was at stays open", async () => {
  const session = await lab.session({ title: "Stopped" })
  lab.model.on("Begin and stop", call("stack_frame_push", { title: "Begin", successCriteria: "Done" }), plan("Orders"), activate("Orders"))
  lab.model.on("Orders works", { text: "I begin", hang: true })
  const working = lab.model.waits()
  await lab.begin(session, "Begin and stop")
  const { session: child } = await working
  const stopped = lab.next((event) => event.type === "session.error" && event.properties.sessionID === child)
  const idle = lab.next((event) => event.type === "session.idle" && event.properties.sessionID === session)
  await lab.api("POST", `/session/${session}/abort`)
  assert.equal((await stopped).properties.error.name, "MessageAbortedError")
  await idle

  // The user continues: in this session, where they can type.
  lab.model.on("Go on with the orders", (request) => call("stack_frame_activate", { sessionID: /([a-z0-9]{8}) {2}Orders/.exec(request.raw)[1] }), { text: "On it." })
  await lab.prompt(session, "Go on with the orders")
  assert.match(lab.flame(["status", "--session", `opencode:${session}`]), /→ \w{8} {2}Orders/)
  assert.equal((await lab.api("GET", `/session/${session}/children`)).length, 1, "no other child was made")
  assert.deepEqual(lab.noise(), [])
})
