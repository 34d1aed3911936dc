// A turn that the user stops has failed, however often and in whatever order OpenCode says so.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

/** The prompts that a brief lists as done and as tried without success. */
const endings = ({ sections }) => {
  const prompts = (heading) => {
    const lines = sections.find((section) => section.heading === heading)?.lines ?? []
    return lines.flatMap(({ text }) => /The \w+ prompt/.exec(text) ?? [])
  }
  return { done: prompts("Completed"), tried: prompts("Blockers / Risks") }
}

let lab
before(async () => (lab = await Lab.start()))
after(() => lab.stop())

/** Stops a session and waits until OpenCode has said all that it says of it: an idle session, twice. */
async function stop(session) {
  const ofSession = (event) => event.properties.sessionID === session || event.properties.info?.sessionID === session
  const aborted = (event) => event.properties.info?.error?.name === "MessageAbortedError"
  const message = lab.next((event) => event.type === "message.updated" && ofSession(event) && aborted(event))
  await lab.api("POST", `/session/${session}/abort`)
  await message
}

test("a prompt that the user stopped has failed, and the stop counts once", async () => {
  const session = await lab.session({ title: "Stopped" })
  const flame = (...words) => lab.flame(words, { FLAME_SESSION: `opencode:${session}` })
  lab.model.on("The first prompt", { text: "Done with the first" })
  await lab.prompt(session, "The first prompt")
  lab.model.on("The second prompt", { text: "I think", hang: true })
  const thinking = lab.model.waits()
  await lab.begin(session, "The second prompt")
  await thinking
  await stop(session)
  lab.model.on("The third prompt", { text: "Done with the third" })
  await lab.prompt(session, "The third prompt")
  const tree = flame("tree")
  assert.match(tree, /✓ .*The first prompt/, "the first prompt is named after its words")
  assert.match(tree, /✗ .*The second prompt/)
  const brief = JSON.parse(flame("brief", "--json"))
  assert.deepEqual(endings(brief), { done: ["The first prompt"], tried: ["The second prompt"] })
  assert.match(flame("status", "--json"), /"interruptions":\s*1\b/)
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.noise(), [])
})
