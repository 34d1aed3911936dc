// A project with a store of its own, the real `flame ui`, and Debian's Chromium.

import { execFileSync, spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { chromium } from "playwright-core"

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../../../..")
/** A benchmark measures the release build, a test the other. */
const BUILD = process.argv[1]?.includes("benches") ? "release" : "debug"
export const FLAME = process.env.FLAME_BIN ?? join(ROOT, "target", BUILD, "flame")
const BROWSERS = [process.env.FLAME_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]

/** Starts the browser. */
export async function browse() {
  const executablePath = BROWSERS.find((path) => path && existsSync(path))
  if (!executablePath) throw new Error("there is no Chromium: install the package `chromium`, or set FLAME_CHROMIUM")
  return chromium.launch({ executablePath, args: FLAGS })
}

/** Returns a port for a server that will be started again on it: none that the system gives to others meanwhile. */
export async function lastingPort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const probe = createServer()
    const isFree = await new Promise((done) => probe.once("error", () => done(false)).listen(port, "127.0.0.1", () => done(true)))
    if (!isFree) continue
    await new Promise((done) => probe.close(done))
    return port
  }
}

export class Lab {
  constructor() {
    this.root = mkdtempSync(join(tmpdir(), "flame-page-"))
    this.project = join(this.root, "shop")
    mkdirSync(this.project)
    this.env = { PATH: process.env.PATH, HOME: this.root, FLAME_STATE_DIR: join(this.root, "state"), TZ: "UTC" }
    this.servers = []
  }

  /** Runs a command and returns what it printed. */
  flame(...words) {
    return execFileSync(FLAME, words, { cwd: this.project, env: this.env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
  }

  /** Returns the id of the frame that a command opened. */
  push(title, ...words) {
    return JSON.parse(this.flame("push", "--json", title, ...words)).active
  }

  tree() {
    return JSON.parse(this.flame("tree", "--all", "--json")).lines
  }

  /** Starts the page's server and returns its address. */
  async serve(port = 0) {
    const server = spawn(FLAME, ["ui", "--no-open", "--port", String(port)], { cwd: this.project, env: this.env })
    this.servers.push(server)
    this.errors = ""
    server.stderr.on("data", (data) => (this.errors += data))
    const line = await new Promise((done, failed) => {
      let said = ""
      server.stdout.on("data", (data) => {
        said += data
        if (said.includes("\n")) done(said.trim())
      })
      server.on("exit", (code) => failed(new Error(`flame ui ended with ${code}: ${this.errors}`)))
    })
    this.server = server
    this.address = line
    this.origin = new URL(line).origin
    return line
  }

  /** Kills the server, as a crash would. */
  async kill() {
    const ended = new Promise((done) => this.server.once("exit", done))
    this.server.kill("SIGKILL")
    await ended
  }

  /** Imports a recorded session: prompts with the sizes of the model calls that answer them. */
  record(name, prompts, start = Date.UTC(2026, 10, 16, 9)) {
    const lines = []
    let at = start
    const stamp = () => new Date((at += 40_000)).toISOString()
    for (const [text, ...sizes] of prompts) {
      lines.push({ type: "user", sessionId: name, uuid: `u${lines.length}`, timestamp: stamp(), cwd: this.project, message: { role: "user", content: text } })
      for (const size of sizes) {
        lines.push({
          type: "assistant", sessionId: name, uuid: `a${lines.length}`, timestamp: stamp(), cwd: this.project,
          message: {
            id: `m${lines.length}`, role: "assistant", model: "some-model", content: [{ type: "text", text: "A step." }], stop_reason: "end_turn",
            usage: { input_tokens: 200, cache_read_input_tokens: size, cache_creation_input_tokens: 0, output_tokens: 80 },
          },
        })
      }
    }
    const file = join(this.root, `${name}.jsonl`)
    writeFileSync(file, lines.map((line) => JSON.stringify(line)).join("\n") + "\n")
    this.flame("import", file)
  }

  /** Imports many frames: `count` in all, `wide` below each one. */
  fill(count, wide = 30) {
    const statuses = ["completed", "completed", "completed", "failed", "planned"]
    const frames = {}
    const roots = []
    for (let n = 0; n < count; n++) {
      const id = `ses_${n}`
      const above = n === 0 ? null : `ses_${Math.floor((n - 1) / wide)}`
      frames[id] = {
        sessionID: id, ...(above ? { parentSessionID: above } : {}), title: `Piece ${n} of the work`, successCriteria: `Piece ${n} is done`,
        successCriteriaCompacted: "", status: n < 3 ? "in_progress" : statuses[n % 5], createdAt: 1_790_000_000_000 + n, updatedAt: 1_790_000_000_000 + n,
        artifacts: [], decisions: [], ...(n >= 3 && n % 5 < 4 ? { results: `Piece ${n} works` } : {}),
      }
      if (!above) roots.push(id)
    }
    const folder = join(this.root, "many/.opencode/stack")
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, "state.json"), JSON.stringify({ version: 1, frames, rootFrameIDs: roots, updatedAt: 1_790_000_000_000 + count }))
    this.flame("import", join(this.root, "many"))
  }

  /** Records many frames with model calls in five sessions. */
  forest(count) {
    execFileSync(join(ROOT, "target", BUILD, "examples/forest"), [this.project, this.env.FLAME_STATE_DIR, String(count)])
  }

  async stop() {
    for (const server of this.servers) {
      const ended = server.exitCode === null && server.signalCode === null && new Promise((resolve) => server.once("exit", resolve))
      server.kill("SIGKILL")
      // It writes until it is gone.
      await ended
    }
    rmSync(this.root, { recursive: true, force: true })
  }
}

/** Opens the page and waits until it is live. */
export async function open(browser, address, { prepare, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  await prepare?.(page)
  page.problems = []
  page.on("pageerror", (error) => page.problems.push(error.message))
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource|ERR_/.test(message.text())) page.problems.push(message.text())
  })
  await page.goto(address)
  await page.locator("#connection.live").waitFor()
  return page
}
