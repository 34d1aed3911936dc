// The page as a person uses it: live, by mouse and by keyboard alone, with every action.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { Lab, browse, lastingPort, open } from "./lab.mjs"

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

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
      await lab.stop()
    }
  })
}

const row = (page, title) => page.locator(".row", { hasText: title })

story("work appears as it happens, and nothing jumps", async (lab) => {
  lab.push("Build the shop")
  const page = await open(browser, await lab.serve())
  await row(page, "Build the shop").waitFor()
  await row(page, "Build the shop").click()
  const chosen = await row(page, "Build the shop").elementHandle()
  lab.push("Cart", "--criteria", "Items can be added")
  await row(page, "Cart").waitFor()
  lab.flame("pop", "The cart works")
  await page.locator(".row.completed", { hasText: "Cart" }).waitFor()
  assert.equal(await chosen.evaluate((element) => element.isConnected && element.getAttribute("aria-selected")), "true")
  await row(page, "Cart").click()
  await page.locator("#detail", { hasText: "The cart works" }).waitFor()
  await page.locator("#detail", { hasText: "Items can be added" }).waitFor()
  assert.deepEqual(page.problems, [])
})

story("every action of the page is a command of the user", async (lab) => {
  const root = lab.push("Build the shop")
  const page = await open(browser, await lab.serve(), { permissions: ["clipboard-read", "clipboard-write"] })
  await row(page, "Build the shop").click()
  const act = async (name, fill) => {
    await page.locator(".acts button", { hasText: name }).click()
    if (!fill) return
    await fill()
    await page.locator("dialog button[type=submit]").click()
    await page.locator("dialog").waitFor({ state: "hidden" })
  }
  await act("Plan below", () => page.fill("textarea", "Cart\nCheckout"))
  await row(page, "Checkout").waitFor()
  await row(page, "Cart").click()
  await page.locator("h2", { hasText: "Cart" }).waitFor()
  await act("Activate")
  await page.locator(".row.in_progress", { hasText: "Cart" }).waitFor()
  await act("Note", async () => {
    await page.fill("textarea", "Keep it in the session")
    await page.fill("input[name=why]", "no login needed")
  })
  await page.locator("#detail", { hasText: "Keep it in the session" }).waitFor()
  await act("Directive", () => page.fill("textarea", "Write a test for everything"))
  await page.locator("#detail", { hasText: "Write a test for everything" }).waitFor()
  await act("Finish", () => page.fill("textarea", "The cart works"))
  await page.locator(".row.completed", { hasText: "Cart" }).waitFor()
  await row(page, "Checkout").click()
  await page.locator("h2", { hasText: "Checkout" }).waitFor()
  await act("Give up", () => page.fill("textarea", "Not needed"))
  await page.locator(".row.invalidated", { hasText: "Checkout" }).waitFor()
  await page.locator("#undo").click()
  await page.locator(".row.planned", { hasText: "Checkout" }).waitFor()
  await row(page, "Build the shop").click()
  await page.locator("h2", { hasText: "Build the shop" }).waitFor()
  await act("Copy brief")
  await page.locator("#notice", { hasText: "clipboard" }).waitFor()
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /Build the shop/)

  const shown = JSON.parse(lab.flame("show", "--json", lab.tree().find((line) => line.title === "Cart").id))
  assert.ok(JSON.stringify(shown).includes("Keep it in the session"))
  assert.ok(JSON.stringify(shown).includes("Write a test for everything"), "a directive, which only the user gives")
  assert.equal(lab.tree()[0].id, root)
  assert.deepEqual(page.problems, [])
})

story("a refusal says why, and the dialog stays", async (lab) => {
  lab.push("Outer")
  lab.push("Inner")
  const page = await open(browser, await lab.serve())
  await row(page, "Outer").click()
  await page.locator(".acts button", { hasText: "Finish" }).click()
  await page.fill("textarea", "Done")
  await page.locator("dialog button[type=submit]").click()
  await page.locator("dialog .bad", { hasText: "Inner" }).waitFor()
  await page.keyboard.press("Escape")
  assert.equal(lab.tree()[0].status, "in_progress")
})

