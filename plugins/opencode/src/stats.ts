// Counts and times the hooks. Reported at the end of each turn, shown by `flame doctor`.

import type { HookStats } from "./protocol.js"

export class Stats {
  #hooks = new Map<string, HookStats>()

  /** Wraps a hook so that it never throws, returns nothing, and is timed. */
  guard<A extends unknown[]>(name: string, hook: (...input: A) => unknown): (...input: A) => Promise<void> {
    return async (...input) => {
      const begun = performance.now()
      try {
        const running = hook(...input)
        // Awaiting a hook that has finished would count the time that the host takes meanwhile.
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
    let stats = this.#hooks.get(name)
    if (!stats) this.#hooks.set(name, (stats = { name, calls: 0, failures: 0, totalMs: 0, slowestMs: 0 }))
    stats.calls += 1
    if (!ok) stats.failures += 1
    stats.totalMs += took
    stats.slowestMs = Math.max(stats.slowestMs, took)
  }

  /** Returns the counts since the last report. */
  report(): HookStats[] {
    const hooks = [...this.#hooks.values()]
    this.#hooks.clear()
    return hooks
  }
}
