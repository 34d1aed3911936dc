// Pictures of the page, to be looked at: empty, small, 10,000 frames and hostile texts, light and dark, on a
// phone, a laptop and a wall.
//
//   npm run pictures [FOLDER]     writes them all, by default into target/pictures
//   npm run pictures -- --readme  writes the one of the README
//
// With LIVE=1 the files of this folder are served in place of those in the program, and ONLY=small,empty takes
// some of the projects.

import { execFileSync } from "node:child_process"
import { mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Lab, ROOT, browse, open } from "./test/lab.mjs"

const HERE = dirname(fileURLToPath(import.meta.url))
const README = join(ROOT, "docs/page.png")
const SIZES = [[360, 740], [1280, 800], [2560, 1440]]

const BAD = '<img src=x onerror="window.hit=1"><script>alert(1)</script>'
const PROJECTS = {
  empty: () => {},
  small: (lab) => shop(lab),
  many: (lab) => {
    lab.forest(10_000)
    lab.push("The work of today")
  },
  hostile: (lab) => {
    lab.push(`${BAD} A title of ${"very ".repeat(60)}many words`, "--criteria", BAD.repeat(5))
    lab.flame("note", "decision", "x".repeat(700), "--why", "javascript:alert(1)")
    lab.push("\u202egnp.exe \u200b\u001b[31m{{7*7}} 日本語のタイトル שלום עולם 👩‍👩‍👧‍👦 Z̸̢̛a̵l̶g̷o̸")
    lab.flame("pop", `${BAD} results`)
    for (let depth = 0; depth < 30; depth++) lab.push(`Deep ${depth} ${"wide".repeat(depth)}`)
    lab.record("s1", [[`${BAD} prompt`, 1_000, 9_000], ["\u202eTurned around", 2_000]])
  },
}

/** The frame whose details are shown, by its title. */
const CHOSEN = { small: "Sign in", many: "The work of today", hostile: "A title of" }

/** Plays the story of a small shop into the project. */
function shop(lab) {
  execFileSync(join(ROOT, "target/debug/examples/shop"), [lab.project, lab.env.FLAME_STATE_DIR])
}

/** Chooses the frame whose title is given, in the tree. */
async function choose(page, title) {
  await page.keyboard.press("1")
  await page.locator(".row", { hasText: title }).first().click()
  await page.locator(".parts").waitFor()
  await page.mouse.move(0, 0)
}

const part = (name) => async (page) => {
  await page.keyboard.press("1")
  await page.locator(".parts button", { hasText: name }).click()
  await page.locator("details summary").first().click({ timeout: 1_000 }).catch(() => {})
  await page.locator(".parts").evaluate((parts) => parts.scrollIntoView())
}
const order = (value) => async (page) => {
  await page.keyboard.press("2")
  await page.locator("#flame-bar select").nth(1).selectOption(value)
}

/** The views, and how each is reached. Those of the details come after a frame is chosen. */
const VIEWS = {
  tree: (page) => page.keyboard.press("1"),
  flame: (page) => page.keyboard.press("2"),
  chart: order("time"),
  sessions: (page) => order("merged")(page).then(() => page.keyboard.press("3")),
  frame: part("Frame"),
  context: part("What the model got"),
  history: part("History"),
  session: async (page) => {
    await page.keyboard.press("3")
    await page.locator(".session").first().click()
    await page.locator("details summary").first().click({ timeout: 1_000 }).catch(() => {})
  },
  found: async (page) => {
    await page.locator("#words").fill("a")
    await page.locator("#words").press("Enter")
    await page.locator("#view-found").waitFor()
  },
  dialog: async (page) => {
    await page.keyboard.press("1")
    await page.keyboard.press("n")
  },
  help: async (page) => {
    await page.keyboard.press("Escape")
    await page.locator("dialog").waitFor({ state: "hidden" })
    await page.keyboard.press("?")
  },
}

/** Goes to a view and waits until nothing changes any more. */
async function go(page, view) {
  await VIEWS[view](page)
  await page.locator("#reading").waitFor({ state: "hidden" })
  await page.waitForTimeout(400)
}

/** Serves the files of this folder instead of those in the program, for work on them. */
async function fromHere(page) {
  await page.route((url) => url.pathname === "/" || url.pathname.startsWith("/page/"), (route) => {
    const name = new URL(route.request().url()).pathname.replace(/^\/(page\/)?/, "")
    route.fulfill({ path: join(HERE, name || "index.html") })
  })
}

async function all(folder) {
  mkdirSync(folder, { recursive: true })
  const wanted = process.env.ONLY?.split(",")
  for (const [name, fill] of Object.entries(PROJECTS)) {
    if (wanted && !wanted.includes(name)) continue
    const lab = new Lab()
    try {
      fill(lab)
      for (const colorScheme of ["light", "dark"]) {
        for (const [width, height] of SIZES) {
          const page = await open(browser, await lab.serve(), { colorScheme, viewport: { width, height }, prepare: process.env.LIVE ? fromHere : undefined })
          for (const view of Object.keys(VIEWS).slice(0, name === "empty" ? 4 : undefined)) {
            if (view === "frame") await choose(page, CHOSEN[name])
            await go(page, view)
            await page.screenshot({ path: join(folder, `${name}-${view}-${width}-${colorScheme}.png`) })
          }
          await page.context().close()
          await lab.kill()
        }
      }
    } finally {
      lab.stop()
    }
  }
}

/** Takes the picture of the README: the flame graph of a morning's work, and one frame of it. */
async function readme() {
  const lab = new Lab()
  try {
    shop(lab)
    const page = await open(browser, await lab.serve(), { viewport: { width: 1280, height: 620 }, timezoneId: "UTC", prepare: process.env.LIVE ? fromHere : undefined })
    await choose(page, CHOSEN.small)
    await go(page, "flame")
    await page.screenshot({ path: README })
  } finally {
    lab.stop()
  }
}

if (!process.env.FLAME_BIN) {
  const wanted = ["--package", "flamestack-cli", "--package", "flamestack-ui", "--bin", "flame", "--examples"]
  execFileSync("cargo", ["build", ...wanted], { cwd: ROOT, stdio: "inherit" })
}
const browser = await browse()
if (process.argv.includes("--readme")) await readme()
else await all(process.argv[2] ?? join(ROOT, "target/pictures"))
await browser.close()
