// The crash matrix of `flame run` in the real OpenCode. Here a handful of deaths; `cargo xtask crashes` has all.

import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { CrashRun, table } from "./lab/matrix.mjs"

/** Number of runs in which processes die at every step; without it, one run with some deaths. */
const runs = Number(process.argv[2] ?? 0)
const whole = (_, first) => ({ first, own: first % 2 === 1 })
const plans = runs > 0 ? Array.from({ length: runs }, whole) : [{ first: 0, stride: 13, most: 4 }, { first: 1, stride: 19, most: 2, own: true }]

describe("flame run, killed", () => {
  it("sends nothing twice, loses nothing and ends in the same tree, whatever dies", async () => {
    const played = []
    for (const plan of plans) {
      const run = await new CrashRun(plan).play()
      played.push(run)
      console.log(table(played))
    }
    assert.ok(played.every((run) => run.deaths.length >= 2))
    for (const { faults } of played) assert.deepEqual(Object.values(faults), [0, 0, 0, 0])
  })
})
