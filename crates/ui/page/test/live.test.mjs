// The stream of updates, and a page that loses it: what the server sends, byte for byte, and what stays in place.

import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { promisify } from "node:util"
import { FLAME, Lab, browse, open } from "./lab.mjs"

let browser
before(async () => (browser = await browse()))
after(() => browser.close())

/** Runs a test on a fresh project. */
function story(name, work) {
  test(name, async () => {
    const lab = new Lab()
    try {
      await work(lab)
    } finally {
      if (lab.server) lab.server.kill("SIGCONT")
      await lab.stop()
    }
  })
}

/** Exchanges the token of the address for a session. */
async function enter(lab) {
  const { origin, hash } = new URL(await lab.serve())
  const answer = await fetch(`${origin}/enter`, {
    method: "POST", headers: { origin, "content-type": "application/json" }, body: JSON.stringify({ token: hash.slice(1) }),
  })
  return answer.headers.get("set-cookie").split(";")[0]
}

/** Listens to the stream. `next` waits for an event of a kind. */
function listen(lab, cookie, seen) {
  const events = []
  /** All of them, also those that were waited for. */
  const heard = []
  const waiting = []
  const headers = { cookie, ...(seen === undefined ? {} : { "last-event-id": String(seen) }) }
  const asked = request(`${lab.origin}/events`, { headers }, (answer) => {
    let text = ""
    answer.on("data", (data) => {
      text += data
      const blocks = text.split("\n\n")
      text = blocks.pop()
      for (const block of blocks) {
        const field = (name) => block.split("\n").find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1).trim()
        const event = { kind: field("event"), id: Number(field("id")), data: JSON.parse(field("data") ?? "null"), block }
        events.push(event)
        heard.push(event)
        for (const one of waiting.splice(0)) one()
      }
    })
    answer.on("error", () => {})
  })
  asked.on("error", () => {})
  asked.end()
  const next = async (wanted) => {
    for (;;) {
      const found = events.findIndex(wanted)
      if (found >= 0) return events.splice(0, found + 1).at(-1)
      await new Promise((done) => waiting.push(done))
    }
  }
  return { heard, next, close: () => asked.destroy() }
}

story("an event's id is the position in the journal, and a page that connects again says what it has seen", async (lab) => {
  lab.push("Build the shop")
  const cookie = await enter(lab)
  const first = listen(lab, cookie)
  const hello = await first.next((event) => event.data.ready)
  assert.equal(hello.id, hello.data.position)
  assert.ok(hello.id > 0)
  lab.push("Cart")
  const change = await first.next((event) => event.kind === "change" && event.id > hello.id)
  assert.equal(change.id, change.data.position)
  assert.equal(change.data.epoch, hello.data.epoch)
  first.close()

  const current = listen(lab, cookie, change.id)
  assert.equal((await current.next((event) => event.kind === "hello")).data.missed, false)
  current.close()
  const behind = listen(lab, cookie, hello.id)
  const answer = await behind.next((event) => event.kind === "hello")
  assert.equal(answer.data.missed, true)
  assert.equal(answer.id, change.id)
  behind.close()
})

story("a new server shows the tree of a large project before its amounts, and no amount that is not counted", async (lab) => {
  lab.forest(5_000)
  const cookie = await enter(lab)
  const headers = { cookie, origin: lab.origin, "content-type": "application/json" }
  const branches = JSON.stringify({ open: [], closed: [], more: {} })
  let rows
  do {
    rows = await (await fetch(`${lab.origin}/api/tree`, { method: "POST", headers, body: branches })).json()
  } while (!rows.frames)
  const graph = await (await fetch(`${lab.origin}/api/graph?by=tokens`, { headers })).json()
  assert.equal(rows.frames, 5_000)
  assert.ok(rows.isCounted || rows.total.output === 0)
  lab.flame("graph", "--format", "folded", "-o", join(lab.root, "work.folded"))
  const lines = readFileSync(join(lab.root, "work.folded"), "utf8").trim().split("\n")
  const total = lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0)
  assert.equal(graph.total, total, "the graph waits for the whole journal")
})

