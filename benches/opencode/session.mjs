// A long session, as OpenCode would hand it to a plugin.

/**
 * The n-th message: a user's every twentieth; between them every second one calls a tool and the
 * others speak at the same length. With more than 1,000 calls the pruning plugin that is measured
 * beside would count all their tokens again for every request, which takes it most of a minute.
 */
function message(session, n) {
  const id = `msg_${String(n).padStart(6, "0")}`
  const part = (more) => ({ id: `prt_${id}_${more.type}`, messageID: id, sessionID: session, ...more })
  if (n % 20 === 0) {
    const info = { id, sessionID: session, role: "user", time: { created: n }, agent: "build", model: { providerID: "mock", modelID: "mock-1" } }
    return { info, parts: [part({ type: "text", text: `Please look at part ${n} of the shop next.` })] }
  }
  const tokens = { input: 100, output: 20, reasoning: 0, cache: { read: 0, write: 0 } }
  const info = { id, sessionID: session, role: "assistant", time: { created: n, completed: n + 1 }, cost: 0, tokens, modelID: "mock-1", providerID: "mock" }
  const words = `line of part ${n}\n`.repeat(40)
  const state = {
    status: "completed",
    input: { filePath: `/shop/src/part${n}.rs`, offset: n },
    output: words,
    title: "read",
    metadata: {},
    time: { start: n, end: n + 1 },
  }
  const calls = n % 2 === 1
  return {
    info,
    parts: [
      part({ type: "step-start" }),
      part({ type: "text", text: calls ? `I look at part ${n}.` : words, time: { start: n, end: n } }),
      ...(calls ? [part({ type: "tool", callID: `call_${n}`, tool: "read", state })] : []),
      part({ type: "step-finish", reason: calls ? "tool-calls" : "stop", cost: 0, tokens }),
    ],
  }
}

/** What the host's database holds: a text for each message. */
const rows = []

/** The first messages of the session, read anew from their texts, as the host does for each request. */
export function messages(session, count) {
  for (let n = rows.length; n < count; n += 1) rows.push(JSON.stringify(message(session, n)))
  return rows.slice(0, count).map((row) => JSON.parse(row))
}

/** Pushes and pops all through the session, so that most of it is folded. */
export async function frames(session, count, hooks) {
  const { stack_frame_push: push, stack_frame_pop: pop } = hooks.tool
  const at = (n) => ({ sessionID: session, messageID: message(session, n).info.id, agent: "build", abort: new AbortController().signal })
  for (let n = 0; n + 100 <= count; n += 100) {
    await push.execute({ title: `Part ${n}`, successCriteria: "It is understood" }, at(n + 5))
    await pop.execute({ status: "completed", results: `Part ${n} is as it should be` }, at(n + 95))
  }
}
