// Attacks on the page. Each one is refused or harmless; docs/ui.md names the advisories that they come from.

import assert from "node:assert/strict"
import { request } from "node:http"
import { createServer } from "node:http"
import { execFileSync, spawn } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { connect } from "node:net"
import { networkInterfaces } from "node:os"
import { after, before, test } from "node:test"
import { FLAME, Lab, browse, open } from "./lab.mjs"

let browser, lab, address, port, cookie

before(async () => {
  browser = await browse()
  lab = new Lab()
  lab.push("Secret plans")
  address = await lab.serve()
  port = Number(new URL(address).port)
  const token = new URL(address).hash.slice(1)
  const entered = await ask("POST", "/enter", { body: { token }, origin: lab.origin })
  assert.equal(entered.status, 204)
  cookie = entered.headers["set-cookie"][0].split(";")[0]
})
after(async () => {
  await browser.close()
  await lab.stop()
})

/** A request with exactly these headers, as no browser would send it. */
function ask(method, path, { host = `127.0.0.1:${port}`, origin, body, headers = {}, with: session } = {}) {
  return new Promise((done, failed) => {
    const sent = { host, ...(origin ? { origin } : {}), ...(body ? { "content-type": "application/json" } : {}), ...(session ? { cookie: session } : {}), ...headers }
    const asked = request({ host: "127.0.0.1", port, method, path, headers: sent, setHost: false }, (answer) => {
      let text = ""
      answer.on("data", (data) => {
        text += data
        // A stream does not end on its own.
        if (path === "/events") asked.destroy(), done({ status: answer.statusCode, headers: answer.headers, text })
      })
      answer.on("end", () => done({ status: answer.statusCode, headers: answer.headers, text }))
    })
    asked.on("error", failed)
    asked.end(body ? JSON.stringify(body) : undefined)
  })
}

const READS = ["/api/sessions", "/api/graph", "/api/chart", "/api/picture", "/api/frame?id=a", "/api/context?frame=a", "/api/search?q=a", "/api/brief", "/events"]
const tree = { open: [], closed: [], more: {} }

test("without the session nothing is read and nothing is done", async () => {
  for (const path of READS) assert.equal((await ask("GET", path)).status, 401, path)
  const acts = await ask("POST", "/api/act", { origin: lab.origin, body: { do: { kind: "undo" } } })
  assert.equal(acts.status, 401)
  assert.equal((await ask("POST", "/api/tree", { origin: lab.origin, body: tree })).status, 401)
})

test("with the session it works, so that the refusals here mean something", async () => {
  const read = await ask("POST", "/api/tree", { origin: lab.origin, body: tree, with: cookie })
  assert.equal(read.status, 200)
  assert.ok(read.text.includes("Secret plans"))
  assert.equal((await ask("GET", "/events", { with: cookie })).status, 200)
})

test("another host is refused on every route, the page itself included (DNS rebinding, GHSA-9cvx-7x8q-3g6m)", async () => {
  for (const host of ["evil.example", `evil.example:${port}`, "127.0.0.1", `127.0.0.1:${port + 1}`, `127.0.0.1.evil.example:${port}`, `localhost.:${port}`, ""]) {
    for (const path of ["/", "/page/app.js", ...READS]) {
      const answer = await ask("GET", path, { host, with: cookie })
      assert.ok([400, 421].includes(answer.status), `${host} ${path}: ${answer.status}`)
    }
  }
})

test("another origin is refused, for reading too (GHSA-gr74-4xfh-6jw9: no CORS)", async () => {
  for (const origin of ["http://evil.example", "null", `http://127.0.0.1:${port + 1}`, `https://127.0.0.1:${port}`, `http://localhost:${port}`]) {
    for (const path of READS) {
      const answer = await ask("GET", path, { origin, with: cookie })
      assert.equal(answer.status, 403, `${origin} ${path}`)
      assert.equal(answer.headers["access-control-allow-origin"], undefined)
    }
    const acts = await ask("POST", "/api/act", { origin, with: cookie, body: { do: { kind: "undo" } } })
    assert.equal(acts.status, 403)
  }
  assert.equal((await ask("OPTIONS", "/api/act", { origin: "http://evil.example", with: cookie })).status, 405)
})