story("amounts that are still being counted are shown as such", async (lab) => {
  lab.record("s1", [["Build the cart", 1_000, 9_000]])
  let isCounted = false
  const prepare = (page) => page.route("**/api/tree", async (route) => {
    const answer = await route.fetch()
    await route.fulfill({ response: answer, json: { ...(await answer.json()), isCounted } })
  })
  const page = await open(browser, await lab.serve(), { prepare })
  await page.locator("#totals", { hasText: "tokens…" }).waitFor()
  assert.match(await page.locator("#totals").textContent(), /at work…/)
  isCounted = true
  lab.push("Later")
  await page.locator(".row .title", { hasText: "Later" }).waitFor()
  assert.doesNotMatch(await page.locator("#totals").textContent(), /…/)
  assert.deepEqual(page.problems, [])
})

/** Returns the fields of each interface of the page's types, with a `?` where they may be absent. */
function interfaces() {
  const text = readFileSync(new URL("../types.d.ts", import.meta.url), "utf8")
  return new Map(Array.from(text.matchAll(/export interface (\w+) \{([\s\S]*?)\n?\}\n/g), ([, name, body]) => {
    let flat = body
    while (/\{[^{}]*\}/.test(flat)) flat = flat.replace(/\{[^{}]*\}/g, "")
    return [name, Array.from(flat.matchAll(/(\w+\??):/g), ([, field]) => field)]
  }))
}

story("the types of the page name exactly what the server sends", async (lab) => {
  lab.record("s1", [["Build the cart", 1_000, 9_000]])
  lab.push("Build the shop", "--criteria", "It sells")
  lab.flame("note", "decision", "Sell books")
  const cookie = await enter(lab)
  const stream = listen(lab, cookie)
  const news = await stream.next((event) => event.data.ready)
  stream.close()
  const ask = async (path, body) => (await fetch(lab.origin + path, {
    headers: { cookie, origin: lab.origin, "content-type": "application/json" }, ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
  })).json()
  const rows = await ask("/api/tree", { open: [], closed: [], more: {} })
  const frame = await ask(`/api/frame?id=${rows.rows.find((row) => row.title === "Build the shop").id}`)
  const sent = await ask(`/api/context?frame=${frame.id}`)
  const sessions = await ask("/api/sessions")
  const graph = await ask("/api/graph?by=tokens")
  const chart = await ask("/api/chart?by=tokens&order=time")
  const samples = {
    Rows: [rows], Row: rows.rows, Amounts: [rows.total], Frame: [frame], Note: frame.decisions, Sent: [sent], Section: sent.now, Sessions: [sessions],
    Session: sessions.sessions, Graph: [graph], Chart: [chart], Box: [...graph.boxes, ...chart.lanes.flatMap((lane) => lane.boxes)],
    Found: [await ask("/api/search?q=shop")], News: [news.data],
  }
  for (const [name, fields] of interfaces()) {
    // No compaction is recorded here.
    if (name === "Compaction") continue
    assert.ok(samples[name].length, name)
    for (const sample of samples[name]) {
      const wanted = fields.filter((field) => !field.endsWith("?") || field.slice(0, -1) in sample).map((field) => field.replace("?", ""))
      assert.deepEqual(Object.keys(sample).sort(), wanted.sort(), name)
    }
  }
})

