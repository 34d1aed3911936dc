// A summariser that asks no model: OpenCode is pointed at it as if it were one.
//
// It listens on loopback while the host lives and answers only requests with its token. It answers with
// the instructions that the sidecar gave for the summary; the hook that sees the finished text replaces
// it by the whole brief.

import { randomBytes, timingSafeEqual } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** The names under which OpenCode knows it. */
export const PROVIDER = "flamestack"
export const MODEL = "recorded-state"
/** Maximum size of a request, in bytes: it holds a whole session, of which only the end is used. */
const LONGEST = 64 * 1024 * 1024
/** Number of characters of the session that are used if nothing is recorded. */
const TAIL = 8_000

/** A provider as OpenCode's configuration describes one. */
export type Provider = {
  npm: string
  name: string
  options: { baseURL: string; apiKey: string }
  models: Record<string, { name: string; tool_call: boolean; limit: { context: number; output: number } }>
}

export class Summariser {
  readonly #token = randomBytes(24).toString("hex")
  /** Returns what is recorded of a session; `undefined` for the newest of any session. */
  readonly #recorded: (session: string | undefined) => string | undefined
  readonly #served: (begun: number, ok: boolean) => void
  #server: Server | undefined

  constructor(
    recorded: (session: string | undefined) => string | undefined,
    served: (begun: number, ok: boolean) => void,
  ) {
    this.#recorded = recorded
    this.#served = served
  }

  /** Starts to listen and returns the provider for the host's configuration. */
  async open(): Promise<Provider> {
    const server = createServer((incoming, outgoing) => this.#take(incoming, outgoing))
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen(0, "127.0.0.1", () => resolve())
    })
    server.on("error", () => {})
    // The host must be able to end.
    server.unref()
    this.#server = server
    const { port } = server.address() as AddressInfo
    return {
      npm: "@ai-sdk/openai-compatible",
      name: "Flamestack",
      options: { baseURL: `http://127.0.0.1:${port}/v1`, apiKey: this.#token },
      models: {
        [MODEL]: { name: "Recorded state", tool_call: false, limit: { context: 10_000_000, output: 32_000 } },
      },
    }
  }

  close(): void {
    this.#server?.close()
    this.#server?.closeAllConnections()
  }

  #take(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const begun = performance.now()
    const refuse = (status: number) => {
      outgoing.writeHead(status, { connection: "close" }).end()
      incoming.destroy()
    }
    if (!this.#knows(incoming.headers.authorization)) return refuse(401)
    if (incoming.method !== "POST" || incoming.url !== "/v1/chat/completions") return refuse(404)
    const chunks: Buffer[] = []
    let size = 0
    incoming.on("error", () => {})
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length
      if (size > LONGEST) refuse(413)
      else chunks.push(chunk)
    })
    incoming.on("end", () => {
      const session = header(incoming, "x-session-id") ?? header(incoming, "x-session-affinity")
      const text = this.#recorded(session) ?? tail(Buffer.concat(chunks).toString("utf8"))
      answer(outgoing, text)
      this.#served(begun, true)
    })
  }

  #knows(authorization: string | undefined): boolean {
    const given = Buffer.from(authorization ?? "")
    const wanted = Buffer.from(`Bearer ${this.#token}`)
    return given.length === wanted.length && timingSafeEqual(given, wanted)
  }
}

function header(incoming: IncomingMessage, name: string): string | undefined {
  const value = incoming.headers[name]
  return typeof value === "string" && value !== "" ? value : undefined
}

/** Streams a text as a chat completion. */
function answer(outgoing: ServerResponse, text: string): void {
  outgoing.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store", connection: "close" })
  const chunk = (delta: object, finish: string | null, more: object = {}) => {
    const choices = [{ index: 0, delta, finish_reason: finish }]
    const data = { id: "recorded", object: "chat.completion.chunk", created: 0, model: MODEL, choices, ...more }
    outgoing.write(`data: ${JSON.stringify(data)}\n\n`)
  }
  chunk({ role: "assistant", content: text }, null)
  // No model was asked, so no tokens were used.
  chunk({}, "stop", { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } })
  outgoing.end("data: [DONE]\n\n")
}

/** Returns the end of the session that was to be summarised. */
function tail(raw: string): string {
  try {
    const { messages } = JSON.parse(raw) as { messages: { content: unknown }[] }
    const last = messages.at(-1)?.content
    const text = typeof last === "string" ? last : JSON.stringify(last)
    return text.slice(-TAIL)
  } catch {
    return "Nothing is recorded."
  }
}
