// `/session-new`: a session of the user's own, linked to the one in which the command was typed.

import type { PluginInput } from "@opencode-ai/plugin"
import { LINK } from "./events.js"

/** The name of the command, without the slash. */
export const SESSION_NEW = "session-new"

/** The words after the command: the purpose, and the values of its options. */
export type Wanted = { purpose: string; agent?: string; phase?: string }

/** Reads the words after the command. */
export function wanted(words: string): Wanted {
  const options: { agent?: string; phase?: string } = {}
  const rest = words.replace(/(?:^|\s)--(agent|phase)[= ]("[^"]*"|\S+)/g, (_, name: "agent" | "phase", value: string) => {
    options[name] = value.replaceAll('"', "")
    return " "
  })
  return { purpose: rest.replace(/\s+/g, " ").trim(), ...options }
}

/**
 * Makes the session. It has no parent, because OpenCode lets a user type only into sessions that have none;
 * the link is ours.
 */
export async function makeSession(
  client: PluginInput["client"],
  from: string,
  words: string,
): Promise<(Wanted & { id: string; from: string }) | undefined> {
  const asked = wanted(words)
  if (asked.purpose === "") return undefined
  // Agent and metadata are newer than the types.
  const body = {
    title: asked.purpose.slice(0, 100),
    ...(asked.agent && { agent: asked.agent }),
    metadata: { [LINK]: { from } },
  } as { title: string }
  const made = await client.session.create({ body })
  const id = made.data?.id
  return id === undefined ? undefined : { id, from, ...asked }
}
