// `flame run` on the real OpenCode, with a scripted model: a run of twelve frames.

import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { readFileSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, it } from "node:test"
import { FLAME, OPENCODE } from "./lab/install.mjs"
import { Lab } from "./lab/opencode.mjs"
import { EXPECTED, PLAN, answer, secret, titleOf } from "./lab/shop.mjs"

const SHOP = ["--strategy", "parallel", "--jobs", "2"]

/** A lab in which `flame run` can be started, watched and killed. */
class RunLab {
  static async start({ script = answer, config = {}, env = {}, serve = true } = {}) {
    const self = new RunLab()
    self.lab = await Lab.start({ plugin: false, config, env })
    if (!serve) await self.lab.halt()
    for (let left = 0; left < 3000; left += 1) self.lab.model.on("", script)
    self.plan = join(self.lab.root, "plan.json")
    writeFileSync(self.plan, PLAN)
    return self
  }

  /** Starts `flame run`; `ended` resolves with its exit code and output. */
  run(words, env = {}) {
    const environment = { ...this.lab.environment, FLAME_OPENCODE: OPENCODE, ...env }
    const child = spawn(FLAME, ["run", "--json", ...words], { cwd: this.lab.project, env: environment, stdio: ["ignore", "pipe", "pipe"] })
    const said = { out: "", err: "" }
    child.stdout.on("data", (chunk) => (said.out += chunk))
    child.stderr.on("data", (chunk) => (said.err += chunk))
    child.said = said
    child.ended = new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal, ...said })))
    return child
  }

  /** Title, status and results of every frame. */
  frames() {
    const { lines } = JSON.parse(this.lab.flame(["tree", "--all", "--json"]))
    const frames = lines.filter((line) => line.kind === "frame")
    const found = frames.map(({ id, title, status }) => [title, status, JSON.parse(this.lab.flame(["show", id, "--json"])).results ?? null])
    return found.sort((a, b) => (a[0] < b[0] ? -1 : 1))
  }

  async stop() {
    await this.lab.stop()
  }
}

/** Processes of a lab's OpenCode, by what their environment names. */
function left(lab) {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, "utf8")
      return line.includes("opencode") && line.includes("serve") && readFileSync(`/proc/${name}/environ`, "utf8").includes(lab.root)
    } catch {
      return false
    }
  })
}

describe("flame run", () => {
  it("drives twelve frames to the expected tree, each with the context of its own branch only", async () => {
    const runs = await RunLab.start({ serve: false })
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
      assert.deepEqual(left(runs.lab), [], "a server was left")
      const status = execFileSync("git", ["status", "--porcelain"], { cwd: runs.lab.project, encoding: "utf8" })
      assert.equal(status, "", "the project was touched")
    } finally {
      await runs.stop()
    }
  })
})
