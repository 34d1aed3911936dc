// The terminal view in a real terminal: tmux, from a narrow one to a wide one.

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { FLAME, Lab, ROOT } from "./lab.mjs"

const skip = !existsSync("/usr/bin/tmux") && "tmux is not installed"
const PANICS = join(ROOT, "target/debug/examples/panics")

/** A shell in a terminal of its own. */
class Terminal {
  static count = 0

  constructor(lab, columns, rows = 24, env = {}) {
    this.server = `flame-test-${process.pid}-${(Terminal.count += 1)}`
    this.env = { PATH: process.env.PATH, TERM: "xterm-256color", LANG: "C.UTF-8", ...lab.env, ...env }
    this.#tmux("-f", "/dev/null", "new-session", "-d", "-s", "view", "-x", String(columns), "-y", String(rows), "-c", lab.project, "env PS1='ready> ' sh -i")
  }

  #tmux(...words) {
    return execFileSync("tmux", ["-u", "-L", this.server, ...words], { encoding: "utf8", env: this.env })
  }

  get screen() {
    return this.#tmux("capture-pane", "-p", "-t", "view")
  }

  get coloured() {
    return this.#tmux("capture-pane", "-p", "-e", "-t", "view")
  }

  show(format) {
    return this.#tmux("display-message", "-p", "-t", "view", format).trim()
  }

  press(...keys) {
    this.#tmux("send-keys", "-t", "view", ...keys)
  }

  async until(what, wanted) {
    for (let left = 600; ; left -= 1) {
      const screen = this.screen
      if (wanted(screen)) return screen
      if (left === 0) throw new Error(`${what} did not appear:\n${screen}`)
      await new Promise((done) => setTimeout(done, 50))
    }
  }

  shows(...texts) {
    return this.until(texts.join(", "), (screen) => texts.every((text) => screen.includes(text)))
  }

  close() {
    this.#tmux("kill-server")
  }
}

/** Runs a test in a terminal of a width. */
async function within(columns, env, fill, work) {
  const lab = new Lab()
  let terminal
  try {
    fill(lab)
    terminal = new Terminal(lab, columns, 24, env)
    await terminal.shows("ready>")
    await work(terminal, lab)
  } finally {
    terminal?.close()
    await lab.stop()
  }
}

const shop = (lab) => {
  lab.record("s1", [["Build the cart", 1_000, 9_000], ["Build the search", 2_000]])
  lab.push("Build the shop", "--criteria", "It sells books")
}

for (const columns of [40, 80, 200]) {
  test(`a story in ${columns} columns: tree, frame, flame graph, news, and out again`, { skip }, () => within(columns, {}, shop, async (terminal, lab) => {
    terminal.press(`${FLAME} tui`, "Enter")
    await terminal.shows("1 Tree", "Build the shop", "Build the cart")
    assert.equal(terminal.show("#{alternate_on}"), "1")
    terminal.press("G")
    terminal.press("Enter")
    await terminal.shows("It sells books")
    terminal.press("4")
    const flame = await terminal.shows("by tokens: 12,840 tokens", "▏all")
    assert.ok(flame.split("\n").every((line) => [...line].length <= columns))
    terminal.press("m")
    await terminal.shows("by cost")
    terminal.press("1")
    lab.push("Appeared while looking")
    await terminal.shows("Appeared while")
    terminal.press("?")
    await terminal.shows("Keys")
    terminal.press("Escape")
    terminal.press("q")
    await terminal.shows("ready>")
    assert.equal(terminal.show("#{alternate_on}"), "0")
  }))
}

test("NO_COLOR means no colour", { skip }, async () => {
  const colour = /\x1b\[([34]8;5;\d+|[349][0-7]|10[0-7])m/
  await within(80, {}, shop, async (terminal) => {
    terminal.press(`${FLAME} tui`, "Enter")
    await terminal.shows("1 Tree", "Build the cart")
    assert.match(terminal.coloured, colour)
  })
  await within(80, { NO_COLOR: "1" }, shop, async (terminal) => {
    terminal.press(`${FLAME} tui`, "Enter")
    await terminal.shows("1 Tree", "Build the cart")
    assert.doesNotMatch(terminal.coloured, colour)
  })
})

for (const flags of ["", " --mouse"]) {
  test(`after a panic the terminal is as before${flags}`, { skip: skip || (!existsSync(PANICS) && "cargo build --examples") }, () =>
    within(80, {}, () => {}, async (terminal) => {
      terminal.press("stty -a | tr ' ' '\\n' | grep -xE -- '-?(icanon|echo);?' | tr -d ';' | tr '\\n' ' '", "Enter")
      const before = await terminal.shows("icanon echo")
      terminal.press("clear", "Enter")
      terminal.press(`${PANICS}${flags}`, "Enter")
      await terminal.shows("this is the panic of the test", "ready>")
      assert.equal(terminal.show("#{alternate_on} #{mouse_any_flag}"), "0 0")
      terminal.press("clear", "Enter")
      terminal.press("stty -a | tr ' ' '\\n' | grep -xE -- '-?(icanon|echo);?' | tr -d ';' | tr '\\n' ' '", "Enter")
      const after = await terminal.shows("icanon echo")
      assert.ok(before.includes("icanon echo") && !after.includes("-icanon") && !after.includes("-echo"), after)
    }))
}
