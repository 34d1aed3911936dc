// Two sessions and a subagent at work at the same time: each has its own frame and context.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
before(async () => (lab = await Lab.start()))
after(() => lab.stop())

const call = (name, args) => ({ calls: [{ name, args }] })

test("sessions and a subagent do not see each other's frames", async () => {
  // Each waits for the others before it asks for its status.
  let arrived = 0
  let open
  const all = new Promise((resolve) => (open = resolve))
  const meet = (reply) => async () => {
    arrived += 1
    if (arrived === 3) open()
    await all
    return reply
  }
  const push = (title) => call("stack_frame_push", { title, successCriteria: `${title} works` })
  lab.model.on("Do alpha", push("Alpha frame"), meet(call("stack_status", {})), { text: "Alpha is done" })
  lab.model.on("Do beta", push("Beta frame"), call("task", {
    description: "Look into gamma",
    prompt: "Do gamma",
    subagent_type: "general",
  }), { text: "Beta is done" })
  lab.model.on("Do gamma", meet(push("Gamma frame")), call("stack_status", {}), { text: "Gamma is done" })
  lab.model.on("Do delta", push("Delta frame"), meet(call("stack_status", {})), { text: "Delta is done" })

  const [alpha, beta, delta] = [await lab.session({ title: "A" }), await lab.session({ title: "B" }), await lab.session({ title: "D" })]
  await Promise.all([lab.prompt(alpha, "Do alpha"), lab.prompt(beta, "Do beta"), lab.prompt(delta, "Do delta")])

  const last = (session) => lab.model.work(session).at(-1)
  for (const [session, own] of [[alpha, "Alpha"], [beta, "Beta"], [delta, "Delta"]]) {
    const others = ["Alpha", "Beta", "Delta"].filter((name) => name !== own)
    assert.ok(last(session).says(`${own} frame`), `${own} knows its frame`)
    for (const other of others) assert.ok(!last(session).says(`${other} frame`), `${own} does not know ${other}`)
  }
  const [child] = await lab.api("GET", `/session/${beta}/children`)
  const gamma = lab.model.work(child.id)
  assert.equal(gamma.length, 3, "the subagent worked in its own session")
  assert.ok(last(child.id).says("Gamma frame"))
  assert.ok(!last(child.id).says("Alpha frame"))
  const status = (session) => lab.flame(["status", "--session", `opencode:${session}`])
  assert.match(status(alpha), /Alpha frame/)
  assert.match(status(beta), /Beta frame/)
  assert.doesNotMatch(status(beta), /Alpha frame|Delta frame/)
  assert.deepEqual(lab.model.problems, [])
})

test("a command that a tool runs acts in its session", async () => {
  const session = await lab.session({ title: "Shell" })
  const command = `"$FLAME_BIN" push "From the shell" --criteria "It is there"`
  lab.model.on("Push from bash", call("bash", { command, description: "Push" }), { text: "Pushed" })
  await lab.prompt(session, "Push from bash")
  assert.match(lab.flame(["status", "--session", `opencode:${session}`]), /From the shell/)
})
