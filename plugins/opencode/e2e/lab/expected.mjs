// What a request should have been: the host's own messages, without those that the store says are
// folded, and with nothing but what the store says was sent.

import assert from "node:assert/strict"

/** OpenCode's messages as OpenAI chat completions say them. */
function chat(messages) {
  return messages.flatMap(({ info, parts }) => {
    const texts = parts.filter((part) => part.type === "text").map(({ type, text }) => ({ type, text }))
    if (info.role === "user") return [{ role: "user", content: texts.length === 1 ? texts[0].text : texts }]
    const tools = parts.filter((part) => part.type === "tool")
    // An answer that was stopped before it said anything.
    if (texts.length + tools.length === 0) return []
    const calls = tools.map(({ callID: id, tool: name, state }) => {
      return { id, type: "function", function: { name, arguments: JSON.stringify(state.input) } }
    })
    const said = { role: "assistant", content: texts.map(({ text }) => text).join("") }
    const answers = tools.map(({ callID, state }) => ({ role: "tool", tool_call_id: callID, content: state.output }))
    return [calls.length > 0 ? { ...said, tool_calls: calls } : said, ...answers]
  })
}

/** The messages without those strictly between the ends of finished frames; what a user said stays. */
function folded(messages, spans) {
  const place = (id) => messages.findIndex((one) => one.info.id === id)
  const ends = spans.map(({ first, last }) => [place(first), place(last)]).filter((ends) => ends.every((end) => end >= 0))
  return messages.filter(({ info }, index) => {
    return info.role === "user" || !ends.some(([first, last]) => first < index && index < last)
  })
}

/** Returns the store's record of a session: what it was sent, and the spans of its finished frames. */
function stored(lab, session) {
  const ask = (...words) => JSON.parse(lab.flame([...words, "--json", "--session", `opencode:${session}`]))
  const finished = ask("tree", "--all").lines.filter((line) => line.origin === "asked" && line.status === "completed")
  return { sent: ask("context", "--as-sent"), frames: finished.map(({ id }) => ask("show", id)) }
}

/**
 * Holds each request of a session that was never compacted against the store, byte for byte. Every answer
 * of the model is a message of the host; a request was made of what precedes it.
 */
export async function assertFromStore(lab, session) {
  const messages = await lab.messages(session)
  const requests = lab.model.work(session)
  const { sent, frames } = stored(lab, session)
  const answers = messages.flatMap(({ info }, index) => (info.role === "assistant" ? [index] : []))
  assert.equal(requests.length, answers.length)

  for (const { info, parts } of messages) {
    if (info.role !== "user") continue
    const ours = parts.filter((part) => part.synthetic).map((part) => part.text)
    const expected = sent.updates.filter((update) => update.message === info.id).map((update) => update.text)
    assert.deepEqual(ours, expected, `what was added to ${info.id}`)
  }
  const host = requests[0].system[0]
  for (const [index, request] of requests.entries()) {
    const before = messages.slice(0, answers[index])
    assert.deepEqual(request.messages, chat(folded(before, frames.map(({ span }) => span))), `request ${index}`)
    assert.deepEqual(request.system, [sent.header.text === "" ? host : `${host}\n${sent.header.text}`], `request ${index}`)
  }
  return { requests, frames, sent }
}
