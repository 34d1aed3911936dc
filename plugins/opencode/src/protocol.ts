// What crosses the pipe between a host's shim and the sidecar: `crates/hosts/src/sidecar/wire.rs`
// in TypeScript. `docs/protocol.md` tells the story.

/** Which version of the protocol this is. */
export const PROTOCOL = 1

/** `hello`: who is there. */
export type Hello = {
  protocol: number
  host: string
  hostVersion: string | null
  directory: string
  shimVersion: string | null
}

/** The answer to `hello`. */
export type Welcome = {
  protocol: number
  version: string
  tools: ToolDeclaration[]
  commands: CommandDeclaration[]
  placement: Placement
  isolation: Isolation
}

/** Where what a model is told goes. */
export type Placement = "auto" | "system" | "message"

/** How a planned frame is taken up. */
export type Isolation = "inline" | "session"

/** A tool on offer. */
export type ToolDeclaration = { name: string; description: string; schema: Record<string, unknown> }

/** A command that a person may type; `$ARGUMENTS` stands for what was typed behind the name. */
export type CommandDeclaration = { name: string; description: string; template: string }

/** A message of a conversation. */
export type Message = {
  id: string
  role: Role
  at?: number
  parts: Part[]
  summary?: boolean
  usage?: Usage
  error?: string
}

/** Whose a message is. */
export type Role = "user" | "assistant"

/** A part of a message. What a shim does not know it leaves out. */
export type Part =
  | { kind: "text"; id: string; text: string; synthetic?: boolean }
  | { kind: "thinking"; id: string; text: string }
  | {
      kind: "call"
      id: string
      call: string
      tool: string
      state: CallState
      input: unknown
      output?: string
      exitCode?: number
      changed?: string[]
      session?: string
    }
  | { kind: "changed"; id: string; paths: string[] }
  | { kind: "compaction"; id: string; automatic: boolean }

/** How far a call is. */
export type CallState = "running" | "completed" | "error"

/** What a model call cost. */
export type Usage = {
  input: number
  output: number
  reasoning: number
  cacheRead: number
  cacheWrite: number
  cost: number
}

/** `observe`: things that happened, in order. */
export type Observe = { session: string; happenings: Happening[] }

/** Something that happened in a conversation. */
export type Happening =
  | ({ kind: "session" } & SessionFacts)
  | ({ kind: "message" } & Message)
  | { kind: "removed"; message: string }
  | { kind: "reverted"; message?: string }
  | { kind: "todos"; items: TodoItem[] }
  | { kind: "interrupted" }
  | { kind: "idle" }
  | { kind: "compacted" }
  | { kind: "deleted" }
  | { kind: "shim"; hooks: HookFigures[] }

/** What is known of a conversation; what is absent is unchanged. */
export type SessionFacts = {
  title?: string
  parent?: string
  copyOf?: string
  directory?: string
  agent?: string
  frame?: string
  diff?: [number, number, number]
}

/** An item of a to-do list. */
export type TodoItem = { text: string; status: string }

/** How often a hook ran, failed, and how long it took. */
export type HookFigures = {
  name: string
  calls: number
  failures: number
  totalMs: number
  slowestMs: number
}

/** `prompt`: the user sends a message that is not yet part of the conversation. */
export type Prompt = { session: string; message: Message; agent?: string }

/** The answer to `prompt`. */
export type Prompted = { append?: string }

/** `prepare`: a request to the model is about to be made of these messages. */
export type Prepare = {
  session: string
  known: number
  messages: Message[]
  /** The plan that the shim holds, by its name, if it holds one. */
  has?: string
  compacting?: boolean
  model?: Model
}

/** A model. */
export type Model = { name: string; window?: number }

/** The answer to `prepare`: what to change in the list of messages, and nothing else. */
export type Prepared = {
  resync?: boolean
  /** The plan that the shim holds is still good, and the rest of this is left empty. */
  same?: boolean
  /** A name for all of the rest: the same name, the same plan. */
  plan?: string
  drop: string[]
  strip: string[]
  insert: Insertion[]
  system?: string
  tail?: string
}

/** Text at a place between messages. */
export type Insertion = { before: string; id: string; text: string }

/** `call`: a model calls one of the tools. */
export type Call = { session: string; message?: string; name: string; arguments: unknown }

/** The answer to `call` and `returned`. */
export type Called = { output: string; refused: boolean; title: string; delegate?: Delegation }

/** A conversation to be made for a planned frame. */
export type Delegation = { frame: string; title: string; prompt: string }

/** `returned`: a conversation that was made for a frame has ended. */
export type Returned = { session: string; frame: string; child: string; ok: boolean; text: string }

/** `summarizing`: the host is about to have a conversation summarised. */
export type Summarizing = { session: string }

/** The answer to `summarizing`. */
export type Instructions = { instructions: string[] }

/** `written`: the model has written a text. */
export type Written = { session: string; message: string; summary: boolean; text: string }

/** The answer to `written`. */
export type Rewritten = { text?: string }

/** `show`: something for a person to look at. */
export type Show = { session?: string; what: string }

/** The answer to `show`. */
export type Shown = { text: string }
