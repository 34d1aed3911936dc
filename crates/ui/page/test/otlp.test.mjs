// Spans for observability tools: sent by command and by setting to a collector on this machine.

import assert from "node:assert/strict"
import { execFile, spawn } from "node:child_process"
import { createServer } from "node:http"
import { test } from "node:test"
import { promisify } from "node:util"
import { FLAME, Lab } from "./lab.mjs"

/** A collector that keeps what it gets. While `held`, it does not answer. */
class Collector {
  spans = []
  requests = 0
  held = false
  #waiting = []

  async start() {
    this.server = createServer((asked, answer) => {
      let text = ""
      asked.on("data", (data) => (text += data))
      asked.on("end", () => {
        this.requests += 1
        this.path = asked.url
        this.service = JSON.parse(text).resourceSpans[0].resource.attributes[0].value.stringValue
        this.spans.push(...JSON.parse(text).resourceSpans[0].scopeSpans[0].spans)
        if (this.held) this.#waiting.push(answer)
        else answer.end("{}")
      })
    })
    await new Promise((done) => this.server.listen(0, "127.0.0.1", done))
    this.address = `http://127.0.0.1:${this.server.address().port}`
  }

  release() {
    this.held = false
    for (const answer of this.#waiting.splice(0)) answer.end("{}")
  }

  /** The spans of frames with a status. */
  frames(status) {
    const has = (span) => span.attributes.some((one) => one.key === "flamestack.frame.status" && one.value.stringValue === status)
    return this.spans.filter(has)
  }

  stop() {
    this.server.closeAllConnections()
    this.server.close()
  }
}

/** Runs a test with a project and a collector. */
function story(name, work) {
  test(name, async () => {
    const lab = new Lab()
    const collector = new Collector()
    await collector.start()
    try {
      lab.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.address
      await work(lab, collector)
    } finally {
      collector.stop()
      await lab.stop()
    }
  })
}

/** Opens and finishes frames until it is so. */
async function working(lab, done) {
  for (let n = 0; n < 200 && !done(); n++) {
    lab.push(`Piece ${n}`)
    lab.flame("pop", `Piece ${n} works`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.ok(done())
}

story("exporting twice sends the same spans, without a word of their content", async (lab, collector) => {
  lab.record("s1", [["Build the secret cart", 1_000, 9_000]])
  lab.push("Secret shop")
  lab.flame("pop", "Secret results")
  lab.env.OTEL_SERVICE_NAME = "my-agents"
  const run = (...words) => promisify(execFile)(FLAME, words, { cwd: lab.project, env: lab.env })
  await run("export", "--otlp")
  const first = collector.spans.splice(0)
  await run("export", "--otlp")
  assert.ok(first.length > 2)
  assert.deepEqual(collector.spans.splice(0), first)
  assert.equal(collector.path, "/v1/traces")
  assert.equal(collector.service, "my-agents")
  assert.ok(!JSON.stringify(first).includes("ecret"))
  await run("export", "--otlp", "--content")
  assert.match(JSON.stringify(collector.spans), /Secret shop/)
  assert.deepEqual(collector.spans.map((one) => one.spanId), first.map((one) => one.spanId))
})

story("with the setting, what finishes while a host runs is sent, and nothing of before", async (lab, collector) => {
  lab.push("Before")
  lab.flame("pop", "Done")
  const before = lab.tree()[0].id
  lab.env.FLAME_EXPORT_OTLP = "on"
  const sidecar = spawn(FLAME, ["sidecar"], { cwd: lab.project, env: lab.env, stdio: ["pipe", "ignore", "ignore"] })
  try {
    await working(lab, () => collector.frames("completed").length > 0)
    assert.ok(!JSON.stringify(collector.spans).includes(before))
    assert.ok(!JSON.stringify(collector.spans).includes("Piece"))
  } finally {
    sidecar.stdin.end()
  }
})

story("a collector that does not answer holds up nothing", async (lab, collector) => {
  collector.held = true
  lab.env.FLAME_EXPORT_OTLP = "on"
  const sidecar = spawn(FLAME, ["sidecar"], { cwd: lab.project, env: lab.env, stdio: ["pipe", "ignore", "ignore"] })
  const ended = new Promise((done) => sidecar.on("exit", done))
  await working(lab, () => collector.requests > 0)
  sidecar.stdin.end()
  assert.equal(await ended, 0)
  assert.ok(collector.held, "it ended while the collector was still silent")
  collector.release()
})

story("off is the default", async (lab, collector) => {
  const sidecar = spawn(FLAME, ["sidecar"], { cwd: lab.project, env: lab.env, stdio: ["pipe", "ignore", "ignore"] })
  const ended = new Promise((done) => sidecar.on("exit", done))
  lab.push("Piece")
  lab.flame("pop", "It works")
  sidecar.stdin.end()
  await ended
  // A process that was started in spite of it would send now.
  await new Promise((done) => setTimeout(done, 1_500))
  assert.equal(collector.requests, 0)
})
