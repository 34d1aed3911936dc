// Installed by `flame init`, and from the packages without a registry: OpenCode finds and runs it.

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
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

/** A turn in which the model pushes a frame. */
async function pushes(lab, title) {
  const session = await lab.session({ title })
  const push = { name: "stack_frame_push", args: { title, successCriteria: "It runs" } }
  lab.model.on(`Push ${title}`, { calls: [push] }, { text: "Done" })
  await lab.prompt(session, `Push ${title}`)
  return lab.model.work(session).at(-1).says(`“${title}” is in progress`)
}

test("`flame init`, for a project and for all: it runs, OpenCode installs nothing, and it goes without a trace", async () => {
  const lab = await Lab.start({ plugin: false, seeded: false })
  const folder = join(lab.environment.XDG_CONFIG_HOME, "opencode")
  const found = () => readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")])
  const git = () => execFileSync("git", ["status", "--short"], { cwd: lab.project, env: lab.environment, encoding: "utf8" })
  try {
    await lab.halt()
    const before = found()
    for (const scope of [[], ["--global"]]) {
      lab.flame(["init", ...scope])
      await lab.serve()
      assert.ok(await pushes(lab, scope.length > 0 ? "For all" : "For one"))
      assert.deepEqual(lab.model.strangers, [], "nothing was fetched")
      assert.deepEqual(lab.noise(), [])
      await lab.halt()
      lab.flame(["init", "--remove", ...scope])
      assert.deepEqual(found(), before)
      assert.equal(git(), "")
    }
  } finally {
    await lab.stop()
  }
})
