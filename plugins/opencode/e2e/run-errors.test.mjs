// `flame run` on servers that are wrong, far away, flaky or shared, as a user meets them.

import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { after, before, describe, it } from "node:test"
import { Crossing } from "./lab/crossing.mjs"
import { OPENCODE } from "./lab/install.mjs"
import { RunLab, TOOLS, left } from "./lab/run.mjs"
import { EXPECTED, GOAL, secret, titleOf } from "./lab/shop.mjs"

const PLAN = JSON.stringify({ goal: GOAL, frames: [{ title: "Schema" }, { title: "Docs" }] })
const DONE = [
  [GOAL, "completed", "the shop is built"],
  ["Docs", "completed", "The docs are written."],
  ["Schema", "completed", "Schema works"],
]

/** A little server, and its address. */
async function listening(answer, port = 0) {
  const server = createServer(answer)
  await new Promise((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve))
  return { server, url: `http://127.0.0.1:${server.address().port}` }
}

describe("flame run and a server that is not as expected", () => {
  let runs
  before(async () => (runs = await RunLab.start({ plan: PLAN })))
  after(() => runs.stop())

  /** Runs with a server's address, and returns what the user reads on standard error. */
  async function refused(server, env = {}) {
    const { code, err } = await runs.run(["--plan", runs.plan, ...(server ? ["--server", server] : [])], { env }).ended
    assert.equal(code, 1, err)
    assert.equal(runs.journalPath(), undefined, "a run was recorded")
    return err
  }

  it("says what is wrong with an address", async () => {
    assert.match(await refused("localhost:4096"), /does not begin with http/)
    assert.match(await refused("http://127.0.0.1:9"), /127\.0\.0\.1:9 cannot be reached[^]*is the server running/)
    assert.match(await refused(new URL(runs.lab.model.url).origin), /is not an OpenCode server[^]*`opencode serve` prints/)
  })

  it("says that a server is too old", async () => {
    const { server, url } = await listening((_, answer) => answer.end(`{"healthy":true,"version":"1.17.9"}`))
    try {
      assert.match(await refused(url), /OpenCode 1\.17\.9; this needs 1\.18 or newer[^]*opencode upgrade/)
    } finally {
      server.close()
    }
  })

  it("says that a program cannot be started", async () => {
    assert.match(await refused(undefined, { FLAME_OPENCODE: "/nowhere/opencode" }), /could not be started[^]*install OpenCode/)
    assert.match(await refused(undefined, { FLAME_OPENCODE: "/bin/false" }), /could not be started: it ended immediately/)
  })

  it("says that a password is wrong, and works with the right one", async () => {
    const env = { ...runs.lab.environment, OPENCODE_SERVER_PASSWORD: "right", OPENCODE_CONFIG_CONTENT: JSON.stringify(TOOLS) }
    const words = ["serve", "--port", "0", "--hostname", "127.0.0.1"]
    const server = spawn(OPENCODE, words, { cwd: runs.lab.project, env, stdio: ["ignore", "pipe", "inherit"] })
    try {
      const url = await new Promise((resolve) => {
        let said = ""
        server.stdout.on("data", (chunk) => {
          const found = /listening on (http:\S+)/.exec((said += chunk))
          if (found) resolve(found[1])
        })
      })
      assert.match(await refused(url), /rejected the password[^]*OPENCODE_SERVER_PASSWORD/)
      assert.match(await refused(url, { OPENCODE_SERVER_PASSWORD: "wrong" }), /rejected the password/)
      const { code, err } = await runs.run(["--plan", runs.plan, "--server", url], { env: { OPENCODE_SERVER_PASSWORD: "right" } }).ended
      assert.equal(code, 0, err)
      assert.deepEqual(runs.frames(), DONE)
      assert.doesNotMatch(readFileSync(runs.journalPath(), "utf8"), /right/, "the password is in the journal")
    } finally {
      server.kill()
      await new Promise((resolve) => server.once("exit", resolve))
    }
  })
})

