// A long session, as OpenCode keeps it.

import { join } from "node:path"

/** The id of the n-th message. */
const name = (n) => `msg_${String(n).padStart(6, "0")}`

/**
 * The n-th message: a user's every twentieth; between them nearly every second one calls a tool and
 * the others speak at the same length. With more than 1,000 calls the pruning plugin that is measured
 * beside would count all their tokens again for every request, which takes it most of a minute.
 */
function message(n) {
  const time = { created: n + 1, completed: n + 2 }
  const model = { providerID: "mock", modelID: "mock-1" }
  if (n % 20 === 0) {
    const info = { role: "user", time: { created: time.created }, agent: "build", model }
    return { info, parts: [{ type: "text", text: `Please look at part ${n} of the shop next.` }] }
  }
  const tokens = { input: 100, output: 20, reasoning: 0, cache: { read: 0, write: 0 } }
  const calls = n % 2 === 1 && n % 20 !== 1
  const finish = calls ? "tool-calls" : "stop"
  const said = { cost: 0, tokens, mode: "build", agent: "build", path: { cwd: "/", root: "/" }, parentID: name(n - (n % 20)), finish }
  const words = `line of part ${n}\n`.repeat(40)
  const state = {
    status: "completed",
    input: { filePath: `/shop/src/part${n}.rs`, offset: n },
    output: words,
    title: "read",
    metadata: {},
    time: { start: n, end: n + 1 },
  }
  return {
    info: { role: "assistant", time, ...model, ...said },
    parts: [
      { type: "step-start" },
      { type: "text", text: calls ? `I look at part ${n}.` : words, time: { start: n, end: n } },
      ...(calls ? [{ type: "tool", callID: `call_${n}`, tool: "read", state }] : []),
      { type: "step-finish", reason: finish, cost: 0, tokens },
    ],
  }
}

/** Puts the first messages of a session where OpenCode reads them: into its database. */
export async function fill(session, count) {
  const { Database } = await import("bun:sqlite")
  const database = new Database(join(process.env.XDG_DATA_HOME, "opencode/opencode.db"))
  database.exec("PRAGMA busy_timeout = 5000")
  const addMessage = database.prepare("INSERT INTO message (id, session_id, time_created, time_updated, data) VALUES (?, ?, ?, ?, ?)")
  const addPart = database.prepare("INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) VALUES (?, ?, ?, ?, ?, ?)")
  database.transaction(() => {
    for (let n = 0; n < count; n += 1) {
      const { info, parts } = message(n)
      addMessage.run(name(n), session, n + 1, n + 1, JSON.stringify(info))
      for (const [place, part] of parts.entries()) addPart.run(`prt_${name(n)}_${place}`, name(n), session, n + 1, n + 1, JSON.stringify(part))
    }
  })()
  database.close()
}

/** The messages of each hundred that a frame covers. */
const FROM = 5
const TO = 95

/** Pushes and pops all through the session, so that most of it is folded. */
export async function frames(session, count, { stack_frame_push: push, stack_frame_pop: pop }) {
  const at = (n) => ({ sessionID: session, messageID: name(n), agent: "build", abort: new AbortController().signal })
  for (let n = 0; n + 100 <= count; n += 100) {
    await push.execute({ title: `Part ${n}`, successCriteria: "It is understood" }, at(n + FROM))
    await pop.execute({ status: "completed", results: `Part ${n} is as it should be` }, at(n + TO))
  }
}

/** Leaves out what those frames cover, without any looking up: what is sent is then as long for everybody. */
export function leaveOut(messages, count) {
  const folded = (n) => n < count && n % 20 !== 0 && n % 100 > FROM && n % 100 < TO
  const rest = messages.filter((_, n) => !folded(n))
  messages.splice(0, messages.length, ...rest)
}
