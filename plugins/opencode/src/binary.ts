// Where the `flame` program is.

import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"

/** The program and the arguments that make it a sidecar, by the first of these that says so. */
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

/** The binary of the package for this platform, if it was installed beside this one. */
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
