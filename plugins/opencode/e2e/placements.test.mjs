// `inject.placement = system | message`: everything, in each request, where the seeds put it. Backends
// that refuse a second system message take it too.

import assert from "node:assert/strict"
import { test } from "node:test"
import { Lab } from "./lab/opencode.mjs"
import { WIRES } from "./lab/wires.mjs"

const push = { name: "stack_frame_push", args: { title: "The frame", successCriteria: "It is told" } }
const bash = { name: "bash", args: { command: "echo work", description: "Work" } }

for (const placement of ["system", "message"]) {
  test(`${placement}: each request says where the work stands, on every kind of API`, async () => {
    const lab = await Lab.start({ env: { FLAME_INJECT_PLACEMENT: placement } })
    try {
      for (const wire of Object.keys(WIRES)) {
        const session = await lab.session({ title: wire })
        lab.model.on(`Begin (${wire})`, { calls: [push] }, { calls: [bash] }, { text: "Done" })
        await lab.prompt(session, `Begin (${wire})`, { wire })
        const [before, ...behind] = lab.model.work(session)
        assert.ok(!before.says("<stack-context"), "nothing to tell yet")
        assert.equal(behind.length, 2)
        for (const request of behind) {
          const told = placement === "system" ? request.system.join("\n") : request.userTexts.join("\n")
          assert.match(told, /<stack-context[\s\S]*The frame/, wire)
          const elsewhere = placement === "system" ? request.userTexts : request.system
          assert.ok(!elsewhere.join("\n").includes("<stack-context"), wire)
        }
        const kept = JSON.stringify(await lab.messages(session))
        assert.ok(!kept.includes("<stack-context"), "nothing of it stays in the session")
      }
      assert.deepEqual(lab.model.problems, [])
      assert.deepEqual(lab.noise(), [])
    } finally {
      await lab.stop()
    }
  })
}
