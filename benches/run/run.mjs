// What `flame run` costs: `cargo xtask bench run [--quick]`. A real OpenCode server and a scripted model.
//
// Time: frames that answer immediately, against a loop that makes the same HTTP calls and nothing else.
// Tokens: work of some size in a tree of frames, against one session that does the same work in a row.

import { execFileSync } from "node:child_process"
import { join } from "node:path"

const root = new URL("../../", import.meta.url).pathname
process.env.FLAME_BIN ??= join(root, "target/release/flame")
const { RunLab, bash, done, plan, toolResult } = await import("../../plugins/opencode/e2e/lab/run.mjs")
const { titleOf } = await import("../../plugins/opencode/e2e/lab/shop.mjs")
const { Recorder, bare } = await import("./calls.mjs")

const quick = process.argv.includes("--quick")
/** Frames below the goal of a measured run, and measured runs. */
const FRAMES = quick ? 10 : 30
const ROUNDS = quick ? 5 : 9
/** The largest ratio of a frame to its bare calls. */
const AIM = 1.2
/** The work: parts with leaves, each with a number of steps with some output. */
const PARTS = ["Store", "Basket", "Checkout", "Search"]
const LEAVES = ["schema", "handlers", "tests"]
const STEPS = quick ? 3 : 6
const BYTES = 4_000

const median = (all) => all.toSorted((a, b) => a - b)[all.length >> 1]
const mark = (holds) => (holds ? "✓" : "✗")

/** A table in Markdown, numbers to the right. */
function table([head, ...rows]) {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column].length)))
  const line = (row) => `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join(" | ")} |`
  const rule = `|${widths.map((width, column) => (column === 0 ? `${"-".repeat(width + 2)}` : `${"-".repeat(width + 1)}:`)).join("|")}|`
  return [line(head), rule, ...rows.map(line)].join("\n")
}

/** Runs a plan and returns the time from its first event to its last, in milliseconds. */
async function driven(runs, url) {
  const child = runs.run(["--plan", runs.plan, "--server", url])
  await child.event((one) => one.event === "started")
  const begun = performance.now()
  await child.event((one) => one.event === "ended")
  const took = performance.now() - begun
  const { code, err } = await child.ended
  if (code !== 0) throw new Error(`flame run ended with ${code}: ${err}`)
  return took
}

async function overhead() {
  const titles = Array.from({ length: FRAMES }, (_, n) => `Part ${n + 1}`)
  const script = (request) => done(`${titleOf(request)} is done`)
  const runs = await RunLab.start({ serve: true, script, plan: plan(...titles), config: { snapshot: false } })
  const recorder = new Recorder()
  try {
    await recorder.start(runs.lab.url)
    await driven(runs, recorder.url)
    const frames = recorder.frames()
    const reads = recorder.calls.filter((call) => call.method === "GET").length
    await bare(runs.lab, frames)
    const times = { driven: [], bare: [] }
    for (let round = 0; round < ROUNDS; round += 1) {
      times.bare.push((await bare(runs.lab, frames)) / frames.length)
      times.driven.push((await driven(runs, runs.lab.url)) / frames.length)
    }
    const per = (count) => (count / frames.length).toFixed(1)
    const spread = (all) => `${Math.min(...all).toFixed(1)} to ${Math.max(...all).toFixed(1)}`
    const ratio = median(times.driven) / median(times.bare)
    const row = (name, all) => [name, median(all).toFixed(1), spread(all)]
    console.log(`\n${frames.length} frames, ${ROUNDS} rounds in turn; a frame makes 3 calls that change something and ${per(reads)} that read`)
    console.log(`(the bare loop: 3 and 5)\n`)
    console.log(table([["a frame, ms", "median", "from and to"], row("bare calls", times.bare), row("flame run", times.driven)]))
    console.log(`\n${ratio.toFixed(2)}× of the bare calls ${mark(ratio <= AIM)} (aim: ${AIM}×)`)
  } finally {
    recorder.stop()
    await runs.stop()
  }
}

/** Output of a step: text that is different for every step. */
const output = (leaf, step) => `for i in $(seq ${BYTES / 40}); do echo "${leaf}-${step}: line $i of what was found"; done`
const leaves = PARTS.flatMap((part) => LEAVES.map((leaf) => `${part} ${leaf}`))
const result = (leaf) => `${leaf} works: the ${leaf.toLowerCase()} are in place, and 12 tests pass`

