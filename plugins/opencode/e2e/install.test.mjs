// The packages, installed without a registry: the binary of this platform is found and works.

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { pack } from "../scripts/pack.mjs"
import { FLAME } from "./lab/install.mjs"
import { Lab } from "./lab/opencode.mjs"

const place = mkdtempSync(join(tmpdir(), "flame-install-"))
after(() => rmSync(place, { recursive: true, force: true }))

test("packed, installed from the archives, and run by OpenCode", async () => {
  const platform = `${process.platform}-${process.arch}`
  const archives = pack(join(place, "archives"), { [platform]: FLAME })
  writeFileSync(join(place, "package.json"), "{}")
  const words = ["install", "--offline", "--no-audit", "--no-fund", "--no-save", ...archives]
  execFileSync("npm", words, { cwd: place, stdio: "pipe" })
  const installed = join(place, "node_modules/flamestack-opencode")
  assert.ok(existsSync(join(installed, "dist/index.js")))
  assert.ok(!existsSync(join(installed, "test")), "only what runs is packed")

  // Neither an option nor the environment says where `flame` is.
  const lab = await Lab.start({ plugin: false, plugins: [installed], env: { FLAME_BIN: "" } })
  try {
    lab.model.on("Push something", { calls: [{ name: "stack_frame_push", args: { title: "Installed", successCriteria: "It runs" } }] }, { text: "Done" })
    const session = await lab.session({ title: "Installed" })
    await lab.prompt(session, "Push something")
    assert.ok(lab.model.work(session).at(-1).says("“Installed” is in progress"))
    assert.deepEqual(lab.noise(), [])
  } finally {
    await lab.stop()
  }
})
