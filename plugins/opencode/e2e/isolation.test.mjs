// `frames.isolation = session`: a planned frame is worked on in a session of its own.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
before(async () => (lab = await Lab.start({ env: { FLAME_FRAMES_ISOLATION: "session" } })))
after(() => lab.stop())

const call = (name, args) => ({ calls: [{ name, args }] })
const activate = (title) => (request) => {
  const [, id] = new RegExp(`([a-z0-9]{8})  ${title}`).exec(request.raw)
  return call("stack_frame_activate", { sessionID: id })
}
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
  assert.match(child.title, /Cart/)
  assert.ok(child.metadata.flamestack.frame, "it is linked to its frame")
  assert.deepEqual(child.permission, permission, "and may no more than its parent")
  assert.ok(lab.model.work(child.id)[0].says("Cart works"), "its prompt says what is to be done")
  const last = lab.model.work(session).at(-1)
  assert.ok(last.says("The cart keeps its items"), "the parent gets the results")
  assert.ok(!last.says("child-work"), "and none of the work")
  assert.match(lab.flame(["tree"]), /✓ \w+ {2}Cart/)
  assert.deepEqual(lab.model.problems, [])
})

test("stopping the parent stops the child", async () => {
  const session = await lab.session({ title: "Stopped" })
  lab.model.on("Begin and stop", call("stack_frame_push", { title: "Begin", successCriteria: "Done" }), plan("Orders"), activate("Orders"))
  lab.model.on("Orders", { text: "I begin", hang: true })
  const working = lab.model.waits()
  await lab.begin(session, "Begin and stop")
  const { session: child } = await working
  const stopped = lab.next((event) => event.type === "session.error" && event.properties.sessionID === child)
  await lab.api("POST", `/session/${session}/abort`)
  assert.equal((await stopped).properties.error.name, "MessageAbortedError")
})
