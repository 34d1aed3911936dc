// Makes the npm packages: the plugin, and one package for each platform that holds its `flame`.
//
//   node scripts/pack.mjs OUT [PLATFORM=BINARY]...
//
// PLATFORM is as Node names it, such as linux-x64. Nothing is published.

import { execFileSync } from "node:child_process"
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const PLUGIN = dirname(dirname(fileURLToPath(import.meta.url)))
const PLATFORMS = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64", "win32-x64"]

/** Packs the plugin and the given binaries into `out`; the names of the archives. */
export function pack(out, binaries) {
  mkdirSync(out, { recursive: true })
  const stage = mkdtempSync(join(tmpdir(), "flame-pack-"))
  try {
    const manifest = JSON.parse(readFileSync(join(PLUGIN, "package.json"), "utf8"))
    const { devDependencies, scripts, ...published } = manifest
    // Install scripts never run in OpenCode: the binary comes as a package of its own.
    published.optionalDependencies = Object.fromEntries(
      PLATFORMS.map((platform) => [`flamestack-${platform}`, manifest.version]),
    )
    const archives = [archive(stage, "plugin", published, out, (folder) => {
      for (const path of manifest.files) cpSync(join(PLUGIN, path), join(folder, path), { recursive: true })
    })]
    for (const [platform, binary] of Object.entries(binaries)) {
      if (!PLATFORMS.includes(platform)) throw new Error(`there is no platform ${platform}: there are ${PLATFORMS.join(", ")}`)
      const [os, cpu] = platform.split("-")
      const { version, license, repository } = manifest
      const described = {
        name: `flamestack-${platform}`,
        version,
        description: `The flame program for ${platform}`,
        license,
        repository,
        os: [os],
        cpu: [cpu],
        files: ["bin"],
      }
      archives.push(archive(stage, platform, described, out, (folder) => {
        const program = join(folder, "bin", os === "win32" ? "flame.exe" : "flame")
        cpSync(binary, program)
        chmodSync(program, 0o755)
      }))
    }
    return archives
  } finally {
    rmSync(stage, { recursive: true })
  }
}

function archive(stage, name, manifest, out, fill) {
  const folder = join(stage, name)
  mkdirSync(folder)
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)
  fill(folder)
  const words = ["pack", "--json", "--pack-destination", out]
  const [{ filename }] = JSON.parse(execFileSync("npm", words, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }))
  return join(out, filename)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [out, ...pairs] = process.argv.slice(2)
  const binaries = Object.fromEntries(pairs.map((pair) => pair.split("=")))
  for (const name of pack(out, binaries)) console.log(name)
}