test("a change without an origin is refused (GHSA-x4q8-2g66-789p)", async () => {
  for (const path of ["/api/act", "/api/tree", "/enter"]) {
    const answer = await ask("POST", path, { with: cookie, body: { do: { kind: "undo" } } })
    assert.equal(answer.status, 403, path)
  }
})

test("another user of the machine reads neither the page nor the files that lead to it", { skip: process.getuid?.() !== 0 }, async () => {
  const another = 65_534
  const fresh = new Lab()
  try {
    fresh.push("Secret plans")
    chmodSync(fresh.root, 0o755)
    // A browser that keeps what it was given, in place of the user's own.
    const bin = join(fresh.root, "bin")
    mkdirSync(bin)
    writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\necho "$1" > ${fresh.root}/opened\n`, { mode: 0o755 })
    const server = spawn(FLAME, ["ui"], { cwd: fresh.project, env: { ...fresh.env, PATH: `${bin}:${fresh.env.PATH}` } })
    fresh.servers.push(server)
    const url = new URL(await new Promise((done) => server.stdout.once("data", (data) => done(String(data).trim()))))
    const opened = () => (existsSync(join(fresh.root, "opened")) ? readFileSync(join(fresh.root, "opened"), "utf8") : "")
    for (let left = 1_500; !opened().endsWith("\n") && left > 0; left -= 1) await new Promise((done) => setTimeout(done, 20))
    const file = opened().trim()
    const token = url.hash.slice(1)
    assert.ok(readFileSync(file, "utf8").includes(token), "the user's browser gets the token")

    const script = `
      const { readFileSync } = require("node:fs")
      const refused = (path) => { try { readFileSync(path); return "read" } catch (error) { return error.code } }
      fetch(${JSON.stringify(url.origin)} + "/api/sessions").then((answer) => console.log(JSON.stringify({
        page: answer.status, file: refused(${JSON.stringify(file)}), command: readFileSync("/proc/${server.pid}/cmdline", "latin1"),
      })))`
    const seen = JSON.parse(execFileSync(process.execPath, ["-e", script], { uid: another, gid: another, cwd: "/", encoding: "utf8" }))
    assert.equal(seen.page, 401)
    assert.match(seen.file, /EACCES|ENOENT/)
    assert.ok(!seen.command.includes(token), "what every user sees in the list of processes")
  } finally {
    await fresh.stop()
  }
})

test("what a browser says about where a request comes from counts", async () => {
  for (const site of ["cross-site", "same-site", "none", "?"]) {
    const answer = await ask("GET", "/api/sessions", { with: cookie, headers: { "sec-fetch-site": site, "sec-fetch-mode": "cors" } })
    assert.equal(answer.status, 403, site)
  }
  const page = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }
  assert.equal((await ask("GET", "/", { headers: page })).status, 200, "the page itself may be opened from a link: it holds no data")
  assert.equal((await ask("GET", "/", { headers: { ...page, "sec-fetch-dest": "iframe" } })).status, 403)
})

test("paths that can be read in two ways are refused (prism-coder PR 178)", async () => {
  for (const path of ["/x/../api/sessions", "/page/../api/sessions", "/%2e%2e/api/sessions", "/page/%2e%2e%2fapi/sessions", "//api/sessions", "/api//sessions", "/page/..%5capi", "/api/sessions/", "/API/sessions", "/page/../../Cargo.toml"]) {
    const answer = await ask("GET", path)
    assert.ok([400, 401, 404].includes(answer.status), `${path}: ${answer.status}`)
    assert.ok(!answer.text.includes("Secret"))
  }
})

test("the token works once, and no answer ever contains it or the session (token-meter 34)", async () => {
  const token = new URL(address).hash.slice(1)
  assert.equal((await ask("POST", "/enter", { origin: lab.origin, body: { token } })).status, 403, "used already")
  assert.equal((await ask("POST", "/enter", { origin: lab.origin, body: { token: "0".repeat(64) } })).status, 403)
  const secret = cookie.split("=")[1]
  for (const path of ["/", "/page/app.js", ...READS]) {
    const { text } = await ask("GET", path, { with: cookie })
    assert.ok(!text.includes(token) && !text.includes(secret), path)
  }
})

test("the session of another port or of an older run is worth nothing (opencodex PR 2414)", async () => {
  const [name, value] = cookie.split("=")
  assert.equal(name, `flame_${port}`)
  assert.equal((await ask("GET", "/api/sessions", { with: `flame_${port + 1}=${value}` })).status, 401)
  const other = new Lab()
  try {
    await other.serve()
    const otherPort = Number(new URL(other.address).port)
    const answer = await fetch(`http://127.0.0.1:${otherPort}/api/sessions`, { headers: { cookie: `flame_${otherPort}=${value}` } })
    assert.equal(answer.status, 401)
  } finally {
    await other.stop()
  }
})

