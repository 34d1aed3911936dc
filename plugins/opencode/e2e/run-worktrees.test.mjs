// `flame run --worktrees` with the real OpenCode, a scripted model and the real git.

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, it } from "node:test"
import { bash, done, gate, plan, toolResult, within } from "./lab/run.mjs"
import { titleOf } from "./lab/shop.mjs"

const AS_ADA = "git -c user.name=Ada -c user.email=ada@example.org"

function git(runs, ...words) {
  return execFileSync("git", words, { cwd: runs.lab.project, env: runs.lab.environment, encoding: "utf8" })
}

/** The branch that the frame of a request is to merge. */
const branchOf = (request) => /`git merge (flame\/\w+)`/.exec(request.userTexts.at(-1))[1]

const OPTIONS = ["--strategy", "parallel", "--jobs", "2", "--worktrees"]

describe("flame run --worktrees", () => {
  it("runs two frames at once in worktrees, has conflicts resolved by a frame, and cleans up", async () => {
    const both = gate()
    const begun = new Set()
    const script = async (request) => {
      const title = titleOf(request)
      const result = toolResult(request)
      if (title === "Goal") return done("the page is there")
      if (title.startsWith("Merge the work of: ")) {
        const merge = `${AS_ADA} merge ${branchOf(request)}; echo left and right > page.txt && git add page.txt && ${AS_ADA} commit -qm Both`
        return result === undefined ? bash(merge) : done("both are in the page")
      }
      if (result !== undefined) return done(`${title}: ${result.trim()}`)
      // Neither goes on before the other has begun.
      begun.add(title)
      if (begun.size === 2) both.open()
      await both.opened
      return bash(`pwd && echo ${title} > page.txt && echo ${title} > ${title}.txt`)
    }
    await within({ script, plan: plan("Left", "Right") }, async (runs) => {
      const { code, out, events } = await runs.run(["--plan", runs.plan, ...OPTIONS]).ended
      assert.equal(code, 0, out)
      const frames = Object.fromEntries(runs.frames().map(([title, status, results]) => [title, [status, results]]))
      const folders = ["Left", "Right"].map((title) => /^\w+: (.*)$/.exec(frames[title][1])[1])
      assert.notEqual(folders[0], folders[1])
      const merged = Object.keys(frames).filter((title) => title.startsWith("Merge the work of: "))
      assert.equal(merged.length, 1, JSON.stringify(frames))
      assert.deepEqual(frames[merged[0]], ["completed", "both are in the page"])
      assert.ok(events.some((one) => one.event === "opened" && one.titles[0] === merged[0]))
      // The parent hears of it when everything is merged, and of the conflict's own frame, too.
      const heard = runs.lab.model.work().find((request) => titleOf(request) === "Goal").userTexts.at(-1)
      for (const title of Object.keys(frames).filter((title) => title !== "Goal")) assert.ok(heard.includes(title), title)
      const read = (name) => readFileSync(join(runs.lab.project, name), "utf8")
      assert.deepEqual(["page.txt", "Left.txt", "Right.txt"].map(read), ["left and right\n", "Left\n", "Right\n"])
      assert.equal(git(runs, "status", "--porcelain"), "")
      assert.equal(git(runs, "branch", "--list").trim(), "* main")
      assert.equal(git(runs, "worktree", "list").trim().split("\n").length, 1)
      for (const folder of folders) assert.ok(!existsSync(folder), folder)
      assert.ok(events.at(-1).frames.every((one) => one.unmerged === null))
    })
  })

  it("keeps the worktree of invalidated work, and removes one in which nothing was done", async () => {
    const wrote = gate()
    const script = async (request) => {
      const title = titleOf(request)
      if (title === "Goal") return done("one of them is there")
      if (title === "Idle") return { text: "FRAME_BLOCKED: nothing to do" }
      if (toolResult(request) === undefined) return bash(`echo ${title} > ${title}.txt`)
      if (title !== "Doomed") return done(`${title} is there`)
      wrote.open()
      return { text: "On it.", hang: true }
    }
    await within({ script, plan: plan("Doomed", "Good", "Idle") }, async (runs) => {
      const driver = runs.run(["--plan", runs.plan, ...OPTIONS])
      const { frame } = await driver.event((one) => one.event === "prompted" && one.title === "Doomed")
      const idle = (await driver.event((one) => one.event === "frame" && one.title === "Idle" && one.status === "blocked")).frame
      await wrote.opened
      runs.lab.flame(["invalidate", idle, "--reason", "not needed"])
      runs.lab.flame(["invalidate", frame, "--reason", "not wanted"])
      const { code, out, events } = await driver.ended
      assert.equal(code, 0, out)
      const { unmerged } = events.at(-1).frames.find((one) => one.frame === frame)
      assert.equal(readFileSync(join(unmerged, "Doomed.txt"), "utf8"), "Doomed\n")
      assert.ok(!existsSync(join(runs.lab.project, "Doomed.txt")))
      assert.equal(readFileSync(join(runs.lab.project, "Good.txt"), "utf8"), "Good\n")
      assert.deepEqual(git(runs, "branch", "--list", "flame/*").trim(), `+ flame/${frame}`)
      assert.equal(events.at(-1).frames.find((one) => one.frame === idle).unmerged, null)
    })
  })

  it("never touches changes of the user, and merges after them when the run is resumed", async () => {
    const script = (request) => {
      const title = titleOf(request)
      if (title === "Goal" || toolResult(request) !== undefined) return done(`${title} is done`)
      return bash("echo theirs > README.md")
    }
    await within({ script, plan: plan("Work") }, async (runs) => {
      const readme = join(runs.lab.project, "README.md")
      writeFileSync(readme, "mine\n")
      const first = await runs.run(["--plan", runs.plan, ...OPTIONS]).ended
      assert.equal(first.code, 1, first.out)
      assert.match(first.events.find((one) => one.event === "note").text, /1 change in the project/)
      assert.match(first.events.find((one) => one.event === "parked").reason, /README\.md/)
      assert.equal(first.events.at(-1).ending, "parked")
      assert.equal(readFileSync(readme, "utf8"), "mine\n")
      git(runs, "checkout", "--quiet", "README.md")
      const second = await runs.run(["--resume"]).ended
      assert.equal(second.code, 0, second.out)
      assert.equal(readFileSync(readme, "utf8"), "theirs\n")
      assert.equal(git(runs, "branch", "--list").trim(), "* main")
      assert.equal(runs.lab.model.work().filter((request) => titleOf(request) === "Work").length, 2)
    })
  })

  it("leaves work whose conflicts are never resolved to the user, and does not call that completed", async () => {
    const script = (request) => {
      const title = titleOf(request)
      if (title === "Goal" || title.startsWith("Merge") || toolResult(request) !== undefined) return done(`${title} is done`)
      return bash(`echo ${title} > README.md`)
    }
    await within({ script, plan: plan("Left", "Right") }, async (runs) => {
      const first = await runs.run(["--plan", runs.plan, ...OPTIONS]).ended
      assert.equal(first.code, 1, first.out)
      assert.equal(first.events.at(-1).ending, "blocked")
      const left = first.events.at(-1).frames.find((one) => one.unmerged)
      assert.match(left.reason, /conflicts in README\.md/)
      assert.ok(existsSync(left.unmerged))
      git(runs, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "merge", "--quiet", "-X", "ours", "--no-edit", `flame/${left.frame}`)
      const second = await runs.run(["--resume"]).ended
      assert.equal(second.code, 0, second.out)
      assert.ok(!existsSync(left.unmerged))
      assert.equal(git(runs, "branch", "--list").trim(), "* main")
    })
  })
})
