// The options of `flame run`, each with the real OpenCode and a scripted model.

import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, it } from "node:test"
import { done, plan, within } from "./lab/run.mjs"
import { titleOf } from "./lab/shop.mjs"

const answered = (request) => done(`${titleOf(request)} is done`)
const call = (name, args) => ({ calls: [{ name: `stack_frame_${name}`, args }] })
/** True if the newest message of a request is a tool's result: the turn is to end. */
const ends = (request) => request.messages.at(-1).role === "tool"
const order = (runs) => runs.lab.model.work().map(titleOf)
const statuses = (runs) => Object.fromEntries(runs.frames().map(([title, status]) => [title, status]))

describe("flame run and its options", () => {
  it("lets the agent plan, within the limits of levels and frames, which its session hears of", async () => {
    const script = (request) => {
      const newest = request.userTexts.at(-1)
      if (ends(request)) return { text: "They are planned." }
      if (newest.includes("Begin work on: Build")) return call("plan_children", { children: ["a", "b", "c", "d"].map((title) => ({ title })) })
      if (newest.includes("Begin work on: a")) return call("push", { title: "deeper" })
      return answered(request)
    }
    await within({ script }, async (runs) => {
      const { code, out } = await runs.run(["Build it", "--max-frames", "3", "--max-depth", "1"]).ended
      assert.equal(code, 0, out)
      assert.deepEqual(statuses(runs), { "Build it": "completed", a: "completed", b: "completed", c: "completed" })
      const heard = (title) => runs.lab.model.work().filter((request) => titleOf(request) === title).at(-1).userTexts.at(-1)
      assert.match(heard("Build it"), /`d` was not opened/)
      assert.match(heard("a"), /`deeper` was not opened/)
    })
  })

  it("reads plans in Markdown and TOML, with dependencies", async () => {
    await within({ script: answered }, async (runs) => {
      const [list, toml] = ["plan.md", "plan.toml"].map((name) => join(runs.lab.root, name))
      writeFileSync(list, "# Shop\n\n- Docs (after: API)\n- API\n  - Login\n- Schema\n")
      const first = await runs.run(["--plan", list]).ended
      assert.equal(first.code, 0, first.out)
      assert.deepEqual(order(runs), ["Login", "API", "Docs", "Schema", "Shop"])
      writeFileSync(toml, `[[frames]]\ntitle = "Second"\nafter = ["First"]\n[[frames]]\ntitle = "First"\n`)
      const second = await runs.run(["A goal of its own", "--plan", toml]).ended
      assert.equal(second.code, 0, second.out)
      assert.deepEqual(order(runs).slice(5), ["First", "Second", "A goal of its own"])
    })
  })

  it("starts only what is asked for, with the strategy `free`", async () => {
    const script = (request) => {
      const newest = request.userTexts.at(-1)
      if (ends(request)) return { text: "I have said it." }
      if (newest.includes("Begin work on: Goal")) return call("activate", { frameID: "b" })
      if (newest.includes("frames below it are open: a")) return call("invalidate", { frameID: "a", reason: "not needed" })
      return answered(request)
    }
    await within({ script, plan: plan("a", "b") }, async (runs) => {
      const { code, out } = await runs.run(["--plan", runs.plan, "--strategy", "free"]).ended
      assert.equal(code, 0, out)
      assert.deepEqual([...new Set(order(runs))], ["Goal", "b"])
      assert.deepEqual(statuses(runs), { Goal: "completed", a: "invalidated", b: "completed" })
      assert.ok(runs.lab.model.work().some((request) => request.says("frames below it are open: a")), "the goal cannot end over it")
    })
  })

  it("runs as many frames at once as `--jobs` says, and one without it", async () => {
    let [now, most] = [0, 0]
    const script = async (request) => {
      most = Math.max(most, (now += 1))
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      now -= 1
      return answered(request)
    }
    await within({ script, plan: plan("a", "b", "c", "d") }, async (runs) => {
      for (const [words, wanted] of [[[], 1], [["--strategy", "parallel"], 2], [["--strategy", "parallel", "--jobs", "4"], 4], [["--jobs", "3"], 3]]) {
        most = 0
        const { code, out } = await runs.run(["--plan", runs.plan, ...words]).ended
        assert.equal(code, 0, out)
        assert.equal(most, wanted, words.join(" "))
      }
    })
  })

  it("parks at the limit of cost, goes on with more, and uses the model and agent of the command line", async () => {
    const cost = { input: 3, output: 15 }
    await within({ script: answered, plan: plan("a", "b", "c"), cost }, async (runs) => {
      const words = ["--plan", runs.plan, "--model", "mock/gpt-mock", "--agent", "plan"]
      const first = await runs.run([...words, "--max-cost", "0.004"]).ended
      assert.equal(first.code, 1)
      // A turn costs $0.0033: the second is sent, after a warning at 80 %, and the third is not.
      assert.match(first.events.find((one) => one.event === "warning").what, /\$0\.0033 of \$0\.0040 spent/)
      assert.match(first.events.findLast((one) => one.event === "parked").reason, /\$/)
      assert.deepEqual(order(runs), ["a", "b"])
      const request = runs.lab.model.work()[0]
      assert.equal(request.body.model, "gpt-mock")
      assert.ok(/plan mode|READ-ONLY/i.test(request.raw), "the agent")
      const same = await runs.run(["--resume"]).ended
      assert.deepEqual([same.code, same.out], [1, ""])
      assert.match(same.err, /flame run --resume --max-cost USD/)
      const second = await runs.run(["--resume", "--max-cost", "1"]).ended
      assert.equal(second.code, 0, second.out)
      assert.deepEqual(order(runs), ["a", "b", "c", "Goal"])
      const total = second.events.at(-1).frames[0].total
      assert.ok(Math.abs(total.cost - 4 * 0.0033) < 1e-9, String(total.cost))
    })
  })

  it("refuses what makes no sense before anything is recorded", async () => {
    await within({ script: answered, plan: plan("a") }, async (runs) => {
      const refusals = [
        [[], 2, /GOAL/],
        [["Goal", "--strategy", "sideways"], 2, /depth_first, parallel, free/],
        [["Goal", "--jobs", "0"], 2, /from 1 to 64/],
        [["Goal", "--max-cost", "0"], 2, /above 0/],
        [["Goal", "--permissions", "nowhere"], 1, /nowhere/],
        [["Goal", "--model", "gpt"], 2, /provider\/model/],
        [["--plan", "nowhere.md"], 1, /nowhere\.md/],
        [["--resume"], 1, /no unfinished run/],
        [["--resume", "Goal"], 1, /no unfinished run/],
        [["--say", "Hello"], 2, /--to/],
        [["Goal", "--to", "abcdefgh"], 2, /--to/],
      ]
      for (const [words, wanted, says] of refusals) {
        const { code, err } = await runs.run(words).ended
        assert.equal(code, wanted, `${words.join(" ")}: ${err}`)
        assert.match(err, says, words.join(" "))
      }
      assert.deepEqual(runs.frames(), [])
    })
  })
})
