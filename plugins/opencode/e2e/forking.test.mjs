// OpenCode's fork: the copy continues with what was open, knows what was finished, and folds what was
// folded; nothing happens to the original.

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

/** Returns the tree below the frame of a session, without the totals of the project. */
const tree = (session) => {
  const shown = lab.flame(["tree", "--all", `opencode:${session}`, "--session", `opencode:${session}`])
  return shown.split("\n\n")[0]
}
const context = (session) => lab.flame(["context", "--session", `opencode:${session}`])

/** A session with a finished frame and an open one in it, each with work of its own. */
async function worked(name) {
  const session = await lab.session({ title: name })
  lab.model.on(`Begin ${name}`, push(`Part of ${name}`), bash("echo part-work"), pop(`${name} has its part`), { text: "One is done" })
  await lab.prompt(session, `Begin ${name}`)
  lab.model.on(`Go on ${name}`, push(`Next of ${name}`), bash("echo next-work"), { text: "More to do" })
  await lab.prompt(session, `Go on ${name}`)
  return session
}
const fork = (session, body = {}) => lab.api("POST", `/session/${session}/fork`, body)

test("a fork continues with what was open, and what was folded stays folded", async () => {
  const session = await worked("cart")
  const [treeBefore, contextBefore] = [tree(session), context(session)]
  const { id } = await fork(session)
  lab.model.on("Another way", bash("echo other-work"), pop("next found in the fork"), { text: "Done otherwise" })
  await lab.prompt(id, "Another way")

  const [first, , last] = lab.model.work(id)
  assert.ok(!first.says("part-work"), "what was folded in the original is folded in the fork")
  assert.ok(first.says("cart has its part"), "with its results")
  assert.ok(first.says("next-work"), "what was open is not folded")
  assert.ok(!last.says("next-work") && !last.says("other-work"), "until it is popped there: all of it")
  assert.ok(last.says("next found in the fork"))
  const shown = tree(id)
  assert.match(shown, /✓ \w+ {2}Next of cart/)
  assert.match(shown, /✓ \w+ {2}Part of cart/)
  assert.match(context(id), /cart has its part/)

  assert.equal(tree(session), treeBefore, "the original is untouched")
  assert.equal(context(session), contextBefore)
  lab.model.on("Back here", { text: "Still open" })
  await lab.prompt(session, "Back here")
  assert.ok(lab.model.work(session).at(-1).says("next-work"))
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.noise(), [])
})

test("a fork of an earlier message knows nothing of what came after it", async () => {
  const session = await worked("mails")
  const users = (await lab.messages(session)).filter((one) => one.info.role === "user")
  const { id } = await fork(session, { messageID: users[1].info.id })
  lab.model.on("Instead", { text: "Something else" })
  await lab.prompt(id, "Instead")
  const shown = tree(id)
  assert.match(shown, /✓ \w+ {2}Part of mails/)
  assert.doesNotMatch(shown, /Next of mails/)
  assert.ok(!lab.model.work(id)[0].says("part-work"))
  assert.deepEqual(lab.model.problems, [])
})

test("a fork of a fork, after a restart", async () => {
  const session = await worked("orders")
  const { id: second } = await fork(session)
  lab.model.on("In the second", { text: "Yes" })
  await lab.prompt(second, "In the second")
  const { id: third } = await fork(second)
  await lab.halt()
  await lab.serve()
  lab.model.on("In the third", pop("orders are done"), { text: "Done" })
  await lab.prompt(third, "In the third")
  const requests = lab.model.work(third)
  assert.ok(!requests[0].says("part-work"))
  assert.ok(requests[0].says("next-work"))
  assert.ok(!requests[1].says("next-work"))
  assert.match(tree(third), /✓ \w+ {2}Next of orders/)
  assert.doesNotMatch(tree(second), /✓ \w+ {2}Next of orders/)
  assert.deepEqual(lab.model.problems, [])
})
