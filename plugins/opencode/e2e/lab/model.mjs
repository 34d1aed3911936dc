// A scripted model on loopback: it answers what a test wrote, keeps every request, and refuses
// what the real APIs would refuse.

import { createServer } from "node:http"
import { WIRES } from "./wires.mjs"

/** A request that reached the model. */
export class Request {
  constructor(name, raw, headers) {
    this.name = name
    this.wire = WIRES[name]
    this.raw = raw
    this.body = JSON.parse(raw)
    this.session = headers["x-session-id"] ?? headers["session_id"] ?? this.body.prompt_cache_key
    this.system = this.wire.system(this.body)
    this.messages = this.wire.messages(this.body)
    this.userTexts = this.wire.userTexts(this.body)
    this.tools = this.wire.tools(this.body)
    const beginning = this.system[0] ?? ""
    this.kind = beginning.startsWith("You are a title generator")
      ? "title"
      : beginning.startsWith("You are a context summarization agent")
        ? "summary"
        : "work"
  }

  /** Returns true if a text is anywhere in it. */
  says(text) {
    return this.raw.includes(text)
  }

  /** Everything in the order in which a cache sees it: tools, system prompt, messages. */
  get prompt() {
    const text = this.wire === WIRES.responses ? this.body.input : this.body.messages
    return JSON.stringify([this.body.tools ?? [], this.body.system ?? [], text]).replaceAll(
      /,"cache_control":\{"type":"ephemeral"\}/g,
      "",
    )
  }
}

export class ScriptedModel {
  /** @type {Request[]} */
  requests = []
  problems = []
  /** Paths of requests that no model serves. */
  strangers = []
  summary = "## Objective\n- the summary of the scripted model"
  #scripts = []
  #always
  #calls = 0
  #hung = []
  #server

  /** Answers requests whose newest user text contains `key`, one reply after the other. */
  on(key, ...replies) {
    this.#scripts.push({ key, replies: [...replies] })
  }

  /** Answers every request for which nothing else is scripted. */
  always(reply) {
    this.#always = reply
  }

  /** The requests of the agent's own work, of one session if it is named. */
  work(session) {
    return this.requests.filter((one) => one.kind === "work" && (!session || one.session === session))
  }

  /** The next request whose answer begins and does not end. */
  waits() {
    return new Promise((resolve) => this.#hung.push(resolve))
  }

  async start() {
    this.#server = createServer((incoming, outgoing) => {
      const chunks = []
      incoming.on("data", (chunk) => chunks.push(chunk))
      incoming.on("end", () => this.#answer(incoming, Buffer.concat(chunks).toString(), outgoing))
    })
    await new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve))
    this.url = `http://127.0.0.1:${this.#server.address().port}/v1`
  }

  stop() {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #answer(incoming, raw, outgoing) {
    const name = Object.keys(WIRES).find((one) => WIRES[one].path === incoming.url)
    if (!name) {
      this.strangers.push(incoming.url)
      return outgoing.writeHead(404).end()
    }
    const request = new Request(name, raw, incoming.headers)
    this.requests.push(request)
    const problem = request.wire.problem(request.body)
    const reply = problem ? undefined : await this.#reply(request)
    if (!reply) {
      const message = problem ?? `nothing is scripted for ${JSON.stringify(request.userTexts.at(-1))}`
      this.problems.push(message)
      return outgoing.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error: { message } }))
    }
    if (reply.refuse) {
      // A provider that is busy is asked again, at once if it says so.
      const headers = { "content-type": "application/json", "retry-after-ms": "1", ...reply.headers }
      return outgoing.writeHead(reply.status ?? 400, headers).end(JSON.stringify({ error: reply.refuse }))
    }
    outgoing.writeHead(200, { "content-type": "text/event-stream" })
    const stream = request.wire.stream(reply, () => `call_${(this.#calls += 1)}`)
    let chunks = 0
    for (const { event, data } of stream) {
      chunks += 1
      // A model that is going to be interrupted has begun to talk, and never ends.
      if (reply.hang && chunks > 2) return this.#hung.splice(0).forEach((resolve) => resolve(request))
      // One that takes its time goes on when it is let.
      if (reply.pause && chunks === 3) await reply.pause(request)
      if (event) outgoing.write(`event: ${event}\n`)
      outgoing.write(`data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`)
    }
    outgoing.end()
  }

  async #reply(request) {
    if (request.kind === "title") return { text: "A title" }
    if (request.kind === "summary") return typeof this.summary === "function" ? this.summary(request) : { text: this.summary }
    const newest = request.userTexts.at(-1) ?? ""
    const script = this.#scripts.findLast(({ key, replies }) => newest.includes(key) && replies.length > 0)
    const reply = script?.replies.shift() ?? this.#always
    return typeof reply === "function" ? reply(request) : reply
  }
}

/** Returns the number of bytes at the beginning that two requests share, and their share of the later one. */
export function shared(before, after) {
  const [a, b] = [before.prompt, after.prompt]
  let count = 0
  while (count < a.length && a[count] === b[count]) count += 1
  return { bytes: count, share: count / b.length }
}

/** The share of the prompts' bytes that the request before had already, over a whole run. */
export function reuse(requests) {
  let [reused, all] = [0, 0]
  for (const [index, request] of requests.entries()) {
    if (index === 0) continue
    reused += shared(requests[index - 1], request).bytes
    all += request.prompt.length
  }
  return reused / all
}
