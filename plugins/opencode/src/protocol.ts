// What crosses the pipe between a host's shim and the sidecar; `docs/protocol.md` tells the
// story. Made from crates/hosts/src/sidecar/wire by `cargo xtask generate`.

/** Which version of the protocol this is. */
export const PROTOCOL = 1

/**
 * `hello`: who is there.
 */
export type Hello = { 
/**
 * The version of the protocol that the shim speaks.
 */
protocol: number, 
/**
 * The host program, such as `opencode`.
 */
host: string, 
/**
 * Its version, where it says so.
 */
hostVersion: string | null, 
/**
 * The directory that the host works in.
 */
directory: string, 
/**
 * The shim's own version.
 */
shimVersion: string | null, 
/**
 * The host does not say which conversation started which.
 */
withoutParents?: boolean, 
/**
 * The shim would use a direct line.
 */
direct?: boolean, };

/**
 * The answer to `hello`.
 */
export type Welcome = { 
/**
 * The version of the protocol that is spoken from now on.
 */
protocol: number, 
/**
 * The version of the sidecar.
 */
version: string, 
/**
 * The tools on offer.
 */
tools: Array<ToolDeclaration>, 
/**
 * Commands that a person may type.
 */
commands: Array<CommandDeclaration>, 
/**
 * Where a header goes.
 */
placement: Placement, 
/**
 * How a planned frame is taken up.
 */
isolation: Isolation, 
/**
 * Whose summary a compacted conversation goes on with.
 */
compaction: Summaries, 
/**
 * A direct line that was laid because the shim would use one.
 */
direct?: Direct, };

/**
 * Two named pipes, to be written and read without waiting.
 */
export type Direct = { 
/**
 * Where the shim writes what it would write to standard input, once it has said `direct`.
 */
questions: string, 
/**
 * Where answers to `prepare` come in addition to standard output.
 */
answers: string, };

/**
 * Where what a model is told goes.
 */
export type Placement = "auto" | "system" | "message";

/**
 * How a planned frame is taken up.
 */
export type Isolation = "inline" | "session";

/**
 * A tool on offer.
 */
export type ToolDeclaration = { 
/**
 * Its name.
 */
name: string, 
/**
 * What it does, for a model.
 */
description: string, 
/**
 * What it takes, as JSON Schema.
 */
schema: Record<string, unknown>, };

/**
 * A command that a person may type.
 */
export type CommandDeclaration = { 
/**
 * Its name, without the slash.
 */
name: string, 
/**
 * What it does, for a person.
 */
description: string, 
/**
 * What the model is told; `$ARGUMENTS` stands for what was typed behind the name.
 */
template: string, };

/**
 * A message of a conversation.
 */
export type Message = { 
/**
 * The host's name of it.
 */
id: string, 
/**
 * Whose it is.
 */
role: Role, 
/**
 * When it began, in milliseconds since 1970.
 */
at?: number, 
/**
 * What it holds, in order.
 */
parts: Array<Part>, 
/**
 * Whether it is a summary that replaced what came before it.
 */
summary?: boolean, 
/**
 * What it cost, once it is complete.
 */
usage?: Usage, 
/**
 * What went wrong, if something did: `aborted` when the user stopped it.
 */
error?: string, };

/**
 * Whose a message is.
 */
export type Role = "user" | "assistant";

/**
 * A part of a message. What a shim does not know it leaves out.
 */
export type Part = { "kind": "text", 
/**
 * The host's name of it.
 */
id: string, 
/**
 * The words.
 */
text: string, 
/**
 * Whether the host or a plugin put them there.
 */
synthetic?: boolean, } | { "kind": "thinking", 
/**
 * The host's name of it.
 */
id: string, 
/**
 * The words.
 */
text: string, } | { "kind": "call", 
/**
 * The host's name of the part.
 */
id: string, 
/**
 * The name that the model gave the call.
 */
call: string, 
/**
 * The tool.
 */
tool: string, 
/**
 * How far it is.
 */
state: CallState, 
/**
 * The arguments.
 */
input: unknown, 
/**
 * What the tool answered, or the error's text.
 */
output?: string, 
/**
 * The exit code of a command.
 */
exitCode?: number, 
/**
 * Files that the tool changed, by its own account.
 */
changed?: Array<string>, 
/**
 * The conversation of the subagent that it started.
 */
session?: string, 
/**
 * When it began to run, in milliseconds since 1970.
 */
began?: number, 
/**
 * When it ended.
 */
ended?: number, } | { "kind": "changed", 
/**
 * The host's name of it.
 */
id: string, 
/**
 * The files.
 */
paths: Array<string>, } | { "kind": "compaction", 
/**
 * The host's name of it.
 */
id: string, 
/**
 * Whether the host decided so itself.
 */
automatic: boolean, };

