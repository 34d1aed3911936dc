// One copy of the plugin acts in a directory. A second one, such as the files of `flame init` beside the
// package from npm, would send every header twice.

const ACTIVE = Symbol.for("flamestack.active")

/** This copy of the module. */
const copy = {}

/** The copy that acts in each directory; shared by all copies in this process. */
function active(): Map<string, object> {
  const shared = globalThis as { [ACTIVE]?: Map<string, object> }
  return (shared[ACTIVE] ??= new Map())
}

/** Claims a directory for this copy, and returns a function that releases it. Returns nothing if another copy acts there. */
export function claim(directory: string): (() => void) | undefined {
  const copies = active()
  const holder = copies.get(directory)
  if (holder !== undefined && holder !== copy) return undefined
  copies.set(directory, copy)
  return () => {
    if (copies.get(directory) === copy) copies.delete(directory)
  }
}
