// What looking costs: the page, the terminal view and `flame graph`, with 100 and with 100,000 frames.
// Figures are medians of one run; the ratio of the two columns is what counts.

import { execFileSync } from "node:child_process"
import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { Lab, browse, open, FLAME } from "../../crates/ui/page/test/lab.mjs"

const quick = process.argv.includes("--quick")
const SIZES = quick ? [100, 10_000] : [100, 100_000]
const ROUNDS = quick ? 5 : 9
const UPDATES = quick ? 200 : 1_000
/** Largest accepted ratio of the large store to the small one, for first paint and update. */
const RATIO = 2
/** Largest accepted growth of the server, in MB. */
const GROWTH = 10
/** Longest accepted time from a key to its frame, in ms; starting tmux twice is part of it. */
const KEY = 100

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]
const timed = async (work) => {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}
const memory = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1000

async function pageFigures(lab, browser, size) {
  const figures = {}
  let address
  figures["server ready, ms"] = await timed(async () => (address = await lab.serve()))
  let page
  figures["first page of a new server, ms"] = await timed(async () => {
    page = await open(browser, address)
    await page.locator(".row").first().waitFor()
  })
  const client = await page.context().newCDPSession(page)
  await client.send("Network.enable")
  let bytes = 0
  client.on("Network.loadingFinished", (event) => (bytes += event.encodedDataLength))
  const paints = []
  for (let n = 0; n < ROUNDS; n++) {
    bytes = 0
    await page.reload()
    await page.locator(".row").first().waitFor()
    paints.push(await page.evaluate(() => performance.getEntriesByType("resource").filter((one) => one.name.endsWith("/api/tree"))[0].responseEnd))
    await page.waitForTimeout(600)
    figures["bytes of a first paint"] = bytes
  }
  figures["first paint, ms"] = median(paints)
  const updates = []
  for (let n = 0; n < ROUNDS; n++) {
    const title = `Update ${size} ${n}`
    lab.push(title)
    bytes = 0
    updates.push(await timed(() => page.locator(".row", { hasText: title }).waitFor()))
    await page.waitForTimeout(600)
    figures["bytes of an update"] = bytes
    lab.flame("pop", "Done")
  }
  figures["update, from commit to paint, ms"] = median(updates)
  const before = memory(lab.server.pid)
  for (let n = 0; n < UPDATES; n++) {
    lab.flame("note", `Note ${n}`)
    await page.evaluate(() => fetch("/api/tree", { method: "POST", headers: { "content-type": "application/json" }, body: '{"open":[],"closed":[],"more":{}}' }).then((it) => it.text()))
  }
  figures["server memory, MB"] = before
  figures[`the same after ${UPDATES} updates, MB`] = memory(lab.server.pid)
  await page.context().close()
  await lab.kill()
  return figures
}

async function terminalFigures(lab) {
  const tmux = (...words) => execFileSync("tmux", ["-L", `flame-bench-${process.pid}`, ...words], { encoding: "utf8" })
  const command = `env FLAME_STATE_DIR=${lab.env.FLAME_STATE_DIR} HOME=${lab.env.HOME} ${FLAME} -C ${lab.project} tui`
  const until = async (wanted) => {
    while (!wanted(tmux("capture-pane", "-p", "-t", "view"))) await new Promise((done) => setTimeout(done, 2))
  }
  tmux("new-session", "-d", "-s", "view", "-x", "160", "-y", "50", command)
  await until((text) => text.includes("1 Tree"))
  const press = (key, wanted) => timed(async () => {
    tmux("send-keys", "-t", "view", key)
    await until(wanted)
  })
  const loading = [await press("?", (text) => text.includes("Keys")), await press("x", (text) => !text.includes("Keys"))]
  await until((text) => text.includes("j k move"))
  const loaded = []
  for (let n = 0; n < ROUNDS; n++) loaded.push(await press("?", (text) => text.includes("Keys")), await press("?", (text) => !text.includes("Keys")))
  tmux("kill-server")
  return { "terminal: key to frame while loading, ms": Math.max(...loading), "terminal: key to frame, ms": median(loaded) }
}

async function graphFigures(lab) {
  const figures = {}
  for (const format of ["svg", "folded", "speedscope"]) {
    const file = join(lab.root, `graph.${format}`)
    figures[`flame graph --format ${format}, ms`] = await timed(() => lab.flame("graph", "--by", "time", "--format", format, "-o", file))
    figures[`its bytes (${format})`] = statSync(file).size
  }
  return figures
}

const browser = await browse()
const columns = []
for (const size of SIZES) {
  const lab = new Lab()
  try {
    lab.fill(size, 30)
    lab.push("The work")
    columns.push({ ...(await pageFigures(lab, browser, size)), ...(await terminalFigures(lab)), ...(await graphFigures(lab)) })
  } finally {
    lab.stop()
  }
}
await browser.close()

const [small, large] = columns
console.log(`| | ${SIZES[0]} frames | ${SIZES[1].toLocaleString("en-US")} frames | ratio |\n|---|---:|---:|---:|`)
const shown = (value) => (value >= 1000 ? Math.round(value).toLocaleString("en-US") : value.toFixed(1))
for (const name of Object.keys(small)) {
  console.log(`| ${name} | ${shown(small[name])} | ${shown(large[name])} | ${(large[name] / small[name]).toFixed(2)} |`)
}
const missed = ["first paint, ms", "update, from commit to paint, ms"]
  .filter((name) => large[name] / small[name] > RATIO)
  .map((name) => `${name}: more than ${RATIO} times as much`)
for (const [column, size] of [[small, SIZES[0]], [large, SIZES[1]]]) {
  const grown = column[`the same after ${UPDATES} updates, MB`] - column["server memory, MB"]
  if (grown > GROWTH) missed.push(`the server grew by ${grown.toFixed(1)} MB in ${UPDATES} updates at ${size} frames`)
  const slowest = Math.max(column["terminal: key to frame while loading, ms"], column["terminal: key to frame, ms"])
  if (slowest > KEY) missed.push(`a key took ${slowest.toFixed(0)} ms at ${size} frames`)
}
if (missed.length) {
  console.error(missed.join("\n"))
  process.exitCode = 1
}