story("the keyboard is enough", async (lab) => {
  lab.push("Build the shop")
  lab.flame("plan", "Cart", "Checkout")
  const page = await open(browser, await lab.serve())
  await row(page, "Checkout").waitFor()
  for (let n = 0; n < 12 && !(await page.evaluate(() => document.activeElement?.closest("#tree"))); n++) await page.keyboard.press("Tab")
  await page.keyboard.press("j")
  await page.keyboard.press("Enter")
  await page.locator("h2", { hasText: "Cart" }).waitFor()
  await page.keyboard.press("k")
  await page.keyboard.press("h")
  await row(page, "Cart").waitFor({ state: "detached" })
  await page.keyboard.press("l")
  await row(page, "Cart").waitFor()
  await page.keyboard.press("n")
  await page.locator("dialog[open]").waitFor()
  await page.keyboard.press("Escape")
  await page.locator("dialog").waitFor({ state: "hidden" })
  await page.keyboard.press("?")
  await page.locator("dialog", { hasText: "undo your last command" }).waitFor()
  await page.keyboard.press("Enter")
  await page.locator("dialog").waitFor({ state: "hidden" })
  await page.keyboard.press("2")
  await page.locator("#view-flame").waitFor()
  await page.keyboard.press("3")
  await page.locator(".session", { hasText: "shell:main" }).waitFor()
  await page.keyboard.press("/")
  await page.keyboard.type("Checkout")
  await page.keyboard.press("Enter")
  await page.locator("#found button", { hasText: "Checkout" }).waitFor()
  await page.keyboard.press("Enter")
  await page.locator("h2", { hasText: "Checkout" }).waitFor()
  assert.deepEqual(page.problems, [])
})

story("the flame graph zooms, sorts and saves, and shows what calls cost", async (lab) => {
  lab.record("s1", [["Build the cart", 1_000, 9_000], ["Build the search", 2_000]])
  const page = await open(browser, await lab.serve())
  await page.keyboard.press("2")
  const cart = page.locator("g.box", { hasText: "Build the cart" }).last()
  await cart.waitFor()
  // Both in one look: an update that draws the graph again in between would leave one of them without a box.
  const widths = await page.evaluate(() => Object.fromEntries(Array.from(document.querySelectorAll("g.box"),
    (box) => [box.querySelector("title").textContent.match(/Build the (cart|search)/)?.[1], box.getBoundingClientRect().width])))
  assert.ok(widths.cart > 3 * widths.search, `10,560 tokens against 2,280: ${JSON.stringify(widths)}`)
  assert.match(await cart.getAttribute("aria-label"), /10,560 tokens/)
  await page.locator("g.box", { hasText: "Build the search" }).click()
  await page.locator("#flame-all").click()
  await page.locator("#flame-bar select").nth(1).selectOption("time")
  await page.locator("text.lane", { hasText: "claude-code:s1" }).waitFor()
  const saving = page.waitForEvent("download")
  await page.locator("#flame-save").click()
  assert.equal((await saving).suggestedFilename(), "flame.svg")
  const total = lab.flame("graph", "--format", "folded").trim().split("\n").map((line) => Number(line.split(" ").at(-1)))
  assert.equal(total.reduce((sum, one) => sum + one, 0), 12_840, "the sum of what the host recorded")
  await page.locator("#totals", { hasText: "12.8k" }).waitFor()
  assert.deepEqual(page.problems, [])
})