/** Number of tool results in a request that a leaf's steps have brought. */
const steps = (request, leaf) => request.messages.filter((one) => one.role === "tool" && String(one.content).includes(`${leaf}-`)).length

/** The work of one leaf: the next step, or nothing if all are done. */
function work(request, leaf) {
  const step = steps(request, leaf)
  return step < STEPS ? bash(output(leaf, step)) : undefined
}

/** Everything in the order in which a provider's cache sees it, and the tokens of it. */
function counted(requests) {
  const texts = requests.map((request) => request.prompt)
  const common = (a, b) => {
    let [low, high] = [0, Math.min(a.length, b.length)]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (a.slice(low, middle) === b.slice(low, middle)) low = middle
      else high = middle - 1
    }
    return low
  }
  // The longest beginning that any earlier request had, whatever its session.
  const known = texts.map((text, at) => text.slice(0, Math.max(0, ...texts.slice(0, at).map((before) => common(before, text)))))
  const input = [...texts, ...known].map((text) => `${JSON.stringify(text)}\n`).join("")
  const counts = execFileSync(join(root, "target/release/count"), { input, encoding: "utf8", maxBuffer: 1 << 28 })
  const numbers = counts.trim().split("\n").map(Number)
  return requests.map((request, at) => ({ request, tokens: numbers[at], cached: numbers[texts.length + at] }))
}

/** Peak and total of requests, and the share that a cache had. */
function figures(all) {
  const total = all.reduce((sum, one) => sum + one.tokens, 0)
  const cached = all.reduce((sum, one) => sum + one.cached, 0)
  return { requests: all.length, peak: Math.max(...all.map((one) => one.tokens)), total, cached, fresh: total - cached }
}

const row = (name, { requests, peak, total, cached, fresh }) => [
  name,
  ...[requests, peak, total].map((number) => number.toLocaleString("en")),
  `${((100 * cached) / total).toFixed(1)} %`,
  fresh.toLocaleString("en"),
  // A cached token costs a tenth.
  Math.round(fresh + cached / 10).toLocaleString("en"),
]
const HEAD = ["", "requests", "peak", "total", "cached", "not cached", "cost"]

async function tokens() {
  const branch = (part) => ({ title: part, children: LEAVES.map((leaf) => ({ title: `${part} ${leaf}` })) })
  const tree = (request) => {
    const title = titleOf(request)
    const leaf = leaves.includes(title) ? work(request, title) : undefined
    return leaf ?? done(result(title))
  }
  const line = (request) => {
    const next = leaves.find((leaf) => steps(request, leaf) < STEPS)
    if (!next) return { text: "All parts work." }
    const before = leaves[leaves.indexOf(next) - 1]
    const isFirst = steps(request, next) === 0
    return { ...(isFirst && before && { text: result(before) }), ...work(request, next) }
  }
  const limit = { context: 10_000_000, output: 8_000 }
  const config = { snapshot: false, compaction: { auto: false, prune: false } }
  const runs = await RunLab.start({ serve: true, script: tree, plan: plan(...PARTS.map(branch)), limit, config })
  try {
    const { lab } = runs
    await driven(runs, lab.url)
    const framed = counted(lab.model.work())
    lab.model.requests.length = 0
    lab.model.always(line)
    const session = await lab.session({ title: "Linear" })
    await lab.prompt(session, `Build the shop. Do these one after the other: ${leaves.join(", ")}.`)
    const linear = figures(counted(lab.model.work()))
    const whole = figures(framed)
    const frames = [...new Set(framed.map(({ request }) => titleOf(request)))]
    const one = (title) => row(title, figures(framed.filter(({ request }) => titleOf(request) === title)))
    console.log(`\n${frames.length} frames, ${leaves.length} of them with ${STEPS} steps of ${BYTES.toLocaleString("en")} bytes of output; tokens of the prompts\n`)
    console.log(table([HEAD, ...frames.map(one), row("**flame run**", whole), row("**one session**", linear)]))
    const ratio = (name, a, b) => `${name} ${(a / b).toFixed(2)}×`
    const price = ({ fresh, cached }) => fresh + cached / 10
    const all = [ratio("peak", whole.peak, linear.peak), ratio("total", whole.total, linear.total), ratio("not cached", whole.fresh, linear.fresh), ratio("cost", price(whole), price(linear))]
    console.log(`\nagainst one session: ${all.join(", ")} (a cached token costs a tenth)`)
  } finally {
    await runs.stop()
  }
}

await overhead()
await tokens()
