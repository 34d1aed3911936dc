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
  assert.match(tree, /✓ .*The first prompt/, "the first prompt is named after its words")
  assert.match(tree, /✗ .*The second prompt/)
  const frames = JSON.stringify(JSON.parse(flame("tree", "--all", "--json")))
  assert.match(frames, /Ended by an error: \w+: .*no credit/)
  assert.match(flame("status", "--json"), /"interruptions":\s*0\b/)
  const brief = flame("brief")
  assert.match(brief, /^- The first prompt: Done with the first$/m)
  assert.doesNotMatch(brief, /Tried without success/, "trouble of the provider is no failed attempt at the work")
  const recalled = flame("recall", `opencode:${session}`)
  assert.equal(recalled.match(/### Ended by an error/g).length, 1, recalled)
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.noise(), [])
})

test("a request that the provider was asked again is one answer, and an empty answer does not count", async () => {
  const session = await lab.session({ title: "Again" })
  const flame = (...words) => lab.flame(words, { FLAME_SESSION: `opencode:${session}` })
  const busy = { refuse: { message: "busy", type: "overloaded" }, status: 503 }
  lab.model.on("The first prompt", busy, { text: "Done after all" })
  await lab.prompt(session, "The first prompt")
  const asked = lab.model.work(session).filter(({ userTexts }) => userTexts.at(-1).includes("The first prompt"))
  assert.equal(asked.length, 2, "the host asked twice")
  lab.model.on("The second prompt", { text: "" })
  await lab.prompt(session, "The second prompt")
  lab.model.on("The third prompt", { text: "Done with the third" })
  await lab.prompt(session, "The third prompt")
  const { children } = JSON.parse(flame("show", `opencode:${session}`, "--json"))
  const ends = children.map(({ id }) => JSON.parse(flame("show", id, "--json"))).map(({ title, status, results }) => [title, status, results])
  assert.deepEqual(ends, [
    ["The first prompt", "completed", "Done after all"],
    ["The second prompt", "failed", "Ended without an answer."],
    ["The third prompt", "in_progress", undefined],
  ])
  const brief = flame("brief")
  assert.match(brief, /^- The first prompt: Done after all$/m)
  assert.match(brief, /^- Tried without success: The second prompt \(because: Ended without an answer\.\)$/m)
  assert.doesNotMatch(brief, /## Remaining\n- The third prompt/, "an answered prompt is not to be done")
  assert.match(flame("status", "--json"), /"interruptions":\s*0\b/)
  assert.deepEqual(lab.model.problems, [])
})

test("a subagent that the provider refused has failed, whatever its call says", async () => {
  const session = await lab.session({ title: "Delegates" })
  const flame = (...words) => lab.flame(words, { FLAME_SESSION: `opencode:${session}` })
  const args = { description: "Look at the logs", prompt: "Look at the refused logs", subagent_type: "general" }
  lab.model.on("Delegate it", { calls: [{ name: "task", args }] }, { text: "It was refused" })
  lab.model.on("Look at the refused logs", { refuse: { message: "no credit", type: "refused" } })
  await lab.prompt(session, "Delegate it")
  const statuses = () => {
    const mine = JSON.parse(flame("status", "--json")).sessions.find((one) => one.session === `opencode:${session}`)
    return mine.subagents.map((one) => one.status)
  }
  for (let left = 100; left > 0 && statuses().join() !== "failed"; left -= 1) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  assert.deepEqual(statuses(), ["failed"])
  assert.match(flame("tree", "--all"), /✗ \w+ +Look at the logs/, "a failure is in the tree, however short it was")
})
