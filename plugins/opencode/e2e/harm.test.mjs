// A session with nothing to tell: OpenCode sends what it would have sent without us.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { reuse } from "./lab/model.mjs"
import { Lab } from "./lab/opencode.mjs"
import { WIRES } from "./lab/wires.mjs"

let withPlugin
let without
before(async () => {
  withPlugin = await Lab.start()
  without = await Lab.start({ plugin: false })
})
after(() => Promise.all([withPlugin.stop(), without.stop()]))

/** Three turns of four requests each. */
async function run(lab, wire) {
  const session = await lab.session({ title: "A run" })
  for (const turn of ["first", "second", "third"]) {
    const work = ["ls", "cat README.md", "git log --oneline --format=%s"].map((command) => ({
      text: `I run ${command}`,
      calls: [{ name: "bash", args: { command, description: `Run ${command}` } }],
    }))
    lab.model.on(`The ${turn} thing to do (${wire})`, ...work, { text: `The ${turn} is done.` })
    await lab.prompt(session, `The ${turn} thing to do (${wire})`, { wire })
  }
  assert.deepEqual(lab.model.problems, [])
  return lab.model.work(session)
}

/** A request without what differs from run to run, and without our tools. */
function bare(lab, request) {
  const body = structuredClone(request.body)
  body.tools = request.wire.tools(body).filter((tool) => !tool.name.startsWith("stack_"))
  return JSON.stringify(body).replaceAll(lab.root, "ROOT").replaceAll(request.session, "SESSION")
}

for (const wire of Object.keys(WIRES)) {
  test(`nothing but the tools is added, and as much of the prompt is reused: ${wire}`, async () => {
    const [ours, theirs] = [await run(withPlugin, wire), await run(without, wire)]
    assert.equal(ours.length, 12)
    for (const [index, request] of ours.entries()) {
      assert.equal(bare(withPlugin, request), bare(without, theirs[index]), `request ${index}`)
    }
    assert.ok(ours[0].tools.some((tool) => tool.name === "stack_frame_push"), "the tools are there")
    const [with_, bare_] = [reuse(ours), reuse(theirs)]
    assert.ok(with_ > bare_ - 0.01, `${with_} of the prompt was reused, ${bare_} without the plugin`)
  })
}