story("the saved drawing needs nothing else: it zooms and searches from a file", async (lab) => {
  lab.record("s1", [["Build the cart", 1_000, 9_000], ["Build the search", 2_000], ['<script>window.hit=1</script> "quoted"', 3_000]])
  for (const chart of [[], ["--chart"]]) {
    const file = join(lab.root, "work.svg")
    lab.flame("graph", ...chart, "-o", file)
    const context = await browser.newContext({ offline: true })
    const page = await context.newPage()
    const problems = []
    page.on("pageerror", (error) => problems.push(error.message))
    page.on("request", (asked) => asked.url().startsWith("file:") || problems.push(asked.url()))
    await page.goto(`file://${file}`)
    const box = (title) => page.locator("g.b", { has: page.locator("title", { hasText: title }) }).last()
    const wide = async (title) => Math.round(Number(await box(title).locator("rect").getAttribute("width")))
    const before = await wide("Build the search")
    await box("Build the search").locator("rect").click()
    assert.ok((await wide("Build the search")) > 3 * before, "a click zooms")
    await page.keyboard.press("Escape")
    assert.equal(await wide("Build the search"), before, "Esc shows everything again")
    page.once("dialog", (dialog) => dialog.accept("cart"))
    await page.keyboard.press("/")
    assert.ok((await page.locator("g.b.found").count()) > 0)
    assert.match(await page.locator("#said").textContent(), /found/)
    assert.equal(await page.evaluate(() => window.hit), undefined)
    assert.deepEqual(problems, [], "nothing is fetched")
    await context.close()
  }
})

story("a project without work says how to begin, and one with work what is in progress", async (lab) => {
  const page = await open(browser, await lab.serve())
  await page.locator("#detail", { hasText: "flame push TITLE" }).waitFor()
  await page.keyboard.press("2")
  await page.locator("#flame", { hasText: "Nothing to show by tokens yet." }).waitFor()
  await page.keyboard.press("3")
  await page.locator("#no-sessions").waitFor()
  lab.push("Build the shop")
  await page.locator("#detail button", { hasText: "Build the shop" }).click()
  await page.locator("h2", { hasText: "Build the shop" }).waitFor()
  assert.deepEqual(page.problems, [])
})

story("what the model was sent is there, section by section", async (lab) => {
  lab.push("Build the shop", "--criteria", "It sells")
  const page = await open(browser, await lab.serve())
  await row(page, "Build the shop").click()
  await page.locator(".parts button", { hasText: "What the model got" }).click()
  const section = page.locator("details", { hasText: "current" }).first()
  await section.locator("summary").click()
  await section.locator("pre", { hasText: "It sells" }).waitFor()
  lab.flame("note", "decision", "Sell books")
  await section.locator("pre", { hasText: "Sell books" }).waitFor()
  assert.ok(await section.evaluate((element) => element.open), "an open section stays open")
})

story("a connection that is cut is restored automatically", async (lab) => {
  lab.push("Build the shop")
  const page = await open(browser, await lab.serve())
  await row(page, "Build the shop").waitFor()
  await page.context().setOffline(true)
  await page.locator("#connection.lost").waitFor()
  lab.push("While it was away")
  await page.context().setOffline(false)
  await page.locator("#connection.live").waitFor()
  await row(page, "While it was away").waitFor()
  assert.deepEqual(page.problems, [])
})

story("after a restart the new address is enough, without a reload", async (lab) => {
  lab.push("Build the shop")
  const port = await lastingPort()
  const page = await open(browser, await lab.serve(port))
  await page.evaluate(() => { window.isSame = true })
  await lab.kill()
  await page.locator("#connection.lost").waitFor()
  const again = await lab.serve(port)
  await page.locator("#connection.ended").waitFor({ timeout: 45_000 })
  lab.push("After the restart")
  await page.evaluate((hash) => { location.hash = hash }, new URL(again).hash)
  await page.locator("#connection.live").waitFor()
  await row(page, "After the restart").waitFor()
  assert.ok(await page.evaluate(() => window.isSame), "the page was never loaded again")
})

