// Sessions that `flame run` drives. It keeps their frames itself and reads their calls of the stack's
// tools from the stored messages, so such a call is only acknowledged here.

const END = "Noted. End your turn now"

/** The answers to calls that `flame run` carries out, as its own tools give them. */
const ACKNOWLEDGED: Record<string, string> = {
  stack_frame_push: `${END}: the frames get sessions of their own, and you continue with their results.`,
  stack_frame_plan_children: `${END}: the frames get sessions of their own, and you continue with their results.`,
  stack_frame_pop: `${END}.`,
  stack_frame_activate: `${END}: you continue when the frame has ended.`,
  stack_frame_invalidate: "Noted.",
}

/** Returns the answer to a call of a driven session, if `flame run` carries it out. */
export function acknowledgement(tool: string): string | undefined {
  return ACKNOWLEDGED[tool]
}
