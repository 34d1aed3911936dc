// The plugin in a host that stutters: every hook fires twice, and at the end of a turn all that was
// said of its messages is said again, from the first half-written part on.

import plugin from "../../dist/index.js"

const OF_MESSAGES = ["message.updated", "message.part.updated"]

/** A copy; of what holds functions, as tools do, only its outside. */
function copy(value) {
  try {
    return structuredClone(value)
  } catch {
    return { ...value }
  }
}

const twice = (hook) => async (input, output) => {
  await hook(copy(input), copy(output))
  await hook(input, output)
}

async function server(input, options) {
  const hooks = await plugin.server(input, options)
  const said = []
  const stuttering = {}
  for (const [name, hook] of Object.entries(Object.getOwnPropertyDescriptors(hooks))) {
    const once = name === "dispose" || typeof hook.value !== "function"
    Object.defineProperty(stuttering, name, once ? hook : { ...hook, value: twice(hook.value) })
  }
  stuttering.event = async ({ event }) => {
    if (OF_MESSAGES.includes(event.type)) said.push(structuredClone(event))
    if (event.type === "session.idle") for (const earlier of said) await hooks.event({ event: structuredClone(earlier) })
    await twice(hooks.event)({ event })
  }
  return stuttering
}

export default { id: "stutterer", server }
