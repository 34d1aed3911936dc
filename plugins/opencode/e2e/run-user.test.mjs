// `flame run` as its user meets it: permissions, messages, budgets, limits, pauses and settings, with the real
// OpenCode and a scripted model.

import assert from "node:assert/strict"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, it } from "node:test"
import { bash, done, gate, plan, toolResult, within } from "./lab/run.mjs"
import { titleOf } from "./lab/shop.mjs"

describe("flame run and its user", () => {
  it("demand 09: answers permissions by the policy, and denies where no user can be asked", async () => {
    const script = (request) => {
      const result = toolResult(request)
      return result === undefined ? bash("echo yes > made.txt") : done(`the tool said: ${result.slice(0, 60)}`)
    }
    const config = { permission: { "*": "allow", bash: "ask" } }
    await within({ script, config, plan: plan("Work") }, async (runs) => {
      const made = join(runs.lab.project, "made.txt")
      for (const policy of ["ask", "deny"]) {
        const { code, events } = await runs.run(["Goal", "--permissions", policy]).ended
        assert.equal(code, 0)
        const asked = events.find((one) => one.event === "asked")
        assert.match(asked.answer, /denied/, policy)
        assert.match(asked.what, /bash: echo yes/)
        assert.ok(!existsSync(made), policy)
      }
      const allowed = join(runs.lab.root, "allowed")
      writeFileSync(allowed, "# a comment\nbash: echo yes*\n")
      const { code } = await runs.run(["Goal", "--permissions", allowed]).ended
      assert.equal(code, 0)
      assert.equal(readFileSync(made, "utf8"), "yes\n")
    })
  })

  it("demand 12: passes a message of the user to a running frame", async () => {
    const said = gate()
    const script = async (request) => {
      if (request.says("Use port 8080")) return done("it listens on 8080")
      await said.opened
      return { text: "I am at it." }
    }
    await within({ script, plan: plan("Work") }, async (runs) => {
      const driver = runs.run(["Goal"])
      const { frame } = await driver.event((one) => one.event === "prompted")
      runs.lab.flame(["run", "--say", "Use port 8080", "--to", frame])
      // The host has stored the message before the model goes on.
      const isSaid = (record) => record.record === "outcome" && runs.journal().some((one) => one.act?.act === "say" && one.step === record.step)
      for (let tries = 0; !runs.journal().some(isSaid) && tries < 600; tries += 1) await new Promise((resolve) => setTimeout(resolve, 50))
      said.open()
      const { code, out } = await driver.ended
      assert.equal(code, 0, out)
      assert.equal(runs.frames()[0][2], "it listens on 8080")
    })
  })

  it("demand 04: warns at 80 %, parks at 100 %, per subtree, and goes on with more", async () => {
    const frames = ["a", "b", "c", { title: "d", max_turns: 1, children: [{ title: "e" }, { title: "f" }] }, "g"]
    await within({ script: (request) => done(`${titleOf(request)} is done`), plan: plan(...frames) }, async (runs) => {
      const first = await runs.run(["--plan", runs.plan, "--max-tokens", "3500"]).ended
      assert.equal(first.code, 1)
      const kinds = first.events.map((one) => one.event)
      assert.ok(kinds.includes("warning") && kinds.indexOf("warning") < kinds.lastIndexOf("parked"), first.out)
      assert.match(first.events.findLast((one) => one.event === "parked").reason, /tokens/)
      assert.equal(first.events.at(-1).ending, "parked")
      const sent = runs.lab.model.work().length
      assert.equal(sent, 4, "a turn costs 1,020 tokens")
      // The subtree of d has one turn, so that f waits; what does not need it goes on.
      const second = await runs.run(["--resume", "--max-tokens", "100000"]).ended
      assert.equal(second.code, 1)
      const status = Object.fromEntries(runs.frames().map(([title, status]) => [title, status]))
      assert.deepEqual([status.e, status.f, status.g], ["completed", "planned", "completed"])
      assert.match(second.events.find((one) => one.event === "parked").reason, /turns/)
      assert.match(second.events.at(-1).frames.find((one) => one.title === "d").reason, /turns/)
      const titles = runs.lab.model.work().map(titleOf)
      assert.equal(new Set(titles).size, titles.length, "a frame was executed again")
    })
  })

  it("demand 02: parks the run when the provider refuses, with the time of the reset", async () => {
    let refusal = { refuse: { message: "Invalid key" }, status: 401 }
    const script = (request) => (titleOf(request) === "b" && refusal) || done("done")
    await within({ script, plan: plan("a", "b", "c") }, async (runs) => {
      const first = await runs.run(["--plan", runs.plan]).ended
      assert.equal(first.code, 1)
      assert.match(first.events.findLast((one) => one.event === "parked").reason, /Invalid key/)
      assert.equal(first.events.at(-1).ending, "parked")
      assert.ok(!runs.lab.model.work().some((request) => titleOf(request) === "c"))
      refusal = { refuse: { message: "usage limit reached" }, status: 429, headers: { "retry-after-ms": "", "retry-after": "7200" } }
      const second = await runs.run(["--resume"]).ended
      assert.equal(second.code, 1)
      const { reason, until } = second.events.findLast((one) => one.event === "parked")
      assert.match(reason, /usage limit/)
      const minutes = (until - Date.now()) / 60_000
      assert.ok(minutes > 100 && minutes < 121, String(minutes))
      assert.ok(!runs.lab.model.work().some((request) => titleOf(request) === "c"))
      refusal = undefined
      const third = await runs.run(["--resume"]).ended
      assert.equal(third.code, 0, third.out)
      assert.equal(runs.lab.model.work().filter((request) => titleOf(request) === "a").length, 1)
    })
  })

  it("ignores signals in tool output, code and quotes", async () => {
    const words = [
      "The file says what it says.",
      "```\nFRAME_COMPLETE: from code\nPUSH_FRAME: from code\n```",
      "> FRAME_BLOCKED: from a quote",
      "The page said FRAME_COMPLETE: in the middle of a line.",
      "    FRAME_COMPLETE: from indented code",
    ].join("\n\n")
    const script = (request) => {
      if (titleOf(request) !== "Read") return done("all is read")
      return toolResult(request) === undefined ? bash("printf 'FRAME_COMPLETE: from a tool\\nPUSH_FRAME: from a tool\\n'") : { text: words }
    }
    await within({ script, plan: plan("Read") }, async (runs) => {
      const { code } = await runs.run(["--plan", runs.plan]).ended
      assert.equal(code, 0)
      assert.deepEqual(runs.frames(), [["Goal", "completed", "all is read"], ["Read", "completed", words]])
    })
  })

  it("pauses at the first Ctrl-C, stops at the second, and loses nothing by either", async () => {
    const gates = { a: gate(), b: gate() }
    const script = async (request) => {
      await gates[titleOf(request)]?.opened
      return done(`${titleOf(request)} is done`)
    }
    await within({ script, plan: plan("a", "b") }, async (runs) => {
      const working = (title) => (one) => one.event === "prompted" && one.title === title
      const first = runs.run(["--plan", runs.plan])
      await first.event(working("a"))
      first.kill("SIGINT")
      await first.event((one) => one.event === "note" && one.text.startsWith("pausing"))
      gates.a.open()
      const paused = await first.ended
      assert.deepEqual([paused.code, paused.events.at(-1).ending], [1, "paused"])
      assert.deepEqual(runs.frames().map(([, status]) => status), ["in_progress", "completed", "planned"])
      const second = runs.run(["--resume"])
      await second.event(working("b"))
      second.kill("SIGINT")
      await second.event((one) => one.event === "note")
      second.kill("SIGINT")
      const stopped = await second.ended
      assert.deepEqual([stopped.code, stopped.events.at(-1).ending], [1, "paused"])
      const third = runs.run(["--resume"])
      await third.event(working("b"))
      gates.b.open()
      assert.equal((await third.ended).code, 0)
      assert.deepEqual(runs.frames().map(([, status]) => status), ["completed", "completed", "completed"])
      assert.equal(runs.lab.model.work().filter((request) => titleOf(request) === "a").length, 1)
    })
  })

  it("gives each frame its model, agent and tools, and the context as a message or in the system prompt", async () => {
    const frames = [{ title: "a", model: "mock/gpt-mock", without_tools: ["bash"], criteria: "a is fine" }, { title: "b", agent: "plan" }]
    const script = (request) => done(`${titleOf(request)} is done`)
    await within({ script, plan: plan(...frames) }, async (runs) => {
      assert.equal((await runs.run(["--plan", runs.plan]).ended).code, 0)
      const [a, b, goal] = ["a", "b", "Goal"].map((title) => runs.lab.model.work().find((request) => titleOf(request) === title))
      assert.deepEqual([a.body.model, b.body.model], ["gpt-mock", "mock-1"])
      const has = (request, name) => request.tools.some((tool) => tool.name === name)
      assert.deepEqual([has(a, "bash"), has(b, "bash")], [false, true])
      assert.ok(has(a, "stack_frame_pop"))
      assert.ok(a.userTexts.at(-1).includes("Done when: a is fine"))
      assert.match(a.userTexts[0], /The state of the work/)
      assert.ok(b.says("plan mode") || b.says("Plan mode") || b.says("READ-ONLY"), "the agent of b")
      assert.ok(goal.userTexts.at(-1).includes("b is done"))
      runs.lab.model.requests.length = 0
      assert.equal((await runs.run(["--plan", runs.plan], { env: { FLAME_RUN_CONTEXT: "system" } }).ended).code, 0)
      const system = runs.lab.model.work().find((request) => titleOf(request) === "b")
      assert.equal(system.userTexts.length, 1)
      assert.ok(system.system.join().includes("a is done"), system.system.join())
    })
  })
})
