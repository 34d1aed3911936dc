// A summary is made of what is folded, without what Flamestack added; titles are left alone.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
before(async () => (lab = await Lab.start()))
after(() => lab.stop())

const call = (name, args) => ({ calls: [{ name, args }] })

test("the summariser reads folded history and no updates; afterwards the work continues", async () => {
  const session = await lab.session()
  lab.model.on(
    "Begin here",
    call("stack_frame_push", { title: "The outer frame", successCriteria: "All of it" }),
    call("stack_frame_push", { title: "The inner frame", successCriteria: "A part" }),
    call("bash", { command: "echo raw-history", description: "Work" }),
    call("stack_frame_pop", { status: "completed", results: "the inner results" }),
    { text: "The part is done" },
  )
  await lab.prompt(session, "Begin here")
  const [, outer] = /([a-z0-9]{8}) “The outer frame” is in progress/.exec(lab.model.work(session).at(-1).raw)
  lab.flame(["note", "directive", "Never touch the vault", "--frame", outer])
  lab.model.on("And then", { text: "Then this" })
  await lab.prompt(session, "And then")
  assert.ok(lab.model.work(session).at(-1).says("<stack-update"), "an update was sent")

  await lab.summarize(session)
  const summary = lab.model.requests.findLast((request) => request.kind === "summary")
  const conversation = summary.userTexts.join("\n")
  assert.ok(!conversation.includes("raw-history"), "folded")
  assert.ok(conversation.includes("the inner results"), "with its results")
  assert.ok(!conversation.includes("<stack-update"), "without what was added")
  assert.ok(!summary.system.join("\n").includes("<stack-context"), "and nothing is put into its system prompt")

  lab.model.on("After the summary", { text: "Still here" })
  await lab.prompt(session, "After the summary")
  const next = lab.model.work(session).at(-1)
  assert.ok(next.says("the summary of the scripted model"))
  assert.ok(next.system.join("\n").includes("The outer frame"), "the header names the active frame")
  assert.ok(next.says("Never touch the vault"), "and what the user wants")

  const titles = lab.model.requests.filter((request) => request.kind === "title")
  assert.ok(titles.length > 0)
  for (const title of titles) assert.ok(!title.says("<stack-"), "titles are made of what the user wrote")
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.noise(), [])
})
