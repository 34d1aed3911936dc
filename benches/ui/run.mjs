// What looking costs: the page, the terminal view and `flame graph`, with 100 and with 100,000 frames.
// Figures are medians of one run unless they say otherwise; the ratio of the two columns is what counts.

import { execFileSync } from "node:child_process"
import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { Lab, browse, open, FLAME } from "../../crates/ui/page/test/lab.mjs"

const quick = process.argv.includes("--quick")
const SIZES = quick ? [100, 10_000] : [100, 100_000]
const ROUNDS = quick ? 5 : 9
const UPDATES = quick ? 200 : 1_000
/** Largest accepted ratio of the large store to the small one, for first rows, first paint and update. */
const RATIO = 2
/** Largest accepted growth of the server, in MB. */
const GROWTH = 10
/** Longest accepted time from a key to its frame, in ms; starting tmux twice or more is part of it. */
const KEY = 100
/** Longest wait for something to appear in the terminal, in ms. */
const PATIENCE = 60_000

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]
const timed = async (work) => {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}
const memory = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1000

/** Notes in the page when the first rows were painted, in ms since the navigation began. */
const watchPaint = () => {
  const looking = new MutationObserver(() => {
    if (!document.querySelector(".row")) return
    looking.disconnect()
    requestAnimationFrame(() => setTimeout(() => (window.painted = performance.now())))
  })
  looking.observe(document, { childList: true, subtree: true })
}

async function pageFigures(lab, browser, size) {
  const figures = {}
  let address
  figures["server ready, ms"] = await timed(async () => (address = await lab.serve()))
  let page
  figures["new server: first rows, ms"] = await timed(async () => {
    page = await open(browser, address, { prepare: (page) => page.addInitScript(watchPaint) })
    await page.locator(".row").first().waitFor()
  })
  figures["new server: everything read, ms"] = await timed(() => page.locator("#reading").waitFor({ state: "hidden" }))
  const client = await page.context().newCDPSession(page)
  await client.send("Network.enable")
  let bytes = 0
  client.on("Network.loadingFinished", (event) => (bytes += event.encodedDataLength))
  const paints = []
  for (let n = 0; n < ROUNDS; n++) {
    bytes = 0
    await page.reload()
    await page.waitForFunction(() => window.painted)
    paints.push(await page.evaluate(() => window.painted))
    await page.waitForTimeout(600)
    figures["first paint, bytes"] = bytes
  }
  figures["first paint, ms"] = median(paints)
  const updates = []
  for (let n = 0; n < ROUNDS; n++) {
    const title = `Update ${size} ${n}`
    lab.push(title)
    bytes = 0
    // A locator looks at growing intervals; this looks before each frame is painted.
    const isShown = (title) => Array.from(document.querySelectorAll(".row .title")).some((one) => one.textContent === title)
    updates.push(await timed(() => page.waitForFunction(isShown, title, { polling: "raf" })))
    await page.waitForTimeout(600)
    figures["update, bytes"] = bytes
    lab.flame("pop", "Done")
  }
  figures["update, from commit to paint, ms"] = median(updates)
  const answers = []
  for (let n = 0; n < ROUNDS; n++) answers.push(await page.evaluate(ask, "/api/tree"))
  figures["the tree's rows from the server, ms"] = median(answers)
  await page.evaluate(ask, "/api/graph?by=tokens")
  const graphs = []
  for (let n = 0; n < ROUNDS; n++) graphs.push(await page.evaluate(ask, "/api/graph?by=tokens"))
  figures["the flame graph from the server, ms"] = median(graphs)
  const before = memory(lab.server.pid)
  for (let n = 0; n < UPDATES; n++) {
    lab.flame("note", `Note ${n}`)
    await page.evaluate(ask, "/api/tree")
  }
  figures["server memory, MB"] = before
  figures[`the same after ${UPDATES} updates, MB`] = memory(lab.server.pid)
  await page.context().close()
  await lab.kill()
  return figures
}

/** Asks the server from the page and returns the time it took, in ms. */
const ask = async (path) => {
  const begun = performance.now()
  const branches = { method: "POST", headers: { "content-type": "application/json" }, body: '{"open":[],"closed":[],"more":{}}' }
  await (await fetch(path, path === "/api/tree" ? branches : {})).text()
  return performance.now() - begun
}

/** A command in a terminal of its own. */
class Terminal {
  constructor(command) {
    this.tmux("-f", "/dev/null", "new-session", "-d", "-s", "view", "-x", "160", "-y", "50", command)
  }

  tmux(...words) {
    return execFileSync("tmux", ["-u", "-L", `flame-bench-${process.pid}`, ...words], { encoding: "utf8" })
  }

  get screen() {
    return this.tmux("capture-pane", "-p", "-t", "view")
  }

