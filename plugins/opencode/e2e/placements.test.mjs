// `inject.placement`: a header that stays (`auto`), or everything in each request (`system`, `message`), on
// every kind of API. The scripted model refuses a second system message, as strict backends do.

import assert from "node:assert/strict"
import { test } from "node:test"
import { Lab } from "./lab/opencode.mjs"
import { WIRES } from "./lab/wires.mjs"

const push = { name: "stack_frame_push", args: { title: "The frame", successCriteria: "It is sent" } }
const bash = { name: "bash", args: { command: "echo work", description: "Work" } }

test("auto: one header, byte for byte the store's, in every request until the next compaction", async () => {
  const lab = await Lab.start()
  try {
    for (const wire of Object.keys(WIRES)) {
      const session = await lab.session({ title: wire })
      lab.model.on(`Begin (${wire})`, { calls: [push] }, { text: "Begun" })
      await lab.prompt(session, `Begin (${wire})`, { wire })
      const [first] = lab.model.work(session)
      await lab.summarize(session, wire)
      const since = lab.model.work(session).length
      lab.model.on(`Go on (${wire})`, { calls: [bash] }, { text: "Done" })
      await lab.prompt(session, `Go on (${wire})`, { wire })
      lab.model.on(`And on (${wire})`, { text: "Done" })
      await lab.prompt(session, `And on (${wire})`, { wire })
      const behind = lab.model.work(session).slice(since)
      const { header } = JSON.parse(lab.flame(["context", "--as-sent", "--json", "--session", `opencode:${session}`]))
      assert.match(header.text, /^<stack-context[\s\S]*The frame/)
      const [host] = first.system
      // Only who takes blocks gets one of its own.
      const expected = wire === "chat" ? [`${host}\n${header.text}`] : [host, header.text]
      assert.equal(behind.length, 3)
      for (const request of behind) assert.deepEqual(request.system, expected, wire)
    }
    assert.deepEqual(lab.model.problems, [])
    assert.deepEqual(lab.noise(), [])
  } finally {
    await lab.stop()
  }
})

for (const placement of ["system", "message"]) {
  test(`${placement}: each request names the active frame, on every kind of API`, async () => {
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
          const sent = placement === "system" ? request.system.join("\n") : request.userTexts.join("\n")
          assert.match(sent, /<stack-context[\s\S]*The frame/, wire)
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
