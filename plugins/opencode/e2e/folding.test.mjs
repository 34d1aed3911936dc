// A popped frame's messages leave the prompt, and its results stay, for every kind of API.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { shared } from "./lab/model.mjs"
import { Lab } from "./lab/opencode.mjs"
import { WIRES } from "./lab/wires.mjs"

let lab
before(async () => (lab = await Lab.start()))
after(() => lab.stop())

const push = { name: "stack_frame_push", args: { title: "Find the fault", successCriteria: "A failing test" } }
const pop = { name: "stack_frame_pop", args: { status: "completed", results: "It is in login.rs, line 40" } }

for (const wire of Object.keys(WIRES)) {
  test(`a frame folds when it is popped: ${wire}`, async () => {
    const prompt = `Fix the login (${wire})`
    lab.model.on(
      prompt,
      { text: "I open a frame.", calls: [push] },
      { text: "First look", calls: [{ name: "bash", args: { command: "echo first-look", description: "Look" } }] },
      { calls: [{ name: "read", args: { filePath: `${lab.project}/README.md` } }, { name: "glob", args: { pattern: "*" } }] },
      { text: "Found it.", calls: [pop] },
      ({ raw }) => ({ calls: [{ name: "stack_recall", args: { query: /([a-z0-9]{8}) “Find the fault” is in progress/.exec(raw)[1] } }] }),
      { text: "The login is fixed." },
    )
    const session = await lab.session()
    await lab.prompt(session, prompt, { wire })

    const [beforePush, , , beforePop, afterPop, recalled] = lab.model.work(session)
    assert.deepEqual(lab.model.problems, [])
    assert.ok(beforePop.says("first-look"))
    assert.ok(!afterPop.says("first-look"), "the frame's messages are gone")
    assert.ok(!afterPop.says("A shop"), "the frame's messages are gone")
    assert.ok(afterPop.says("It is in login.rs, line 40"), "its results are there")
    assert.ok(afterPop.says("results: It is in login.rs, line 40"), "the answer to the pop carries them")
    assert.ok(afterPop.says("Find the fault"), "the push is there")
    assert.ok(afterPop.raw.length < beforePop.raw.length, "the request is shorter")
    assert.ok(recalled.says("first-look"), "what was folded is a recall away")
    // The end of the list of messages, `]]`, is where the earlier one stops being the same.
    assert.ok(shared(beforePush, afterPop).bytes >= beforePush.prompt.length - 2, "every byte before the push is shared")
  })
}

test("what a user says inside of a frame stays, and nested frames fold inside out", async () => {
  const session = await lab.session()
  const goal = (title) => ({ name: "stack_frame_push", args: { title, successCriteria: "It works" } })
  const end = (results) => ({ name: "stack_frame_pop", args: { status: "completed", results } })
  const bash = (word) => ({ name: "bash", args: { command: `echo ${word}`, description: "Say" } })
  lab.model.on("Begin the outer", { calls: [goal("Outer")] }, { calls: [bash("outer-work")] }, { text: "One moment" })
  await lab.prompt(session, "Begin the outer")
  lab.model.on(
    "Mind the inner",
    { calls: [goal("Inner")] },
    { calls: [bash("inner-work")] },
    { calls: [end("inner results")] },
    { calls: [end("outer results")] },
    { text: "All done" },
  )
  await lab.prompt(session, "Mind the inner")

  const requests = lab.model.work(session)
  const [innerPopped, outerPopped] = requests.slice(-2)
  assert.ok(!innerPopped.says("inner-work"))
  assert.ok(innerPopped.says("outer-work"))
  assert.ok(innerPopped.says("inner results"))
  assert.ok(!outerPopped.says("outer-work"))
  assert.ok(!outerPopped.says("inner-work"))
  assert.ok(!outerPopped.says("inner results"))
  assert.ok(outerPopped.says("outer results"))
  assert.ok(outerPopped.says("Mind the inner"), "the user's own words")
  assert.deepEqual(lab.model.problems, [])
})