  async until(what, wanted) {
    const end = performance.now() + PATIENCE
    for (let screen = this.screen; !wanted(screen); screen = this.screen) {
      if (performance.now() > end) throw new Error(`${what} did not appear in the terminal:\n${screen}`)
      await new Promise((done) => setTimeout(done, 2))
    }
  }

  /** Returns the time from a key to what it shows. */
  press(key, what, wanted) {
    return timed(() => {
      this.tmux("send-keys", "-t", "view", key)
      return this.until(what, wanted)
    })
  }

  close() {
    this.tmux("kill-server")
  }
}

async function terminalFigures(lab) {
  const figures = {}
  const plain = new Terminal("cat")
  const echoes = []
  for (let n = 1; n <= ROUNDS; n++) echoes.push(await plain.press("x", "a letter", (screen) => screen.includes("x".repeat(n))))
  plain.close()
  const command = `env FLAME_STATE_DIR=${lab.env.FLAME_STATE_DIR} HOME=${lab.env.HOME} ${FLAME} -C ${lab.project} tui`
  const begun = performance.now()
  const view = new Terminal(command)
  try {
    await view.until("the view", (screen) => screen.includes("1 Tree"))
    const help = async () => [
      await view.press("?", "the help", (screen) => screen.includes("this help")),
      await view.press("?", "the view again", (screen) => !screen.includes("this help")),
    ]
    const loading = []
    while (!view.screen.includes("j k move")) loading.push(...(await help()))
    figures["terminal: everything read, ms"] = performance.now() - begun
    const loaded = []
    for (let n = 0; n < ROUNDS; n++) loaded.push(...(await help()))
    for (let n = 0; n < ROUNDS; n++) {
      loaded.push(await view.press("4", "the flame graph", (screen) => screen.includes("by tokens")))
      loaded.push(await view.press("1", "the tree", (screen) => !screen.includes("by tokens")))
    }
    figures["terminal: slowest key while reading, ms"] = loading.length ? Math.max(...loading) : 0
    figures["terminal: slowest key, ms"] = Math.max(...loaded)
    figures["terminal: a key, ms"] = median(loaded)
    figures["a letter in `cat`, ms"] = median(echoes)
  } finally {
    view.close()
  }
  return figures
}

async function graphFigures(lab) {
  const figures = {}
  for (const format of ["svg", "folded", "speedscope", "trace"]) {
    const file = join(lab.root, `graph.${format}`)
    const times = []
    for (let n = 0; n < 3; n++) times.push(await timed(() => lab.flame("graph", "--format", format, "-o", file)))
    figures[`flame graph --format ${format}, ms`] = median(times)
    figures[`flame graph --format ${format}, bytes`] = statSync(file).size
  }
  const file = join(lab.root, "chart.svg")
  figures["flame graph --chart, ms"] = await timed(() => lab.flame("graph", "--chart", "-o", file))
  figures["flame graph --chart, bytes"] = statSync(file).size
  return figures
}

const browser = await browse()
const columns = []
for (const size of SIZES) {
  const lab = new Lab()
  try {
    lab.forest(size)
    lab.push("The work")
    columns.push({ ...(await pageFigures(lab, browser, size)), ...(await terminalFigures(lab)), ...(await graphFigures(lab)) })
  } finally {
    await lab.stop()
  }
}
await browser.close()

const [small, large] = columns
console.log(`| | ${SIZES[0]} frames | ${SIZES[1].toLocaleString("en-US")} frames | ratio |\n|---|---:|---:|---:|`)
const shown = (value) => (value >= 1000 ? Math.round(value).toLocaleString("en-US") : value.toFixed(1))
for (const name of Object.keys(small)) {
  const ratio = small[name] ? (large[name] / small[name]).toFixed(2) : "–"
  console.log(`| ${name} | ${shown(small[name])} | ${shown(large[name])} | ${ratio} |`)
}
const missed = ["new server: first rows, ms", "first paint, ms", "update, from commit to paint, ms"]
  .filter((name) => large[name] / small[name] > RATIO)
  .map((name) => `${name}: more than ${RATIO} times as much`)
for (const [column, size] of [[small, SIZES[0]], [large, SIZES[1]]]) {
  const grown = column[`the same after ${UPDATES} updates, MB`] - column["server memory, MB"]
  if (grown > GROWTH) missed.push(`the server grew by ${grown.toFixed(1)} MB in ${UPDATES} updates at ${size} frames`)
  const slowest = Math.max(column["terminal: slowest key while reading, ms"], column["terminal: slowest key, ms"])
  if (slowest > KEY) missed.push(`a key took ${slowest.toFixed(0)} ms at ${size} frames`)
}
if (missed.length) {
  console.error(missed.join("\n"))
  process.exitCode = 1
}
