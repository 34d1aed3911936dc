// A turn that the provider refuses has failed, and its results say why.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
before(async () => (lab = await Lab.start()))
after(() => lab.stop())

test("a prompt that the provider refused has failed, and was not stopped by the user", async () => {
  const session = await lab.session({ title: "Refused" })
  const flame = (...words) => lab.flame(words, { FLAME_SESSION: `opencode:${session}` })
  lab.model.on("The first prompt", { text: "Done with the first" })
  await lab.prompt(session, "The first prompt")
  lab.model.on("The second prompt", { refuse: { message: "no credit", type: "refused" } })
  await lab.prompt(session, "The second prompt")
  lab.model.on("The third prompt", { text: "Done with the third" })
  await lab.prompt(session, "The third prompt")
  const tree = flame("tree")
  assert.match(tree, /✓ .*Refused · no evidence/, "the first prompt has the title of its session")
  assert.match(tree, /✗ .*The second prompt/)
  const frames = JSON.stringify(JSON.parse(flame("tree", "--all", "--json")))
  assert.match(frames, /Ended by an error: \w+: .*no credit/)
  assert.match(flame("status", "--json"), /"interruptions":\s*0\b/)
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.noise(), [])
})
