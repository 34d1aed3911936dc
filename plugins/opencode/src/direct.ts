// The direct line to the sidecar: named pipes that are written and read on the spot.
//
// Streams go through the host's event loop, and there other things may come first: after a long list of
// messages was read, the runtime sweeps its memory for up to ten milliseconds. What is asked here is
// answered before the loop goes on, or a moment later on standard output.

import { closeSync, constants, openSync, readSync, writeSync } from "node:fs"
import type { Direct } from "./protocol.js"

/** How long nobody else gets on while an answer is awaited, in milliseconds. */
const MOMENT = 8
/** How long a line that does not fit is written, while it is being read, before the rest is left for later. */
const FULL = 2
/** When that is tried again, in milliseconds. */
const LATER = 5
/** Between two looks, in milliseconds. */
const PAUSE = 0.02
/** Nothing ever happens here: whoever waits for it sleeps. */
const NOTHING = new Int32Array(new SharedArrayBuffer(4))

export class DirectLine {
  readonly #questions: number
  readonly #answers: number
  /** What does not fit into the pipe yet. */
  #unwritten: Buffer[] = []
  /** How many bytes that is. */
  waiting = 0
  #later: ReturnType<typeof setTimeout> | undefined
  readonly #chunk = Buffer.allocUnsafe(64 * 1024)
  #rest = Buffer.alloc(0)

  /** Opens both pipes; throws where that does not work, or where nobody may wait. */
  constructor({ questions, answers }: Direct) {
    pause()
    this.#answers = openSync(answers, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      this.#questions = openSync(questions, constants.O_WRONLY | constants.O_NONBLOCK)
    } catch (error) {
      closeSync(this.#answers)
      throw error
    }
  }

  /** Writes a line behind those that still wait. */
  write(line: string): void {
    const bytes = Buffer.from(line)
    const patience = this.waiting > 0 ? 0 : FULL
    this.#unwritten.push(bytes)
    this.waiting += bytes.length
    this.#drain(patience)
  }

  /** Hears what is answered, until that is enough, or for a moment. */
  listen(enough: () => boolean, hear: (line: string) => void): void {
    const until = performance.now() + MOMENT
    while (!enough()) {
      if (this.#read(hear)) continue
      if (this.#unwritten.length > 0) this.#drain(0)
      if (performance.now() > until) return
      pause()
    }
  }

  /** Lets go of both pipes; what waits is written if it can be at once. */
  close(): void {
    this.#drain(0)
    clearTimeout(this.#later)
    this.#unwritten = []
    this.waiting = 0
    closeSync(this.#questions)
    closeSync(this.#answers)
  }

  /** Writes what waits, for so long at most, and the rest later. */
  #drain(patience: number): void {
    const until = performance.now() + patience
    for (let first = this.#unwritten[0]; first; first = this.#unwritten[0]) {
      const written = attempt(() => writeSync(this.#questions, first))
      if (written === first.length) this.#unwritten.shift()
      else if (written > 0) this.#unwritten[0] = first.subarray(written)
      this.waiting -= written
      if (written === first.length) continue
      if (performance.now() >= until) break
      if (written === 0) pause()
    }
    if (this.#unwritten.length === 0 || this.#later) return
    this.#later = setTimeout(() => {
      this.#later = undefined
      this.#drain(0)
    }, LATER)
    this.#later.unref?.()
  }

  /** Hears what is there; whether there was anything. */
  #read(hear: (line: string) => void): boolean {
    const length = attempt(() => readSync(this.#answers, this.#chunk, 0, this.#chunk.length, null))
    if (length === 0) return false
    const heard = Buffer.concat([this.#rest, this.#chunk.subarray(0, length)])
    let from = 0
    for (let end = heard.indexOf(10); end >= 0; end = heard.indexOf(10, from)) {
      hear(heard.toString("utf8", from, end))
      from = end + 1
    }
    this.#rest = heard.subarray(from)
    return true
  }
}

/** How many bytes went through; none, when there is no room, nothing to read, or nobody there. */
function attempt(what: () => number): number {
  try {
    return what()
  } catch {
    return 0
  }
}

function pause(): void {
  Atomics.wait(NOTHING, 0, 0, PAUSE)
}
