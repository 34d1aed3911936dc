// A whole story: plan, work in one step, finish it, begin the next, be interrupted, come back.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { assertFromStore } from "./lab/expected.mjs"
import { shared } from "./lab/model.mjs"
import { Lab } from "./lab/opencode.mjs"

let lab
before(async () => (lab = await Lab.start()))
after(() => lab.stop())

const call = (name, args) => ({ calls: [{ name, args }] })
const bash = (command) => call("bash", { command, description: "Work" })
/** Activates a planned frame by the id that the request shows beside its title. */
const activate = (title) => (request) => {
  const [, id] = new RegExp(`([a-z0-9]{8})  ${title}`).exec(request.raw)
  return call("stack_frame_activate", { sessionID: id })
}

test("plan three, finish one, begin the next, interrupt, resume", async () => {
  const session = await lab.session({ title: "Shop" })
  const flame = (...words) => lab.flame([...words, "--session", `opencode:${session}`])
  const children = ["Cart", "Checkout", "Mails"].map((title) => ({ title, successCriteria: `${title} works` }))

  lab.model.on(
    "Build the shop",
    call("stack_frame_push", { title: "Build the shop", successCriteria: "Orders work" }),
    call("stack_frame_plan_children", { children }),
    activate("Cart"),
    bash("echo cart-work | tee cart.txt"),
    call("stack_frame_pop", { status: "completed", results: "The cart keeps items in cart.txt" }),
    { text: "The cart is done." },
  )
  await lab.prompt(session, "Build the shop")

  const built = lab.model.work(session)
  assert.equal(built.length, 6)
  for (const { title } of children) assert.ok(built[2].says(title), `the plan names ${title}`)
  const [working, popped] = built.slice(-2)
  assert.ok(working.says("cart-work"))
  assert.ok(!popped.says("cart-work"), "what was done in the frame is folded")
  assert.ok(popped.says("The cart keeps items in cart.txt"), "what it came to is there")
  assert.ok(shared(built[2], popped).bytes >= built[2].prompt.length - 2, "all before the frame is shared")

  await assertFromStore(lab, session)

  // A person at a terminal decides something meanwhile: the next message carries it, from the store.
  const [, root] = /([a-z0-9]{8}) “Build the shop” is in progress/.exec(popped.raw)
  lab.flame(["note", "directive", "Prices are kept in cents", "--frame", root])
  lab.model.on("Now the checkout", activate("Checkout"), bash("echo checkout-work"), { text: "I think", hang: true })
  const thinking = lab.model.waits()
  await lab.begin(session, "Now the checkout")
  const request = await thinking
  assert.ok(request.userTexts.at(-1).includes("Prices are kept in cents"))
  const interrupted = lab.next((event) => event.type === "session.error" && event.properties.sessionID === session)
  await lab.api("POST", `/session/${session}/abort`)
  assert.equal((await interrupted).properties.error.name, "MessageAbortedError")

  await lab.halt()
  await lab.serve()
  lab.model.on("Where were we?", call("stack_status", {}), { text: "At the checkout." })
  await lab.prompt(session, "Where were we?")
  const [resumed, answered] = lab.model.work(session).slice(-2)
  assert.ok(!resumed.says("cart-work"), "folded after a restart too")
  assert.ok(resumed.says("The cart keeps items in cart.txt"))
  assert.ok(resumed.says("checkout-work"), "open work is not folded")
  assert.ok(shared(request, resumed).bytes >= request.prompt.length - 2, "nothing that was sent has changed")
  assert.ok(answered.says("Checkout"), "the status names the active frame")

  // All of it once more, byte for byte: every request is the host's messages and what the store has.
  const { requests, frames, sent } = await assertFromStore(lab, session)
  assert.equal(requests.length, 11)
  assert.equal(sent.updates.length, 1)
  const [cart] = frames
  const popping = requests.at(-1).messages.flatMap((one) => one.tool_calls ?? []).filter((one) => one.function.name === "stack_frame_pop")
  assert.deepEqual(popping.map((one) => JSON.parse(one.function.arguments).results), [cart.results])
  const status = answered.messages.findLast((one) => one.role === "tool").content
  assert.equal(status, flame("tool", "stack_status"), "a tool says what the store says")
  assert.match(flame("status"), /Checkout/)
  assert.match(flame("tree"), /✓ .*Cart/)

  // A compaction makes a new header, and that is the store's too.
  await lab.summarize(session)
  lab.model.on("And the mails?", { text: "Next." })
  await lab.prompt(session, "And the mails?")
  const { header } = JSON.parse(flame("context", "--as-sent", "--json"))
  assert.ok(header.text.includes("Mails"))
  const { system } = lab.model.work(session).at(-1)
  assert.deepEqual(system, [`${requests[0].system[0]}\n${header.text}`])
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.noise(), [])
})