/**
 * How far a call is.
 */
export type CallState = "running" | "completed" | "error";

/**
 * What a model call cost.
 */
export type Usage = { 
/**
 * New tokens of the prompt.
 */
input: number, 
/**
 * Tokens that the model wrote.
 */
output: number, 
/**
 * Those of them that were reasoning.
 */
reasoning: number, 
/**
 * Tokens of the prompt that came from the cache.
 */
cacheRead: number, 
/**
 * Tokens that were put into the cache.
 */
cacheWrite: number, 
/**
 * What it cost, in dollars.
 */
cost: number, };

/**
 * `observe`: things that happened, in order. It is a notification: nobody waits for it.
 */
export type Observe = { 
/**
 * The conversation.
 */
session: string, 
/**
 * What happened.
 */
happenings: Array<Happening>, };

/**
 * Something that happened in a conversation.
 */
export type Happening = { "kind": "session" } & SessionFacts | { "kind": "message" } & Message | { "kind": "removed", 
/**
 * Which.
 */
message: string, } | { "kind": "reverted", 
/**
 * The first message that counts no longer.
 */
message?: string, } | { "kind": "copied", 
/**
 * The other one.
 */
from: string, 
/**
 * Its messages, in order.
 */
messages: Array<Original>, } | { "kind": "todos", 
/**
 * Its items.
 */
items: Array<TodoItem>, } | { "kind": "interrupted" } | { "kind": "waiting", 
/**
 * For what.
 */
on?: string, } | { "kind": "idle" } | { "kind": "compacted" } | { "kind": "deleted" } | { "kind": "shim", 
/**
 * One entry a hook.
 */
hooks: Array<HookFigures>, };

/**
 * A message of the conversation that another one is a copy of, as far as its copy is known by it.
 */
export type Original = { 
/**
 * The host's name of it.
 */
id: string, 
/**
 * Whose it is.
 */
role: Role, 
/**
 * When it began, in milliseconds since 1970; its copy says the same.
 */
at: number, };

/**
 * What is known of a conversation; what is absent is unchanged.
 */
export type SessionFacts = { 
/**
 * Its title.
 */
title?: string, 
/**
 * The conversation that started it.
 */
parent?: string, 
/**
 * The conversation that it is a copy of.
 */
copyOf?: string, 
/**
 * The directory it works in.
 */
directory?: string, 
/**
 * The version of the host that it runs in.
 */
hostVersion?: string, 
/**
 * The agent that works in it.
 */
agent?: string, 
/**
 * The planned frame that it was made for.
 */
frame?: string, 
/**
 * Lines added, lines deleted, files changed, by the host's account.
 */
diff?: [number, number, number], };

/**
 * An item of a to-do list.
 */
export type TodoItem = { 
/**
 * What is to be done.
 */
text: string, 
/**
 * `pending`, `in_progress`, `completed` or `cancelled`.
 */
status: string, };

/**
 * How often a hook ran, failed, and how long it took.
 */
export type HookFigures = { 
/**
 * The host's name of the hook.
 */
name: string, 
/**
 * How often it ran.
 */
calls: number, 
/**
 * How often it failed or missed its deadline.
 */
failures: number, 
/**
 * Milliseconds that it took in all.
 */
totalMs: number, 
/**
 * Milliseconds of the slowest run.
 */
slowestMs: number, };

/**
 * `prompt`: the user sends a message that is not yet part of the conversation.
 */
export type Prompt = { 
/**
 * The conversation.
 */
session: string, 
/**
 * The message.
 */
message: Message, 
/**
 * The agent that is to answer.
 */
agent?: string, };

/**
 * The answer to `prompt`.
 */
export type Prompted = { 
/**
 * Words to put behind the user's own, to stay there. Absent where there is nothing to tell.
 */
append?: string, };

/**
 * `prepare`: a request to the model is about to be made of these messages.
 *
 * Only what is new crosses the pipe: `known` says how many of the messages at the beginning are
 * the ones of the last `prepare`, unchanged, and `messages` holds the rest.
 */
export type Prepare = { 
/**
 * The conversation.
 */
session: string, 
/**
 * How many messages at the beginning are unchanged.
 */
known: number, 
/**
 * The messages behind them.
 */
messages: Array<Message>, 
/**
 * The plan that the shim holds, by its name, if it holds one.
 */
has?: string, 
/**
 * Whether the messages are about to be summarised rather than answered.
 */
compacting?: boolean, 
/**
 * The model, where the host says.
 */
model?: Model, };

/**
 * A model.
 */
export type Model = { 
/**
 * Its name, with the provider's in front.
 */
name: string, 
/**
 * How many tokens it can take, by the host's account.
 */
window?: number, };

