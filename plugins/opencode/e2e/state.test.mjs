// The state of the work after a compaction: it is there although the summary forgot it, and a claim of
// the summary that the record contradicts is named.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
before(async () => (lab = await Lab.start()))
after(() => lab.stop())

const bash = (command) => ({ calls: [{ name: "bash", args: { command, description: "Work" } }] })
/** A check that fails as `make` does, without needing make. */
const CHECK = "printf '#!/bin/sh\\necho \"test login ... FAILED\"\\nexit 1\\n' > run-tests.sh && chmod +x run-tests.sh"

/** A session whose last check failed. */
async function session() {
  const id = await lab.session()
  lab.model.on("Make the login work", bash(CHECK), bash("./run-tests.sh"), { text: "I'll look at the cookie next." })
  await lab.prompt(id, "Make the login work. Never touch legacy.rs.")
  return id
}

async function compacted(id, summary) {
  lab.model.summary = summary
  await lab.summarize(id)
  lab.model.on("Go on", { text: "On it." })
  await lab.prompt(id, "Go on")
  return lab.model.work(id).at(-1)
}

for (const [kind, summary] of [
  ["forgets", "## Objective\n- Something was done."],
  ["lies", "## Objective\n- The login works. All tests pass now."],
]) {
  test(`the state is there after a summariser that ${kind}`, async () => {
    const next = await compacted(await session(), summary)
    for (const text of ["Make the login work", "Never touch legacy.rs", "`./run-tests.sh` failed", "test login ... FAILED"]) {
      assert.ok(next.says(text), `${text} is lost\n${next.raw}`)
    }
    const named = next.says("The summary says “All tests pass now.”, but `./run-tests.sh` failed when it last ran")
    assert.equal(named, kind === "lies", next.raw)
    assert.deepEqual(lab.model.problems, [])
  })
}