describe("flame run and difficult surroundings", () => {
  it("works in a folder with blanks and letters of all kinds, and with OpenCode's own port taken", async () => {
    const runs = await RunLab.start({ plan: PLAN, name: "mein Läden 🛒 (1) 'x'" })
    const taken = await listening((_, answer) => answer.end(), 4096).catch(() => undefined)
    try {
      const { code, out, err } = await runs.run(["--plan", runs.plan]).ended
      assert.equal(code, 0, err + out)
      assert.deepEqual(runs.frames(), DONE)
      assert.deepEqual(left(runs.lab), [])
    } finally {
      taken?.server.close()
      await runs.stop()
    }
  })

  it("survives errors of the server and event streams that break, and sends nothing twice", async () => {
    const runs = await RunLab.start({ plan: PLAN, serve: true, config: TOOLS })
    const crossing = new Crossing()
    await crossing.start(() => runs.lab.url)
    crossing.cutStreams = 150
    const seen = new Map()
    // Each call fails twice: once before it has arrived, once after.
    crossing.fail = ({ name }) => {
      const times = (seen.get(name) ?? 0) + 1
      seen.set(name, times)
      return [{ status: 503, arrives: false }, { status: 502, arrives: true }][times - 1]
    }
    try {
      const { code, out, err } = await runs.run(["--plan", runs.plan, "--server", crossing.url]).ended
      assert.equal(code, 0, err + out)
      assert.deepEqual(runs.frames(), DONE)
      const titles = runs.lab.model.work().filter((request) => request.messages.at(-1).role !== "tool").map(titleOf)
      assert.deepEqual(titles.sort(), [GOAL, "Docs", "Schema"])
      assert.ok(Math.max(...seen.values()) >= 2)
    } finally {
      crossing.stop()
      await runs.stop()
    }
  })

  it("speaks TLS, and trusts only certificates that it was given", async () => {
    const runs = await RunLab.start({ plan: PLAN, serve: true, config: TOOLS })
    const at = (name) => join(runs.lab.root, name)
    const openssl = (...words) => execFileSync("openssl", words, { stdio: "pipe" })
    const key = (name) => ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", at(`${name}.key`)]
    openssl("req", "-x509", ...key("ca"), "-out", at("ca.pem"), "-days", "2", "-subj", "/CN=Lab")
    const leaf = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]
    openssl("req", "-x509", ...key("leaf"), "-out", at("leaf.pem"), "-days", "2", ...leaf, "-CA", at("ca.pem"), "-CAkey", at("ca.key"))
    const crossing = new Crossing()
    await crossing.start(() => runs.lab.url, { key: readFileSync(at("leaf.key")), cert: readFileSync(at("leaf.pem")) })
    const words = ["--plan", runs.plan, "--server", crossing.url]
    try {
      const stranger = await runs.run(words).ended
      assert.equal(stranger.code, 1)
      assert.match(stranger.err, /certificate/i)
      assert.equal(runs.journalPath(), undefined)
      const { code, out, err } = await runs.run(words, { env: { SSL_CERT_FILE: at("ca.pem") } }).ended
      assert.equal(code, 0, err + out)
      assert.deepEqual(runs.frames(), DONE)
    } finally {
      crossing.stop()
      await runs.stop()
    }
  })

  it("shares a server with the plugin, which leaves the sessions to it", async () => {
    const runs = await RunLab.start({ serve: true, plugin: {} })
    try {
      const { code, out, err } = await runs.run(["--plan", runs.plan, "--server", runs.lab.url, "--strategy", "parallel"]).ended
      assert.equal(code, 0, err + out)
      assert.deepEqual(runs.frames(), EXPECTED)
      for (const request of runs.lab.model.work()) {
        assert.ok(!request.says("<stack-frame") || !request.says("<stack-update"), "the plugin injected something")
        for (const [title] of EXPECTED) assert.ok(title === titleOf(request) || !request.says(secret(title)))
      }
      const sessions = await runs.lab.api("GET", "/session?limit=100")
      for (const { metadata } of sessions) assert.ok(metadata.flamestack.run && metadata.flamestack.frame)
    } finally {
      await runs.stop()
    }
  })

  it("leaves no server running, however it dies", async () => {
    for (const signal of ["SIGKILL", "SIGTERM", "SIGHUP"]) {
      const runs = await RunLab.start({ plan: PLAN, script: () => ({ text: "I think", hang: true }) })
      try {
        const working = runs.lab.model.waits()
        const driver = runs.run(["--plan", runs.plan])
        await working
        assert.equal(left(runs.lab).length > 0, true)
        // The first one pauses the run, which would wait for the model. Two at once may arrive as one.
        const again = setInterval(() => driver.kill(signal), 200)
        driver.kill(signal)
        await driver.ended.finally(() => clearInterval(again))
        for (let tries = 0; left(runs.lab).length > 0 && tries < 200; tries += 1) {
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
        assert.deepEqual(left(runs.lab), [], signal)
        assert.ok(existsSync(runs.journalPath()))
      } finally {
        await runs.stop()
      }
    }
  })
})
