// OpenCode's terminal program in a pseudo-terminal: keys go in, and what is on the screen can be read.

import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { OPENCODE } from "./install.mjs"

const PTY = fileURLToPath(new URL("./pty.mjs", import.meta.url))
/** Maximum time until something appears on a busy machine, in milliseconds. */
const PATIENCE = 60_000
/** A control sequence with its end, a string of one, or another escape. */
const ESCAPE = /\x1b(?:\[([0-9;?<>=!]*)[ -/]*([@-~])|[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)|[^[\]P_^X])/y

/** Renders what was written to a terminal as it shows it: OpenCode places every text separately. */
export class Screen {
  #columns
  #rows
  #cells
  #row = 0
  #column = 0
  #rest = ""

  constructor(columns = 150, rows = 45) {
    this.#columns = columns
    this.#rows = rows
    this.#cells = Array.from({ length: rows }, () => Array(columns).fill(" "))
  }

  write(text) {
    const all = this.#rest + text
    let place = 0
    while (place < all.length) {
      if (all[place] === "\x1b") {
        ESCAPE.lastIndex = place
        const found = ESCAPE.exec(all)
        // The rest of it is still to come.
        if (!found) break
        if (found[2] === "H") this.#move(found[1])
        if (found[2] === "F") this.#up(Number(found[1] || 1))
        if (found[2] === "J") this.#erase()
        if (found[2] === "K") this.#cells[this.#row].fill(" ", this.#column)
        place = ESCAPE.lastIndex
      } else {
        const sign = String.fromCodePoint(all.codePointAt(place))
        this.#put(sign)
        place += sign.length
      }
    }
    this.#rest = all.slice(place)
  }

  /** The lines as they stand there. */
  get text() {
    return this.#cells.map((row) => row.join("").trimEnd()).join("\n")
  }

  #move(parameters) {
    const [row, column] = parameters.split(";").map((one) => Number(one || 1) - 1)
    this.#row = Math.min(row ?? 0, this.#rows - 1)
    this.#column = Math.min(column ?? 0, this.#columns)
  }

  #up(rows) {
    this.#row = Math.max(this.#row - rows, 0)
    this.#column = 0
  }

  /** Erases everything from here on. */
  #erase() {
    this.#cells[this.#row].fill(" ", this.#column)
    for (const row of this.#cells.slice(this.#row + 1)) row.fill(" ")
  }

  #feed() {
    this.#row += 1
    if (this.#row < this.#rows) return
    this.#row = this.#rows - 1
    this.#cells.push(this.#cells.shift().fill(" "))
  }

  #put(sign) {
    if (sign === "\r") this.#column = 0
    else if (sign === "\n") this.#feed()
    else if (sign >= " " && this.#column < this.#columns) {
      this.#cells[this.#row][this.#column] = sign
      this.#column += 1
    }
  }
}

/** OpenCode, or another program, as a person sees it. */
export class Terminal {
  screen
  #child
  #waiting = []
  #ended = ""

  /** Starts it in a lab's project, whose server is not needed for that. */
  constructor(lab, ...words) {
    const { program = OPENCODE, env: more, columns = 150, rows = 45 } = typeof words[0] === "object" ? words.shift() : {}
    this.screen = new Screen(columns, rows)
    const command = ["run", PTY, String(columns), String(rows), program, ...words]
    const env = { ...lab.environment, BUN_BE_BUN: "1", TERM: "xterm-256color", ...more }
    this.#child = spawn(OPENCODE, command, { cwd: lab.project, env, stdio: ["pipe", "pipe", "inherit"] })
    this.#child.stdout.setEncoding("utf8").on("data", (text) => {
      this.screen.write(text)
      this.#look()
    })
    this.#child.on("exit", (code) => {
      this.#ended = `the program has ended (${code})`
      this.#look()
    })
  }

  /** Types, and waits until the text is shown: keys that come together are taken for a paste. */
  async enter(words) {
    this.#child.stdin.write(words)
    await this.until(words, (text) => text.includes(words))
    this.press("\r")
  }

  /** Presses a key. */
  press(key) {
    this.#child.stdin.write(key)
  }

  /** The screen, as soon as it is as wanted. */
  until(what, wanted) {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => this.#give(one, reject, `${what} did not appear`), PATIENCE)
      const one = { what, wanted, resolve, reject, late }
      this.#waiting.push(one)
      this.#look()
    })
  }

  /** Ends it and waits for that. */
  async close() {
    const ended = this.#ended || new Promise((resolve) => this.#child.once("exit", resolve))
    this.#child.stdin.end()
    await ended
  }

  #look() {
    const { text } = this.screen
    for (const one of [...this.#waiting]) {
      if (one.wanted(text)) this.#give(one, one.resolve)
      else if (this.#ended) this.#give(one, one.reject, `${one.what} did not appear: ${this.#ended}`)
    }
  }

  #give(one, settle, problem) {
    clearTimeout(one.late)
    this.#waiting = this.#waiting.filter((other) => other !== one)
    settle(problem === undefined ? this.screen.text : new Error(`${problem}\n${this.screen.text}`))
  }
}
