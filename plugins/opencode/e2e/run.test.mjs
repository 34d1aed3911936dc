// `flame run` on the real OpenCode, with a scripted model: a run of twelve frames.

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { describe, it } from "node:test"
import { RunLab, left } from "./lab/run.mjs"
import { EXPECTED, secret, titleOf } from "./lab/shop.mjs"

const SHOP = ["--strategy", "parallel", "--jobs", "2"]

describe("flame run", () => {
  it("drives twelve frames to the expected tree, each with the context of its own branch only", async () => {
    const runs = await RunLab.start()
    try {
      const { code, out, err } = await runs.run(["--plan", runs.plan, ...SHOP]).ended
      assert.equal(code, 0, err + out)
      assert.deepEqual(runs.frames(), EXPECTED)
      assert.deepEqual(runs.lab.model.problems, [])
      const titles = EXPECTED.map(([title]) => title)
      for (const request of runs.lab.model.work()) {
        const own = titleOf(request)
        for (const other of titles.filter((title) => title !== own)) {
          assert.ok(!request.says(secret(other)), `${own} sees the history of ${other}`)
        }
      }
      const events = out.trim().split("\n").map((line) => JSON.parse(line))
      const summary = events.at(-1)
      assert.equal(summary.ending, "completed")
      assert.equal(summary.frames[0].total.turns, summary.frames.reduce((sum, frame) => sum + frame.self.turns, 0))
      // What was said, done and spent is on record, in the frames of the run.
      const folded = runs.lab.flame(["graph", "--format", "folded"]).trim().split("\n")
      const tokens = folded.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0)
      const { input, output, cache_read: cached, cache_write: written = 0 } = summary.frames[0].total
      assert.equal(tokens, input + output + cached + written, JSON.stringify(summary.frames[0].total))
      const states = JSON.parse(runs.lab.flame(["session", "list", "--all", "--json"])).filter(({ host }) => host === "opencode").map(({ state }) => state)
      assert.ok(states.length >= EXPECTED.length - 2 && states.every((state) => state !== "beginning"), states.join())
      assert.deepEqual(runs.frames(), EXPECTED, "prompts of the run are not frames")
      const [title] = titles.filter((one) => JSON.parse(runs.lab.flame(["search", "--json", secret(one)])).hits.length > 0)
      assert.ok(title, "the history can be searched")
      assert.deepEqual(left(runs.lab), [], "a server was left")
      const status = execFileSync("git", ["status", "--porcelain"], { cwd: runs.lab.project, encoding: "utf8" })
      assert.equal(status, "", "the project was touched")
    } finally {
      await runs.stop()
    }
  })
})
