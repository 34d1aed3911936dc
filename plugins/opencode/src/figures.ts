// How the hooks fare: counted here, reported when a turn ends, shown by `flame doctor`.

import type { HookFigures } from "./protocol.js"

export class Figures {
  #hooks = new Map<string, HookFigures>()

  /** Wraps a hook: it never throws, never answers, and its time is counted. */
  guard<A extends unknown[]>(name: string, hook: (...input: A) => unknown): (...input: A) => Promise<void> {
    return async (...input) => {
      const begun = performance.now()
      try {
        const running = hook(...input)
        // Where there is nothing to wait for, waiting would count what the host does meanwhile.
        if (running instanceof Promise) await running
        this.count(name, begun, true)
      } catch {
        this.count(name, begun, false)
      }
    }
  }

  /** Counts one run. */
  count(name: string, begun: number, ok: boolean): void {
    const took = performance.now() - begun
    let figures = this.#hooks.get(name)
    if (!figures) this.#hooks.set(name, (figures = { name, calls: 0, failures: 0, totalMs: 0, slowestMs: 0 }))
    figures.calls += 1
    if (!ok) figures.failures += 1
    figures.totalMs += took
    figures.slowestMs = Math.max(figures.slowestMs, took)
  }

  /** What was counted since the last report. */
  report(): HookFigures[] {
    const hooks = [...this.#hooks.values()]
    this.#hooks.clear()
    return hooks
  }
}
