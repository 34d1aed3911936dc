// Finds the `flame` program.

import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, delimiter, dirname, isAbsolute, join } from "node:path"

/** Returns the command of the sidecar: the option, `FLAME_BIN`, the platform's package, or `flame`. */
export function sidecarCommand(
  option: unknown,
  environment: Record<string, string | undefined> = process.env,
  packaged: () => string | undefined = packagedBinary,
): string[] {
  if (Array.isArray(option) && option.length > 0 && option.every((word) => typeof word === "string")) return option
  if (typeof option === "string" && option !== "") return [option, "sidecar"]
  if (environment["FLAME_BIN"]) return [environment["FLAME_BIN"], "sidecar"]
  return [packaged() ?? "flame", "sidecar"]
}

/** Returns the binary of the package for this platform, if it is installed. */
function packagedBinary(): string | undefined {
  try {
    const require = createRequire(import.meta.url)
    const manifest = require.resolve(`flamestack-${process.platform}-${process.arch}/package.json`)
    const program = process.platform === "win32" ? "flame.exe" : "flame"
    const binary = join(manifest, "..", "bin", program)
    return existsSync(binary) ? binary : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns a search path with the folder of `flame` at its end, for a program that was found elsewhere. Undefined if nothing
 * has to change: the program is found by its name, is called by another name, or its folder is there already.
 */
export function searchPath(program: string | undefined, path = ""): string | undefined {
  if (program === undefined || !isAbsolute(program) || !/^flame(\.exe)?$/.test(basename(program))) return undefined
  const folder = dirname(program)
  const folders = path.split(delimiter)
  return folders.includes(folder) ? undefined : [...folders, folder].filter((name) => name !== "").join(delimiter)
}