test("the cookie stays on this site and away from scripts", async () => {
  const fresh = new Lab()
  try {
    const url = new URL(await fresh.serve())
    const answer = await fetch(`${url.origin}/enter`, {
      method: "POST", headers: { origin: url.origin, "content-type": "application/json" }, body: JSON.stringify({ token: url.hash.slice(1) }),
    })
    const set = answer.headers.get("set-cookie")
    assert.match(set, /HttpOnly/)
    assert.match(set, /SameSite=Strict/)
    assert.doesNotMatch(set, /Domain|Expires|Max-Age/)
  } finally {
    await fresh.stop()
  }
})

test("a web socket is not accepted, from anywhere (pi-agent-dashboard 625)", async () => {
  const said = await new Promise((done, failed) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(`GET /events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nOrigin: http://evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGVzdA==\r\nSec-WebSocket-Version: 13\r\n\r\n`))
    socket.on("data", (data) => (socket.destroy(), done(String(data))))
    socket.on("error", failed)
  })
  assert.match(said, /^HTTP\/1.1 403/)
})

test("nothing but this machine is listened to (GHSA-gr74-4xfh-6jw9: 0.0.0.0)", async () => {
  const outside = Object.values(networkInterfaces()).flat().filter((one) => !one.internal && one.family === "IPv4")
  for (const { address: ip } of outside) {
    const reached = await new Promise((done) => {
      const socket = connect({ port, host: ip, timeout: 1_000 }, () => (socket.destroy(), done(true)))
      socket.on("error", () => done(false))
      socket.on("timeout", () => (socket.destroy(), done(false)))
    })
    assert.equal(reached, false, ip)
  }
})

test("bodies that are not what the page sends change nothing", async () => {
  const before = lab.flame("log", "--json", "--help") && lab.tree().length
  for (const body of [{}, { do: {} }, { do: { kind: "delete", frame: "a" } }, { do: { kind: "undo", more: 1 } }, { do: { kind: "pop", frame: "a", outcome: "x", results: "y" } }, []]) {
    const answer = await ask("POST", "/api/act", { origin: lab.origin, with: cookie, body })
    assert.ok(answer.status === 422, `${JSON.stringify(body)}: ${answer.status}`)
  }
  const form = await ask("POST", "/api/act", { origin: lab.origin, with: cookie, headers: { "content-type": "text/plain" } })
  assert.ok([400, 415].includes(form.status))
  const large = await ask("POST", "/api/act", { origin: lab.origin, with: cookie, body: { do: { kind: "directive", frame: "a", text: "x".repeat(2_000_000) } } })
  assert.equal(large.status, 413)
  assert.equal(lab.tree().length, before)
})

