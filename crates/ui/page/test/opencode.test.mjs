// A real OpenCode session seen live on the page, from the push to the folded pop, and its totals beside the host's.

import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { FLAME } from "../../../../plugins/opencode/e2e/lab/install.mjs"
import { Lab } from "../../../../plugins/opencode/e2e/lab/opencode.mjs"
import { browse, open } from "./lab.mjs"

let browser, lab, server
before(async () => {
  browser = await browse()
  const agent = { general: { permission: { task: "allow" } } }
  const cost = { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 }
  lab = await Lab.start({ config: { subagent_depth: 4, agent }, cost })
})
after(async () => {
  server?.kill()
  await browser.close()
  await lab.stop()
})

/** The rows of a page. */
const tree = (page) => page.evaluate(async () => (await fetch("/api/tree", {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ open: [], closed: [], more: {} }),
})).json())

const sum = (amounts) => ({
  tokens: amounts.input + amounts.cacheRead + amounts.cacheWrite + amounts.output, microDollars: amounts.microDollars,
})

/** Sums up the tokens and the cost that the host itself reports. */
async function hosts(sessions) {
  const total = { tokens: 0, microDollars: 0 }
  for (const session of sessions) {
    for (const { info } of await lab.messages(session)) {
      if (info.role !== "assistant") continue
      total.tokens += info.tokens.input + info.tokens.output + info.tokens.cache.read + info.tokens.cache.write
      total.microDollars += Math.round(info.cost * 1e6)
    }
  }
  return total
}

/** Asks until it is so: events are recorded asynchronously, and nothing says when all of them are. */
async function settled(check) {
  for (let left = 200; ; left -= 1) {
    try {
      return await check()
    } catch (error) {
      if (left === 0) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

test("a session is seen from its push to its folded pop, with what it cost and saved", async () => {
  server = spawn(FLAME, ["ui", "--no-open"], { cwd: lab.project, env: lab.environment })
  const address = await new Promise((done) => server.stdout.once("data", (data) => done(String(data).trim())))
  const page = await open(browser, address)

  const session = await lab.session()
  let pass
  const gate = new Promise((resolve) => (pass = resolve))
  lab.model.on(
    "Fix the login",
    { text: "I open a frame.", calls: [{ name: "stack_frame_push", args: { title: "Find the fault", successCriteria: "A failing test" } }], tokens: 2_000 },
    { text: "Looking", calls: [{ name: "bash", args: { command: "echo looked", description: "Look" } }], tokens: 12_000 },
    { text: "Still looking", calls: [{ name: "bash", args: { command: "sleep 2; echo again", description: "Look again" } }], tokens: 30_000 },
    { text: "Found it.", calls: [{ name: "stack_frame_pop", args: { status: "completed", results: "It is in login.rs, line 40" } }], tokens: 31_000 },
    { text: "The login is", calls: [{ name: "bash", args: { command: "echo fixed", description: "Fix" } }], tokens: 3_000 },
    { text: "The login is fixed.", tokens: 3_200 },
  )
  const turn = lab.prompt(session, "Fix the login").finally(pass)
  await page.locator(".row.in_progress", { hasText: "Find the fault" }).waitFor({ timeout: 60_000 })
  await page.locator(".row.in_progress", { hasText: "Find the fault" }).click()
  await page.locator("#detail", { hasText: "A failing test" }).waitFor()
  await turn
  await gate
  const folded = page.locator(".row.completed.folded", { hasText: "Find the fault" })
  await folded.waitFor({ timeout: 30_000 })
  await page.locator("#detail", { hasText: "It is in login.rs, line 40" }).waitFor()
  await page.locator("#totals", { hasText: "saved by folding" }).waitFor()

  // The page's totals are the host's own.
  const wanted = await hosts([session])
  const shown = await settled(async () => {
    const shown = await tree(page)
    assert.deepEqual(sum(shown.total), wanted)
    return shown
  })
  const frame = shown.rows.find((row) => row.title === "Find the fault")
  // The calls that were made in it: not the one that opened it, but the one that finished it.
  assert.equal(sum(frame.total).tokens, 12_020 + 30_020 + 31_020)
  assert.ok(frame.total.saved > 20_000, `${frame.total.saved} saved`)

  await page.locator(".parts button", { hasText: "What the model got" }).click()
  await page.keyboard.press("3")
  await page.locator(".session", { hasText: `opencode:${session}` }).click()
  await page.locator("#detail", { hasText: `Sent to opencode:${session}` }).waitFor()
  await page.keyboard.press("2")
  await page.locator("g.box.folded", { hasText: "Find the fault" }).waitFor()
  assert.deepEqual(page.problems, [])
})

test("totals are the host's own at every level of subagents, live and from its recording", async () => {
  const task = (prompt) => ({ calls: [{ name: "task", args: { description: prompt, prompt, subagent_type: "general" } }] })
  const work = (word, tokens) => ({ calls: [{ name: "bash", args: { command: `echo ${word}`, description: "Work" } }], tokens })
  lab.model.on("Survey the house", { ...task("Survey the cellar"), tokens: 2_100 }, { text: "The house is sound.", tokens: 2_900 })
  lab.model.on("Survey the cellar", work("cellar", 3_300), { ...task("Survey the pipes"), tokens: 3_700 }, { text: "The cellar is dry.", tokens: 4_100 })
  lab.model.on("Survey the pipes", work("pipes", 5_300), { text: "The pipes are old.", tokens: 5_900 })
  const before = new Set((await lab.api("GET", "/session")).map((one) => one.id))
  const top = await lab.session()
  await lab.prompt(top, "Survey the house")
  const made = (await lab.api("GET", "/session")).filter((one) => !before.has(one.id))
  const below = (id) => [id, ...made.filter((one) => one.parentID === id).flatMap((one) => below(one.id))]
  assert.equal(below(top).length, 3, "a subagent and its subagent")

  const levels = await Promise.all(below(top).map((id) => hosts(below(id))))
  /** Compares each level with the host's sum of it and everything below it. */
  const compare = (flame) => settled(() => {
    const rows = JSON.parse(flame(["graph", "--format", "trace"])).traceEvents
    for (const [level, session] of below(top).entries()) {
      const { id } = JSON.parse(flame(["show", "--json", `opencode:${session}`]))
      const row = rows.find((one) => one.ph === "X" && one.args.frame === id)
      assert.ok(row, `level ${level}`)
      assert.deepEqual({ tokens: row.args.tokens, microDollars: row.args.microDollars }, levels[level], `level ${level}`)
    }
  })
  await compare((words) => lab.flame(words))

  // The same session from the host's own database, in a store that has never seen it.
  const state = mkdtempSync(join(tmpdir(), "flame-recorded-"))
  try {
    const flame = (words) => lab.flame(words, { FLAME_STATE_DIR: state })
    flame(["import", "--all", join(lab.environment.XDG_DATA_HOME ?? join(lab.environment.HOME, ".local/share"), "opencode/opencode.db")])
    await compare(flame)
  } finally {
    rmSync(state, { recursive: true, force: true })
  }
})