story("axe finds nothing to complain about, in any view, light and dark", async (lab) => {
  lab.record("s1", [["Build the cart", 1_000, 9_000], ["Build the search", 2_000]])
  lab.push("Build the shop", "--criteria", "It sells")
  lab.flame("note", "decision", "Sell books")
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(browser, await lab.serve(), { colorScheme, reducedMotion: "reduce" })
    await row(page, "Build the shop").click()
    await page.locator("h2", { hasText: "Build the shop" }).waitFor()
    const part = (name) => async () => {
      await page.locator(".parts button", { hasText: name }).click()
      await page.locator(".parts button[aria-pressed=true]", { hasText: name }).waitFor()
    }
    const press = (key, shows) => async () => {
      await page.keyboard.press(key)
      await page.locator(shows).first().waitFor()
    }
    const views = {
      tree: press("1", ".row"), context: part("What the model got"), history: part("History"), flame: press("2", "g.box"),
      chart: () => page.locator("#flame-bar select").nth(1).selectOption("time").then(() => page.locator("text.lane").first().waitFor()),
      sessions: press("3", ".session"),
      found: async () => {
        await page.locator("#words").fill("cart")
        await page.locator("#words").press("Enter")
        await page.locator("#found button").first().waitFor()
      },
      help: press("?", "dialog[open]"),
    }
    for (const [view, show] of Object.entries(views)) {
      await show()
      // The page's policy allows no script but its own, so this one comes in through the debugger.
      await page.evaluate(AXE)
      const { violations } = await page.evaluate(() => window.axe.run())
      const said = violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`)
      assert.deepEqual(said, [], `${view}, ${colorScheme}`)
    }
    await page.context().close()
  }
})

story("from a phone to a wall, nothing is cut off", async (lab) => {
  lab.record("s1", [["Build the cart", 1_000, 9_000], ["Build the search", 2_000]])
  lab.push("A title that is long enough to need more room than a telephone has, and then some more of it")
  const page = await open(browser, await lab.serve())
  await row(page, "A title that is long").click()
  await page.locator("h2", { hasText: "A title that is long" }).waitFor()
  for (const width of [360, 768, 1280, 2560]) {
    await page.setViewportSize({ width, height: 900 })
    for (const [key, shows] of [["1", ".row"], ["2", "g.box"], ["3", ".session"]]) {
      await page.keyboard.press(key)
      await page.locator(shows).first().waitFor()
      // The drawing follows the width in the next frame.
      const over = await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(document.documentElement.scrollWidth - innerWidth)))))
      assert.ok(over <= 0, `${over} pixels too wide at ${width} in view ${key}`)
    }
  }
})

story("while amounts change, a box of the flame graph and text in the details stay the same elements", async (lab) => {
  lab.record("s1", [["Build the cart", 1_000, 9_000], ["Build the search", 20_000]])
  const page = await open(browser, await lab.serve())
  await row(page, "Build the cart").first().click()
  await page.locator("h2", { hasText: "Build the cart" }).waitFor()
  await page.keyboard.press("2")
  const cart = page.locator("g.box", { hasText: "Build the cart" }).last()
  await cart.focus()
  await cart.evaluate((box) => {
    window.kept = box
    getSelection().selectAllChildren(document.querySelector("h2"))
  })
  const look = () => page.evaluate(() => ({ isFocused: window.kept === document.activeElement, selected: getSelection().toString().trim(), wide: Math.round(window.kept.getBoundingClientRect().width) }))
  const before = await look()
  assert.ok(before.isFocused && before.selected.includes("Build the cart"), JSON.stringify(before))
  lab.record("s2", [["Write the documents", 90_000]], Date.UTC(2026, 10, 16, 12))
  await page.locator("g.box", { hasText: "Write the documents" }).last().waitFor()
  const narrower = await look()
  assert.ok(narrower.wide < before.wide / 2, `${before.wide} to ${narrower.wide} pixels`)
  assert.deepEqual({ ...narrower, wide: 0 }, { ...before, wide: 0 })

  await cart.click()
  await page.locator("#flame-all").waitFor()
  const zoomed = await look()
  assert.ok(zoomed.wide > narrower.wide, `${narrower.wide} to ${zoomed.wide} pixels`)
  lab.record("s3", [["Write some more", 300_000]], Date.UTC(2026, 10, 16, 14))
  await page.locator('g.box[aria-label*="30,840 tokens, 7."]', { hasText: "Build the cart" }).waitFor()
  assert.deepEqual(await look(), zoomed, "what was zoomed to stays so")
  assert.deepEqual(page.problems, [])
})