/**
 * The answer to `prepare`: what to change in the list of messages, and nothing else.
 */
export type Prepared = { 
/**
 * The sidecar does not know the messages it is said to know: ask again with `known: 0`.
 */
resync?: boolean, 
/**
 * The plan that the shim holds is still good, and the rest of this is left empty.
 */
same?: boolean, 
/**
 * A name for all of the rest: the same name, the same plan.
 */
plan?: string, 
/**
 * Messages to leave out.
 */
drop: Array<string>, 
/**
 * Text parts to leave out: what Flamestack added itself, before a summary is made.
 */
strip: Array<string>, 
/**
 * Text parts that say something else to a summariser.
 */
rewrite?: Array<Rewriting>, 
/**
 * Text to put in front of a message, as a message of the user's side.
 */
insert: Array<Insertion>, 
/**
 * What the system prompt ends with; absent for nothing.
 */
system?: string, 
/**
 * What the newest user message ends with, in this request only; absent for nothing.
 */
tail?: string, };

/**
 * A text part with other words.
 */
export type Rewriting = { 
/**
 * Which.
 */
part: string, 
/**
 * What it says instead.
 */
text: string, };

/**
 * Text at a place between messages.
 */
export type Insertion = { 
/**
 * In front of which message.
 */
before: string, 
/**
 * A name for the part, the same every time.
 */
id: string, 
/**
 * The text.
 */
text: string, };

/**
 * `call`: a model calls one of the tools.
 */
export type Call = { 
/**
 * The conversation.
 */
session: string, 
/**
 * The message that holds the call.
 */
message?: string, 
/**
 * The tool.
 */
name: string, 
/**
 * The arguments, unchecked.
 */
arguments: unknown, };

/**
 * The answer to `call`.
 */
export type Called = { 
/**
 * What the model is told.
 */
output: string, 
/**
 * Whether the tool refused.
 */
refused: boolean, 
/**
 * A few words for a person.
 */
title: string, 
/**
 * A conversation to be made for a planned frame, where frames are conversations.
 */
delegate?: Delegation, 
/**
 * Whether the conversation is to be summarised now: something waits for that.
 */
summarize?: boolean, };

/**
 * A conversation to be made for a planned frame.
 */
export type Delegation = { 
/**
 * The frame.
 */
frame: string, 
/**
 * The title of the conversation.
 */
title: string, 
/**
 * Its first prompt.
 */
prompt: string, };

/**
 * `delegating`: a model is about to start a subagent.
 */
export type Delegating = { 
/**
 * The conversation.
 */
session: string, 
/**
 * The message that holds the call.
 */
message?: string, 
/**
 * What kind of agent it is to be.
 */
agent?: string, 
/**
 * What it is told.
 */
prompt: string, };

/**
 * The answer to `delegating`.
 */
export type Delegated = { 
/**
 * The same is under way already: what the model is told instead.
 */
running?: string, };

/**
 * `returned`: a conversation that was made for a frame has ended.
 */
export type Returned = { 
/**
 * The conversation that asked for it.
 */
session: string, 
/**
 * The frame.
 */
frame: string, 
/**
 * The conversation that was made.
 */
child: string, 
/**
 * Whether it ended by itself, and well.
 */
ok: boolean, 
/**
 * Whether the user stopped it.
 */
stopped?: boolean, 
/**
 * Its last words, or what went wrong.
 */
text: string, };

/**
 * Whose summary a compacted conversation goes on with.
 */
export type Summaries = "assist" | "own";

/**
 * `summarizing`: the host is about to have a conversation summarised.
 */
export type Summarizing = { 
/**
 * The conversation.
 */
session: string, };

/**
 * The answer to `summarizing`.
 */
export type Instructions = { 
/**
 * What to tell the summariser besides.
 */
instructions: Array<string>, 
/**
 * What to tell the person.
 */
notice?: string, };

/**
 * `written`: the model has written a text.
 */
export type Written = { 
/**
 * The conversation.
 */
session: string, 
/**
 * The message.
 */
message: string, 
/**
 * Whether it is a summary.
 */
summary: boolean, 
/**
 * The text.
 */
text: string, };

/**
 * The answer to `written`.
 */
export type Rewritten = { 
/**
 * What is to stand there instead; absent where it stays.
 */
text?: string, 
/**
 * What to tell the person.
 */
notice?: string, };

/**
 * `show`: something for a person to look at.
 */
export type Show = { 
/**
 * The conversation, if one is open.
 */
session?: string, 
/**
 * `status` or `tree`.
 */
what: string, };

/**
 * The answer to `show`.
 */
export type Shown = { 
/**
 * The text.
 */
text: string, };
