// A prompt that is too large, noticed by OpenCode or by the provider: nothing is lost, nothing goes round in circles, and
// what the user said is answered.

import assert from "node:assert/strict"
import { test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

const call = (name, args) => ({ calls: [{ name, args }] })
const CONTINUE = "Continue if you have next steps"
const TOO_LONG = {
  message: "This model's maximum context length is 200000 tokens. However, your messages resulted in 210000 tokens.",
  type: "invalid_request_error",
  code: "context_length_exceeded",
}

test("a window that is always full: after three compactions nothing is added, and the floor is named", async () => {
  const lab = await Lab.start({ limit: { context: 20_000, output: 2_000 } })
  try {
    const id = await lab.session()
    lab.model.on("Begin", call("stack_frame_push", { title: "A frame in a small window", successCriteria: "Done" }), { text: "Begun." })
    await lab.prompt(id, "Begin")
    const step = { ...call("bash", { command: "true", description: "Work" }), tokens: 19_000 }
    lab.model.on("Go on for long", step)
    lab.model.on(CONTINUE, step, step, step, { text: "That is all.", tokens: 100 })
    await lab.prompt(id, "Go on for long")
    const summaries = lab.model.requests.filter((request) => request.kind === "summary")
    assert.equal(summaries.length, 4)
    const instructed = summaries.map((request) => request.says("Recorded state of this session"))
    assert.deepEqual(instructed, [true, true, false, false], "which summarisers were given the recorded state")
    const shown = JSON.parse(lab.flame(["show", `opencode:${id}`, "--json"])).compactions
    assert.deepEqual(shown.compactions.map((one) => one.restoredTokens > 0), [true, true, false, false])
    const work = lab.model.work(id)
    assert.ok(work.at(-4).says("A frame in a small window"), "after the first compaction the frame is sent")
    assert.ok(!work.at(-1).says("<stack-"), `after the fourth nothing is added\n${work.at(-1).raw}`)
    assert.ok((await lab.logged(/compactions in a row made no room/)).length > 0, "the floor is named")
    // A turn that succeeded ends the streak.
    lab.model.on("Where are we?", { text: "Here.", tokens: 100 })
    await lab.prompt(id, "Where are we?")
    assert.ok(lab.model.work(id).at(-1).says("A frame in a small window"))
    assert.deepEqual(lab.model.problems, [])
  } finally {
    await lab.stop()
  }
})

test("a provider that refuses the prompt as too long: the user's words are answered after the compaction", async () => {
  const lab = await Lab.start()
  try {
    const id = await lab.session()
    lab.model.on("Begin", call("stack_frame_push", { title: "A frame that continues", successCriteria: "Done" }), { text: "Begun." })
    await lab.prompt(id, "Begin")
    lab.model.on("Add the vault key to the list", { refuse: TOO_LONG }, { text: "Added to the list." })
    lab.model.on(CONTINUE, { text: "Added to the list." })
    const answer = await lab.prompt(id, "Add the vault key to the list")
    assert.equal(lab.model.requests.filter((request) => request.kind === "summary").length, 1, "compacted once")
    const next = lab.model.work(id).at(-1)
    assert.ok(next.says("A frame that continues"), "the frame is sent")
    assert.ok(next.says("Add the vault key to the list"), "and what the user said")
    assert.ok(JSON.stringify(answer).includes("Added to the list."), JSON.stringify(answer))
  } finally {
    await lab.stop()
  }
})

test("a crash between the summary and the frame's end: the frame ends when the session is resumed", async () => {
  const lab = await Lab.start({ env: { FLAME_TOOLS: "full" } })
  try {
    const id = await lab.session()
    lab.model.on("Work in a frame", call("stack_frame_push", { title: "The frame that waits", successCriteria: "Found" }), { text: "Begun." })
    await lab.prompt(id, "Work in a frame")
    const [, frame] = /([a-z0-9]{8}) “The frame that waits” is in progress/.exec(lab.model.work(id).at(-1).raw)
    // Popped at the tool, when no host is left that would have a summary made.
    await lab.halt()
    lab.flame(["tool", "stack_frame_pop", JSON.stringify({ status: "completed" }), "--session", `opencode:${id}`])
    assert.equal(JSON.parse(lab.flame(["show", frame, "--json"])).awaitsSummary, true)
    // A host without the plugin makes the summary.
    lab.model.summary = "STATUS: completed\nSUMMARY: Found in the cookie's path."
    const { OPENCODE_PURE } = lab.environment
    lab.environment.OPENCODE_PURE = "1"
    await lab.serve()
    await lab.summarize(id)
    await lab.halt()
    assert.equal(JSON.parse(lab.flame(["show", frame, "--json"])).awaitsSummary, true, "still")
    if (OPENCODE_PURE === undefined) delete lab.environment.OPENCODE_PURE
    await lab.serve()
    lab.model.on("And then?", { text: "Then this." })
    await lab.prompt(id, "And then?")
    const shown = JSON.parse(lab.flame(["show", frame, "--json"]))
    assert.equal(shown.status, "completed")
    assert.match(shown.results, /Found in the cookie's path\./)
    assert.ok(lab.model.work(id).at(-1).says("And then?"), "the user's words were not swallowed")
  } finally {
    await lab.stop()
  }
})
