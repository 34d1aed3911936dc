// The way between `flame run` and the server: a test can stop here before a call arrives, when it has
// arrived and its answer has not come back, and after that.

import { createServer, request as send } from "node:http"
import { createServer as createSecureServer } from "node:https"

/** A call that changes something, with a name that stays the same when it is made again. */
function describe(method, url, raw) {
  const path = url.split("?")[0]
  const body = raw.length > 0 ? JSON.parse(raw) : {}
  if (method !== "POST") return undefined
  if (path === "/session") {
    const { frame, attempt } = body.metadata?.flamestack ?? {}
    return { kind: "session", name: `session ${frame} ${attempt}` }
  }
  const [, session, call] = /^\/session\/([^/]+)\/(message|prompt_async)$/.exec(path) ?? []
  if (!session) return undefined
  return { kind: call === "message" ? "context" : "prompt", name: `${call} ${body.messageID}` }
}

export class Crossing {
  /** Returns the server's address, which changes when it is started again. */
  #upstream
  /** Called with each call that changes something; returns what to do around it, if anything. */
  watch = () => undefined
  /** Called with each call that changes something; returns an error to answer with, before it has arrived or after. */
  fail = () => undefined
  /** Time after which a stream of events is cut, in milliseconds. */
  cutStreams
  #gate = Promise.resolve()
  #reads = false
  #open = () => undefined
  #server
  #sockets = new Set()

  /** `tls`: key and certificate, for `https`. */
  async start(upstream, tls) {
    this.#upstream = upstream
    const pass = (incoming, outgoing) => this.#pass(incoming, outgoing).catch(() => outgoing.destroy())
    this.#server = tls ? createSecureServer(tls, pass) : createServer(pass)
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket)
      socket.on("close", () => this.#sockets.delete(socket))
    })
    await new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve))
    this.url = `${tls ? "https" : "http"}://127.0.0.1:${this.#server.address().port}`
  }

  /** Lets nothing more through until `open`; with `reads`, calls that only read. */
  hold(reads = false) {
    this.#reads = reads
    this.#gate = new Promise((resolve) => (this.#open = resolve))
  }

  /** Breaks all connections, as the end of either side does, and lets new ones through. */
  open() {
    for (const socket of this.#sockets) socket.destroy()
    this.#open()
  }

  stop() {
    this.open()
    this.#server.close()
  }

  async #pass(incoming, outgoing) {
    const chunks = []
    for await (const chunk of incoming) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    if (!this.#reads || incoming.method !== "GET") await this.#gate
    if (outgoing.destroyed) return
    const call = describe(incoming.method, incoming.url, body.toString())
    const failure = call && this.fail(call)
    if (failure?.arrives) for await (const _ of await this.#forward(incoming, body));
    if (failure) return outgoing.writeHead(failure.status, { "content-type": "application/json" }).end(`{"message":"made up"}`)
    if (this.cutStreams && incoming.url.startsWith("/event")) setTimeout(() => outgoing.destroy(), this.cutStreams)
    const plan = call && this.watch(call)
    if (plan?.moment === "before") {
      this.hold()
      await plan.happen()
      return outgoing.destroy()
    }
    const answer = await this.#forward(incoming, body)
    if (!plan) {
      outgoing.writeHead(answer.statusCode, answer.headers)
      answer.on("error", () => outgoing.destroy())
      outgoing.on("close", () => answer.destroy())
      answer.pipe(outgoing)
      return
    }
    const parts = []
    for await (const chunk of answer) parts.push(chunk)
    // Until its outcome is recorded, the driver may look.
    this.hold(plan.moment === "after")
    if (plan.moment === "during") {
      await plan.happen()
      return outgoing.destroy()
    }
    outgoing.writeHead(answer.statusCode, answer.headers)
    outgoing.end(Buffer.concat(parts))
    await plan.happen()
  }

  #forward(incoming, body) {
    return new Promise((resolve, reject) => {
      const { method, headers } = incoming
      // No connection is kept: the server may be another one by then.
      const options = { method, headers: { ...headers, connection: "close" }, agent: false }
      const forwarded = send(new URL(incoming.url, this.#upstream()), options, resolve)
      forwarded.on("error", reject)
      incoming.once("close", () => incoming.socket.destroyed && forwarded.destroy())
      forwarded.end(body)
    })
  }
}
