import assert from "node:assert/strict"
import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { fileURLToPath, pathToFileURL } from "node:url"
import plugin from "../dist/index.js"

const double = fileURLToPath(new URL("../e2e/lab/double.mjs", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "flamestack-copy-"))
after(() => rmSync(folder, { recursive: true, force: true }))

test("a second copy of the plugin stays silent until the first one has gone", async () => {
  cpSync(new URL("../dist", import.meta.url), join(folder, "dist"), { recursive: true })
  const { default: second } = await import(pathToFileURL(join(folder, "dist/index.js")).href)
  const logged = []
  const client = { app: { log: async ({ body }) => logged.push(body.message) } }
  const start = (copy, directory) =>
    copy.server({ client, directory }, { deadline: 10_000, command: [process.execPath, double, "well"] })

  const first = await start(plugin, "/twice")
  assert.deepEqual(await start(second, "/twice"), {}, "no hooks, no tools")
  assert.match(logged.join("\n"), /loaded twice/)
  const elsewhere = await start(second, "/elsewhere")
  assert.ok(elsewhere["chat.message"], "another directory is free")
  const again = await start(plugin, "/twice")
  assert.ok(again["chat.message"], "the same copy may start again")
  await again.dispose()
  await first.dispose()
  const heir = await start(second, "/twice")
  assert.ok(heir["chat.message"])
  await Promise.all([heir.dispose(), elsewhere.dispose()])
})