story("many writes are few updates: at most four in a second", async (lab) => {
  lab.push("Build the shop")
  const cookie = await enter(lab)
  const stream = listen(lab, cookie)
  const hello = await stream.next((event) => event.data.ready)
  const begun = performance.now()
  const run = promisify(execFile)
  for (let n = 0; n < 30; n++) await run(FLAME, ["note", `Note ${n}`], { cwd: lab.project, env: lab.env })
  await stream.next((event) => event.kind === "change" && event.id >= hello.id + 30)
  const seconds = (performance.now() - begun) / 1000
  const ids = stream.heard.filter((event) => event.kind === "change").map((event) => event.id)
  // A slow machine makes fewer, never more.
  assert.ok(ids.length <= seconds * 4 + 1, `${ids.length} updates in ${seconds.toFixed(1)} s`)
  assert.ok(ids.length < 30, `${ids.length} updates of 30 writes`)
  assert.deepEqual(ids, ids.toSorted((a, b) => a - b))
  stream.close()
})

story("a sign of life is an event with data, not a comment, and comes on its own", async (lab) => {
  const stream = listen(lab, await enter(lab))
  const beat = await stream.next((event) => event.kind === "heartbeat")
  assert.equal(beat.id, beat.data.position)
  assert.match(beat.block, /^data:/m)
  stream.close()
})

story("a server that says nothing any more is noticed within 45 seconds, and heard again without a reload", async (lab) => {
  lab.push("Build the shop")
  const page = await open(browser, await lab.serve(), { prepare: (page) => page.clock.install() })
  await page.locator(".row", { hasText: "Build the shop" }).waitFor()
  await page.evaluate(() => { window.isSame = true })
  // The connection stays open: neither side learns anything from the network.
  lab.server.kill("SIGSTOP")
  await page.clock.runFor(45_000)
  await page.locator("#connection.lost").waitFor()
  lab.server.kill("SIGCONT")
  lab.push("After the silence")
  for (let n = 0; n < 40 && !(await page.locator("#connection.live").count()); n++) {
    await page.clock.runFor(1_000)
    await new Promise((done) => setTimeout(done, 100))
  }
  await page.locator("#connection.live").waitFor()
  await page.locator(".row", { hasText: "After the silence" }).waitFor()
  assert.ok(await page.evaluate(() => window.isSame), "the page was never loaded again")
})

story("scroll positions, the chosen frame and the branches stay as they are while work goes on", async (lab) => {
  lab.fill(400, 20)
  const page = await open(browser, await lab.serve())
  await page.locator("#reading").waitFor({ state: "hidden" })
  const closed = page.locator(".row", { hasText: "Piece 1 of the work" }).first()
  await closed.click()
  await page.keyboard.press("ArrowLeft")
  await page.locator(".row", { hasText: "Piece 22 of the work" }).waitFor({ state: "detached" })
  const chosen = page.locator(".row", { hasText: "Piece 2 of the work" }).first()
  await chosen.click()
  const scrolled = await page.evaluate(() => {
    const view = document.getElementById("view-tree")
    view.scrollTop = 150
    window.chosen = document.querySelector(".row[aria-selected=true]")
    return view.scrollTop
  })
  assert.ok(scrolled > 0)
  lab.flame("note", "--frame", "Piece 2 of the work", "decision", "Something new")
  lab.push("News")
  await page.locator(".row", { hasText: "News" }).waitFor({ state: "attached" })
  const after = await page.evaluate(() => ({
    scrolled: document.getElementById("view-tree").scrollTop,
    isSame: window.chosen === document.querySelector(".row[aria-selected=true]") && window.chosen.isConnected,
  }))
  assert.deepEqual(after, { scrolled, isSame: true })
  assert.equal(await page.locator(".row", { hasText: "Piece 22 of the work" }).count(), 0, "a closed branch stays closed")
})

story("a page that moves as little as the user asks for", async (lab) => {
  lab.push("Build the shop")
  for (const [reducedMotion, wanted] of [["reduce", "0s"], ["no-preference", "0.12s"]]) {
    const page = await open(browser, await lab.serve(), { reducedMotion })
    const row = page.locator(".row").first()
    await row.waitFor()
    assert.equal(await row.evaluate((element) => getComputedStyle(element).transitionDuration), wanted)
    await page.context().close()
  }
})
