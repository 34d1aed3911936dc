// What is kept of a session: the log of a finished frame, and everything of a deleted one.

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
// Put together, so that this file is not taken for a leak.
const secret = `ghp_${"a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"}`

test("the log of a finished frame tells what was said and done, without secrets and at no great length", async () => {
  const session = await lab.session({ title: "Logged" })
  lab.model.on(
    "Find the fault",
    push("Look for it"),
    { text: "I look into the log.", ...bash(`echo found-it; echo ${secret}; for i in $(seq 300); do echo "line $i of a long answer"; done`) },
    pop("It is the cookie"),
    { text: "Found." },
  )
  await lab.prompt(session, "Find the fault")
  const [, id] = /✓ (\w+) {2}Look for it/.exec(lab.flame(["tree", "--all"]))
  const log = lab.flame(["log", id])
  assert.match(log, /^# Look for it$/m)
  assert.match(log, /^## Results\n\nIt is the cookie$/m)
  assert.match(log, /^## Conversation$/m)
  assert.match(log, /^### Assistant\n\nI look into the log\.$/m)
  assert.match(log, /^found-it$/m, "what a tool answered")
  assert.ok(!log.includes("line 150 of a long answer"), "cut in the middle")
  assert.ok(!log.includes(secret), "without secrets")
  assert.ok(log.length < 20_000, `${log.length} bytes`)
})

test("a deleted session leaves nothing to do, and can be read", async () => {
  const session = await lab.session({ title: "Deleted" })
  lab.model.on("Begin and leave", push("Left unfinished"), bash("echo left-work"), { text: "Half of it" })
  await lab.prompt(session, "Begin and leave")
  const [, id] = /→ (\w+) {2}Left unfinished/.exec(lab.flame(["tree"]))
  await lab.api("DELETE", `/session/${session}`)
  let tree = ""
  for (let tries = 0; !/– \w+ {2}Left unfinished/.test(tree) && tries < 200; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    tree = lab.flame(["tree", "--all"])
  }
  assert.match(tree, /– \w+ {2}Left unfinished/)
  assert.doesNotMatch(lab.flame(["tree"]), /→ \w+ {2}Left unfinished/)
  const log = lab.flame(["log", id])
  assert.match(log, /its session was deleted/)
  assert.match(log, /left-work/, "nothing is lost")
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.noise(), [])
})
