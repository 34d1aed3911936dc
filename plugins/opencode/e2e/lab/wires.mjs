// Three wire formats of model APIs: what a request says, whether the real API would take it, and
// how an answer is streamed.

/** @typedef {{text?: string, calls?: {name: string, args: object}[], thinking?: string, tokens?: number, refuse?: object, breaksOff?: boolean}} Reply */

const textOf = (content) =>
  typeof content === "string"
    ? content
    : (content ?? [])
        .filter((part) => ["text", "input_text", "output_text"].includes(part.type))
        .map((part) => part.text)
        .join("\n")

const usageOf = (reply) => reply.tokens ?? 1_000

/** OpenAI chat completions. */
const chat = {
  path: "/v1/chat/completions",
  model: "mock/mock-1",
  system: (body) => body.messages.filter((one) => one.role === "system").map((one) => textOf(one.content)),
  messages: (body) => body.messages.filter((one) => one.role !== "system"),
  userTexts: (body) => body.messages.filter((one) => one.role === "user").map((one) => textOf(one.content)),
  tools: (body) => (body.tools ?? []).map((tool) => ({ name: tool.function.name, ...tool.function })),
  problem(body) {
    if (body.messages.filter((one) => one.role === "system").length > 1) return "a second system message"
    const open = new Set()
    for (const one of body.messages) {
      if (one.role === "tool") {
        if (!open.delete(one.tool_call_id)) return `a result without its call: ${one.tool_call_id}`
        continue
      }
      if (open.size > 0) return `calls without results: ${[...open]}`
      for (const call of one.tool_calls ?? []) open.add(call.id)
    }
    return open.size > 0 ? `calls without results: ${[...open]}` : undefined
  },
  *stream(reply, callId) {
    const chunk = (delta, finish = null, more = {}) => ({
      data: {
        id: "c",
        object: "chat.completion.chunk",
        created: 1,
        model: "mock-1",
        choices: [{ index: 0, delta, finish_reason: finish }],
        ...more,
      },
    })
    yield chunk({ role: "assistant", content: "" })
    // A provider that breaks off says neither why it ended nor what it cost.
    if (reply.breaksOff) return yield { data: "[DONE]" }
    if (reply.text) yield chunk({ content: reply.text })
    for (const [index, call] of (reply.calls ?? []).entries()) {
      const described = { name: call.name, arguments: JSON.stringify(call.args) }
      yield chunk({ tool_calls: [{ index, id: callId(), type: "function", function: described }] })
    }
    const tokens = usageOf(reply)
    const usage = { prompt_tokens: tokens, completion_tokens: 20, total_tokens: tokens + 20 }
    yield chunk({}, reply.calls?.length ? "tool_calls" : "stop", { usage })
    yield { data: "[DONE]" }
  },
}

/** Anthropic messages. */
const anthropic = {
  path: "/v1/messages",
  model: "anthropic/mock-1",
  system: (body) => (body.system ?? []).map((one) => one.text),
  messages: (body) => body.messages,
  userTexts: (body) =>
    body.messages
      .filter((one) => one.role === "user")
      .map((one) => textOf(one.content))
      .filter((text) => text !== ""),
  tools: (body) => body.tools ?? [],
  problem(body) {
    let open = new Set()
    if (body.messages[0]?.role !== "user") return "the first message is not the user's"
    for (const one of body.messages) {
      const content = typeof one.content === "string" ? [{ type: "text", text: one.content }] : one.content
      if (content.length === 0) return "a message without content"
      const results = content.filter((part) => part.type === "tool_result").map((part) => part.tool_use_id)
      for (const id of results) if (!open.delete(id)) return `a result without its call: ${id}`
      if (open.size > 0) return `calls without results: ${[...open]}`
      open = new Set(content.filter((part) => part.type === "tool_use").map((part) => part.id))
    }
    return open.size > 0 ? `calls without results: ${[...open]}` : undefined
  },
  *stream(reply, callId) {
    const event = (type, more) => ({ event: type, data: { type, ...more } })
    const usage = { input_tokens: usageOf(reply), output_tokens: 20 }
    const message = { id: "m", type: "message", role: "assistant", model: "mock-1", content: [] }
    yield event("message_start", { message: { ...message, stop_reason: null, usage } })
    let index = 0
    const block = function* (content_block, delta) {
      yield event("content_block_start", { index, content_block })
      yield event("content_block_delta", { index, delta })
      yield event("content_block_stop", { index })
      index += 1
    }
    if (reply.text) yield* block({ type: "text", text: "" }, { type: "text_delta", text: reply.text })
    for (const call of reply.calls ?? []) {
      const begun = { type: "tool_use", id: callId(), name: call.name, input: {} }
      yield* block(begun, { type: "input_json_delta", partial_json: JSON.stringify(call.args) })
    }
    const stop_reason = reply.calls?.length ? "tool_use" : "end_turn"
    yield event("message_delta", { delta: { stop_reason }, usage: { output_tokens: 20 } })
    yield event("message_stop", {})
  },
}

/** OpenAI responses. */
const responses = {
  path: "/v1/responses",
  model: "openai/mock-1",
  system: (body) =>
    body.input.filter((one) => ["system", "developer"].includes(one.role)).map((one) => textOf(one.content)),
  messages: (body) => body.input.filter((one) => !["system", "developer"].includes(one.role)),
  userTexts: (body) => body.input.filter((one) => one.role === "user").map((one) => textOf(one.content)),
  tools: (body) => body.tools ?? [],
  problem(body) {
    const open = new Set()
    for (const one of body.input) {
      if (one.type === "function_call") open.add(one.call_id)
      else if (one.type === "function_call_output") {
        if (!open.delete(one.call_id)) return `a result without its call: ${one.call_id}`
      }
    }
    return open.size > 0 ? `calls without results: ${[...open]}` : undefined
  },
  *stream(reply, callId) {
    const event = (type, more) => ({ event: type, data: { type, ...more } })
    const response = { id: "r", object: "response", created_at: 1, model: "mock-1", output: [] }
    yield event("response.created", { response: { ...response, status: "in_progress" } })
    let output_index = 0
    if (reply.text) {
      const item = { id: `item_${callId()}`, type: "message", role: "assistant", status: "completed" }
      const content = [{ type: "output_text", text: reply.text, annotations: [] }]
      yield event("response.output_item.added", { output_index, item: { ...item, content: [] } })
      yield event("response.output_text.delta", { item_id: item.id, output_index, content_index: 0, delta: reply.text })
      yield event("response.output_item.done", { output_index, item: { ...item, content } })
      output_index += 1
    }
    for (const call of reply.calls ?? []) {
      const call_id = callId()
      const item = { id: `item_${call_id}`, type: "function_call", call_id, name: call.name }
      const text = JSON.stringify(call.args)
      yield event("response.output_item.added", { output_index, item: { ...item, arguments: "", status: "in_progress" } })
      yield event("response.function_call_arguments.delta", { item_id: item.id, output_index, delta: text })
      yield event("response.output_item.done", { output_index, item: { ...item, arguments: text, status: "completed" } })
      output_index += 1
    }
    const input_tokens = usageOf(reply)
    const usage = {
      input_tokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input_tokens + 20,
    }
    yield event("response.completed", { response: { ...response, status: "completed", usage } })
  },
}

export const WIRES = { chat, anthropic, responses }
