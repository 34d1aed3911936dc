// The real OpenCode and ripgrep, from npm, once.

import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const HERE = dirname(dirname(fileURLToPath(import.meta.url)))
export const ROOT = join(HERE, "../../..")
export const PLUGIN = dirname(HERE)
const PLACE = join(ROOT, "target/e2e")
const platform = { darwin: "darwin", linux: "linux", win32: "windows" }[process.platform]
const exe = process.platform === "win32" ? ".exe" : ""

export const OPENCODE = join(PLACE, `node_modules/opencode-${platform}-${process.arch}/bin/opencode${exe}`)
export const RIPGREP = join(PLACE, `node_modules/@vscode/ripgrep-${process.platform}-${process.arch}/bin`)
/** The program under test. */
export const FLAME = process.env.FLAME_BIN ?? join(ROOT, `target/debug/flame${exe}`)

/** Installs what the lock names, unless exactly that is there. */
export function install() {
  const lock = join(PLACE, "package-lock.json")
  const wanted = readFileSync(join(HERE, "package-lock.json"), "utf8")
  if (existsSync(OPENCODE) && existsSync(lock) && readFileSync(lock, "utf8") === wanted) return
  rmSync(PLACE, { recursive: true, force: true })
  mkdirSync(PLACE, { recursive: true })
  for (const name of ["package.json", ".npmrc"]) cpSync(join(HERE, name), join(PLACE, name))
  cpSync(join(HERE, "package-lock.json"), lock)
  // Not `npm ci`: it insists on the binaries of all platforms, which not every registry has.
  const words = ["install", "--no-save", "--ignore-scripts"]
  execFileSync(`npm${exe && ".cmd"}`, words, { cwd: PLACE, stdio: "pipe", shell: exe !== "" })
}

// Before the test files run side by side, each of which would install it again.
if (process.argv[1] === fileURLToPath(import.meta.url)) install()