test("a page of another site can read nothing, do nothing and frame nothing", async () => {
  const fresh = new Lab()
  fresh.push("Secret plans")
  const evil = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<h1>Evil</h1>"))
  await new Promise((done) => evil.listen(0, "127.0.0.1", done))
  try {
    const url = new URL(await fresh.serve())
    // The user is logged in, in the same browser.
    const page = await open(browser, url.href)
    await page.locator(".row", { hasText: "Secret plans" }).waitFor()
    const other = await page.context().newPage()
    await other.goto(`http://localhost:${evil.address().port}/`)
    const tried = await other.evaluate(async (origin) => {
      const outcomes = {}
      const attempt = async (name, work) => { try { outcomes[name] = await work() } catch { outcomes[name] = "refused" } }
      await attempt("read", async () => (await fetch(`${origin}/api/sessions`, { credentials: "include" })).text())
      await attempt("blind", async () => (await fetch(`${origin}/api/act`, { method: "POST", mode: "no-cors", credentials: "include", body: JSON.stringify({ do: { kind: "undo" } }) })).type)
      await attempt("stream", () => new Promise((done) => {
        const source = new EventSource(`${origin}/events`, { withCredentials: true })
        source.onerror = () => (source.close(), done("refused"))
        source.addEventListener("hello", () => done("heard"))
      }))
      await attempt("socket", () => new Promise((done) => {
        const socket = new WebSocket(origin.replace("http", "ws") + "/events")
        socket.onerror = () => done("refused")
        socket.onopen = () => done("open")
      }))
      await attempt("script", () => new Promise((done) => {
        const script = document.createElement("script")
        script.src = `${origin}/api/picture`
        script.onerror = () => done("refused")
        script.onload = () => done("loaded")
        document.body.append(script)
      }))
      await attempt("frame", () => new Promise((done) => {
        const frame = document.createElement("iframe")
        frame.src = origin
        frame.onload = () => { try { done(frame.contentDocument?.title ?? "refused") } catch { done("refused") } }
        document.body.append(frame)
      }))
      return outcomes
    }, url.origin)
    assert.deepEqual(tried, { read: "refused", blind: "refused", stream: "refused", socket: "refused", script: "refused", frame: "refused" })
    assert.equal(fresh.tree().length, 1, "nothing was undone")
    assert.equal(await page.locator(".row", { hasText: "Secret plans" }).count(), 1)
  } finally {
    evil.close()
    await fresh.stop()
  }
})

test("hostile titles, results and notes are text", async () => {
  const fresh = new Lab()
  try {
    const bad = '<img src=x onerror="window.hit=1"><script>window.hit=2</script>'
    fresh.push(`${bad} title`, "--criteria", `${bad} criteria`)
    fresh.flame("note", "decision", `${bad} decision`, "--why", "javascript:window.hit=3")
    fresh.push("\u202egnp.exe \u200b\u001b[31m{{constructor.constructor('window.hit=4')()}}")
    fresh.flame("pop", `${bad} results`)
    const page = await open(browser, await fresh.serve())
    await page.locator(".row", { hasText: "title" }).first().click()
    for (const part of ["Frame", "What the model got", "History"]) {
      await page.locator(".parts button", { hasText: part }).click()
      await page.locator(".parts button[aria-pressed=true]", { hasText: part }).waitFor()
    }
    await page.keyboard.press("2")
    await page.locator("#flame svg, #flame p").first().waitFor()
    await page.keyboard.press("3")
    await page.locator(".session").first().waitFor()
    await page.keyboard.press("/")
    await page.keyboard.type("window")
    await page.keyboard.press("Enter")
    await page.locator("#found button").first().waitFor()
    assert.equal(await page.evaluate(() => window.hit), undefined)
    assert.equal(await page.locator("img[src=x], main script").count(), 0)
    assert.ok(!(await page.content()).includes("\u202e"))
    assert.deepEqual(page.problems, [])
  } finally {
    await fresh.stop()
  }
})
