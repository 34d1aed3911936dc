// The calls of `flame run` to its server: recorded once on their way, and made again by a loop that does
// nothing else.

import { createServer, request as send } from "node:http"

/** Forwards calls and keeps those that are not streams. */
export class Recorder {
  calls = []
  #server

  async start(upstream) {
    this.#server = createServer(async (incoming, outgoing) => {
      const chunks = []
      for await (const chunk of incoming) chunks.push(chunk)
      const body = Buffer.concat(chunks)
      const { method, headers, url } = incoming
      const path = url.split("?")[0]
      if (path !== "/event") this.calls.push({ method, path, body: body.length > 0 ? JSON.parse(body) : undefined })
      const forwarded = send(new URL(url, upstream), { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode, answer.headers)
        answer.pipe(outgoing)
        outgoing.on("close", () => answer.destroy())
      })
      forwarded.on("error", () => outgoing.destroy())
      forwarded.end(body)
    })
    await new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve))
    this.url = `http://127.0.0.1:${this.#server.address().port}`
  }

  stop() {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  /** The bodies that were sent for each frame, in order: its session, its context and its prompt. */
  frames() {
    const writes = this.calls.filter((call) => call.method === "POST")
    const frames = []
    for (const { path, body } of writes) {
      if (path === "/session") frames.push({ session: body })
      else if (path.endsWith("/message")) frames.at(-1).context = body
      else if (path.endsWith("/prompt_async")) frames.at(-1).prompt = body
    }
    return frames
  }
}

let drawn = 0
/** An id as OpenCode makes them. */
function id(prefix) {
  const time = (BigInt(Date.now() - 1) * 0x1000n + BigInt((drawn += 1) % 4096)) & 0xffff_ffff_ffffn
  const tail = Array.from({ length: 14 }, () => Math.floor(Math.random() * 36).toString(36)).join("")
  return `${prefix}_${time.toString(16).padStart(12, "0")}${tail}`
}

const renamed = (body) => ({ ...body, messageID: id("msg"), parts: body.parts.map((part) => ({ ...part, id: id("prt") })) })

/** Makes the calls of some frames, each of them once, and waits for each turn by its event. Returns the time, in milliseconds. */
export async function bare(lab, frames) {
  const place = `directory=${encodeURIComponent(lab.project)}`
  const call = async (method, path, body) => {
    const mark = path.includes("?") ? "&" : "?"
    const answer = await fetch(`${lab.url}${path}${mark}${place}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    })
    const text = await answer.text()
    return answer.ok && text !== "" ? JSON.parse(text) : undefined
  }
  const begun = performance.now()
  for (const frame of frames) {
    const { id: session } = await call("POST", "/session", frame.session)
    await call("POST", `/session/${session}/message`, renamed(frame.context))
    const prompt = renamed(frame.prompt)
    const idle = lab.next((event) => event.type === "session.idle" && event.properties.sessionID === session)
    await call("POST", `/session/${session}/prompt_async`, prompt)
    while (!(await call("GET", `/session/${session}/message/${prompt.messageID}`))) await new Promise((resolve) => setTimeout(resolve, 5))
    await idle
    for (const path of ["/session/status", `/session/${session}/message`, "/permission", "/question"]) await call("GET", path)
  }
  return performance.now() - begun
}
