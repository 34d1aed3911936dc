// OpenCode's undo and redo: what happened in messages that are taken back counts no longer, comes
// back with them, and is gone for good once the user continues without them.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
before(async () => (lab = await Lab.start()))
after(() => lab.stop())

const call = (name, args) => ({ calls: [{ name, args }] })
const bash = (command) => call("bash", { command, description: "Work" })
const push = (title) => call("stack_frame_push", { title, successCriteria: `${title} works` })
const pop = (results) => call("stack_frame_pop", { status: "completed", results })

/** Asks until the answer is right: the plugin reports what happened, and OpenCode does not wait for that. */
async function soon(ask, right) {
  let answer
  for (let tries = 0; tries < 200; tries += 1) {
    answer = ask()
    if (right(answer)) return answer
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  assert.fail(`not in time: ${answer}`)
}

/** A session with an open frame and a finished one in it, popped in the second turn. */
async function worked(name) {
  const session = await lab.session({ title: name })
  lab.model.on(`Begin ${name}`, push(`Build ${name}`), push(`Part of ${name}`), bash("echo part-work"), { text: "More to do" })
  await lab.prompt(session, `Begin ${name}`)
  lab.model.on(`Finish ${name}`, pop(`${name} has its part`), push(`Next of ${name}`), { text: "The part is done" })
  await lab.prompt(session, `Finish ${name}`)
  assert.ok(!lab.model.work(session).at(-1).says("part-work"), "folded")
  const users = (await lab.messages(session)).filter((one) => one.info.role === "user")
  return { session, second: users.at(-1).info.id }
}
const tree = (session) => lab.flame(["tree", "--all", "--session", `opencode:${session}`])

test("back: the frame is open again; forward: it is finished again", async () => {
  const { session, second } = await worked("cart")
  assert.match(tree(session), /✓ \w+ {2}Part of cart/)
  await lab.api("POST", `/session/${session}/revert`, { messageID: second })
  const back = await soon(() => tree(session), (text) => !text.includes("Next of cart"))
  assert.doesNotMatch(back, /✓ \w+ {2}Part of cart/)
  assert.match(lab.flame(["status", "--session", `opencode:${session}`]), /Part of cart/, "and worked on again")
  assert.doesNotMatch(lab.flame(["context", "--session", `opencode:${session}`]), /cart has its part/)

  await lab.api("POST", `/session/${session}/unrevert`)
  const forward = await soon(() => tree(session), (text) => text.includes("Next of cart"))
  assert.match(forward, /✓ \w+ {2}Part of cart/)
  lab.model.on("Go on with the cart", { text: "On I go" })
  await lab.prompt(session, "Go on with the cart")
  const last = lab.model.work(session).at(-1)
  assert.ok(!last.says("part-work"), "and folded as before")
  assert.ok(last.says("cart has its part"))
  assert.deepEqual(lab.model.problems, [])
})

test("back and then on: what was taken back stays so", async () => {
  const { session, second } = await worked("mails")
  await lab.api("POST", `/session/${session}/revert`, { messageID: second })
  await soon(() => tree(session), (text) => !text.includes("Next of mails"))
  lab.model.on("Another way", bash("echo other-work"), pop("mails go out"), { text: "Done otherwise" })
  await lab.prompt(session, "Another way")
  const requests = lab.model.work(session).slice(-3)
  assert.ok(requests[0].says("part-work"), "what was folded by the pop is there again")
  assert.ok(!requests[0].says("mails has its part"), "the pop is not")
  assert.ok(!requests[2].says("part-work"), "until it is popped again")
  assert.ok(requests[2].says("mails go out"))
  const after = tree(session)
  assert.match(after, /✓ \w+ {2}Part of mails/)
  assert.doesNotMatch(after, /Next of mails/)
  assert.doesNotMatch(lab.flame(["context", "--session", `opencode:${session}`]), /mails has its part/)

  // OpenCode has nothing to bring back any more, and neither have we.
  await lab.api("POST", `/session/${session}/unrevert`)
  lab.model.on("And now", { text: "Nothing" })
  await lab.prompt(session, "And now")
  assert.doesNotMatch(tree(session), /Next of mails/)
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.noise(), [])
})

test("back further, and a restart in between", async () => {
  const { session, second } = await worked("orders")
  const [first] = (await lab.messages(session)).filter((one) => one.info.role === "user")
  await lab.api("POST", `/session/${session}/revert`, { messageID: second })
  await soon(() => tree(session), (text) => !text.includes("Next of orders"))
  await lab.api("POST", `/session/${session}/revert`, { messageID: first.info.id })
  await soon(() => tree(session), (text) => !text.includes("Part of orders"))
  await lab.halt()
  await lab.serve()
  await lab.api("POST", `/session/${session}/unrevert`)
  const forward = await soon(() => tree(session), (text) => text.includes("Next of orders"))
  assert.match(forward, /✓ \w+ {2}Part of orders/)
})
