// What crosses the pipe between a host's shim and the sidecar; see
// `docs/protocol.md`. Generated from crates/hosts/src/sidecar/wire by `cargo xtask generate`.

/** Version of the protocol. */
export const PROTOCOL = 2

/** A message as OpenCode has it, without the fields that the sidecar does not read. */
export type HostMessage = { id: string, role: HostRole, parts: object[], [field: string]: unknown }

/**
 * `hello`: the host introduces itself.
 */
export type HelloParams = { 
/**
 * The version of the protocol that the shim speaks.
 */
protocol: number, 
/**
 * The host program, such as `opencode`.
 */
host: string, 
/**
 * Its version, if it is known.
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
 * True if the host does not say which session started which.
 */
withoutParents?: boolean, };

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
 * The tools that are offered.
 */
tools: Array<ToolDeclaration>, 
/**
 * Commands for the user.
 */
commands: Array<CommandDeclaration>, 
/**
 * The place of the header.
 */
placement: Placement, 
/**
 * The session in which a planned frame is worked on.
 */
isolation: Isolation, 
/**
 * The author of the summaries.
 */
compaction: SummaryMode, 
/**
 * Messages to show to the user, such as settings that are ignored.
 */
notices?: Array<string>, };

/**
 * The place of the context in a request.
 */
export type Placement = "auto" | "system" | "message";

/**
 * The session in which a planned frame is worked on.
 */
export type Isolation = "inline" | "session";

/**
 * The author of the summaries.
 */
export type SummaryMode = "assist" | "own";

/**
 * A tool that is offered.
 */
export type ToolDeclaration = { 
/**
 * Its name.
 */
name: string, 
/**
 * Its description for a model.
 */
description: string, 
/**
 * Its arguments, as JSON Schema.
 */
schema: Record<string, unknown>, };

/**
 * A command for the user.
 */
export type CommandDeclaration = { 
/**
 * Its name, without the slash.
 */
name: string, 
/**
 * Its description for the user.
 */
description: string, 
/**
 * The prompt for the model; `$ARGUMENTS` is the text after the name.
 */
template: string, };

/**
 * The author of a message.
 */
export type HostRole = "user" | "assistant";

/**
 * `observe`: events in their order. A notification: it has no answer.
 */
export type ObserveParams = { 
/**
 * The session.
 */
session: string, 
/**
 * The events.
 */
events: Array<HostEvent>, };

/**
 * An event of a session.
 */
export type HostEvent = { "kind": "session" } & SessionFacts | { "kind": "message" } & HostMessage | { "kind": "removed", 
/**
 * The message.
 */
message: string, } | { "kind": "reverted", 
/**
 * The first message that was taken back.
 */
message?: string, } | { "kind": "copied", 
/**
 * The original.
 */
from: string, 
/**
 * Its messages, in order.
 */
messages: Array<OriginalMessage>, } | { "kind": "todos", 
/**
 * Its items.
 */
items: Array<TodoItem>, } | { "kind": "created", 
/**
 * The session in which the command was given.
 */
from: string, 
/**
 * The purpose.
 */
purpose: string, 
/**
 * The agent that is to work in it.
 */
agent?: string, 
/**
 * The phase of the work.
 */
phase?: string, } | { "kind": "failed", 
/**
 * The error.
 */
why: string, 
/**
 * The model's message that the error ended, which says so once it is complete.
 */
message?: string, } | { "kind": "interrupted" } | { "kind": "waiting", 
/**
 * The question.
 */
on?: string, } | { "kind": "idle", 
/**
 * True if the user stopped the turn, which the host says in no other way.
 */
stopped?: boolean, } | { "kind": "compacted" } | { "kind": "deleted" } | { "kind": "hookStats", 
/**
 * One entry per hook.
 */
hooks: Array<HookStats>, };

/**
 * A message of the session that another one is a copy of, with the properties that its copy shares.
 */
export type OriginalMessage = { 
/**
 * The host's id of it.
 */
id: string, 
/**
 * Its author.
 */
role: HostRole, 
/**
 * Time of its creation, in milliseconds since 1970; the same for its copy.
 */
at: number, };

/**
 * Facts about a session; an absent one is unchanged.
 */
export type SessionFacts = { 
/**
 * Its title.
 */
title?: string, 
/**
 * The session that started it.
 */
parent?: string, 
/**
 * The session that it is a copy of.
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
 * The language of the conversation.
 */
language?: string, 
/**
 * The host's mode of permissions.
 */
governance?: string, 
/**
 * The phase of the work.
 */
phase?: string, 
/**
 * Numbers of lines added, lines deleted and files changed, by the host's account.
 */
diff?: [number, number, number], };

/**
 * An item of a to-do list.
 */
export type TodoItem = { 
/**
 * The task.
 */
text: string, 
/**
 * `pending`, `in_progress`, `completed` or `cancelled`.
 */
status: string, };

/**
 * The counts and times of a hook since the last report.
 */
export type HookStats = { 
/**
 * The host's name of the hook.
 */
name: string, 
/**
 * Number of runs.
 */
calls: number, 
/**
 * Number of runs that failed or missed their deadline.
 */
failures: number, 
/**
 * Total time of all runs, in milliseconds.
 */
totalMs: number, 
/**
 * Time of the slowest run, in milliseconds.
 */
slowestMs: number, };

/**
 * `prompt`: the user sends a message that is not part of the session yet.
 */
export type PromptParams = { 
/**
 * The session.
 */
session: string, 
/**
 * The message.
 */
message: HostMessage, 
/**
 * The agent that is to answer.
 */
agent?: string, };

/**
 * The answer to `prompt`.
 */
export type PromptResult = { 
/**
 * A text to append to the message for good. Absent if there is nothing new.
 */
append?: string, };

/**
 * `prepare`: a request to the model is about to be made of these messages.
 *
 * Only new messages cross the pipe: `known` is the number of messages at the beginning that are
 * unchanged since the last `prepare`, and `messages` holds the rest.
 */
export type PrepareParams = { 
/**
 * The session.
 */
session: string, 
/**
 * Number of messages at the beginning that are unchanged.
 */
known: number, 
/**
 * The messages after them.
 */
messages: HostMessage[], 
/**
 * The name of the plan that the shim holds.
 */
has?: string, 
/**
 * True if the messages are about to be summarised, not answered.
 */
compacting?: boolean, 
/**
 * The model, if it is known.
 */
model?: ModelInfo, };

/**
 * A model.
 */
export type ModelInfo = { 
/**
 * Its name, after the provider's: `anthropic/claude-sonnet-4-5`.
 */
name: string, 
/**
 * Its limits, once the host has named them.
 */
limit?: ModelLimit, };

/**
 * A model's limits in tokens, as OpenCode has them; 0 for none.
 */
export type ModelLimit = { 
/**
 * Tokens of prompt and answer.
 */
context: number, 
/**
 * Tokens of the prompt.
 */
input?: number, 
/**
 * Tokens of the answer.
 */
output: number, };

/**
 * The answer to `prepare`: the changes to the list of messages.
 */
export type RequestPlan = { 
/**
 * The sidecar does not know the first messages: ask again with `known: 0`.
 */
resync?: boolean, 
/**
 * The plan that the shim holds is still good; the rest of this one is empty.
 */
same?: boolean, 
/**
 * The name of the plan: equal names mean equal plans.
 */
plan?: string, 
/**
 * Messages to drop.
 */
drop: Array<string>, 
/**
 * Text parts to remove from a summary, because Flamestack added them.
 */
strip: Array<string>, 
/**
 * Text parts to replace in a summary.
 */
rewrite?: Array<TextReplacement>, 
/**
 * Texts to insert before a message, as user messages.
 */
insert: Array<Insertion>, 
/**
 * The end of the system prompt; absent for none.
 */
system?: string, 
/**
 * The end of the newest user message, in this request only; absent for none.
 */
tail?: string, };

/**
 * A new text for a text part.
 */
export type TextReplacement = { 
/**
 * The part.
 */
part: string, 
/**
 * Its new text.
 */
text: string, };

/**
 * A text between two messages.
 */
export type Insertion = { 
/**
 * The message after it.
 */
before: string, 
/**
 * The id of the part, the same every time.
 */
id: string, 
/**
 * The text.
 */
text: string, };

/**
 * `call`: a model calls one of the tools.
 */
export type CallParams = { 
/**
 * The session.
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
export type ToolResult = { 
/**
 * The answer for the model.
 */
output: string, 
/**
 * True if the tool refused.
 */
refused: boolean, 
/**
 * A short title for the user.
 */
title: string, 
/**
 * A session to be made for a planned frame, where frames are sessions.
 */
delegate?: Delegation, 
/**
 * True if the session is to be summarised now, because a frame waits for that.
 */
summarize?: boolean, };

/**
 * A session to be made for a planned frame.
 */
export type Delegation = { 
/**
 * The frame.
 */
frame: string, 
/**
 * The title of the session.
 */
title: string, 
/**
 * Its first prompt.
 */
prompt: string, };

/**
 * `delegate`: a model is about to start a subagent.
 */
export type DelegateParams = { 
/**
 * The session.
 */
session: string, 
/**
 * The message that holds the call.
 */
message?: string, 
/**
 * The kind of agent.
 */
agent?: string, 
/**
 * Its prompt.
 */
prompt: string, 
/**
 * The maximum depth of subagents that the user gave the host.
 */
limit?: number, };

/**
 * The answer to `delegate`.
 */
export type DelegateResult = { 
/**
 * The answer for the model, if the same task is under way already: the call is not made.
 */
running?: string, 
/**
 * The answer for the model, if the delegation is too deep: the call is not made.
 */
refused?: string, 
/**
 * A notice for the user.
 */
notice?: string, };

/**
 * `childEnded`: a session that was made for a frame has ended.
 */
export type ChildResult = { 
/**
 * The session that asked for it.
 */
session: string, 
/**
 * The frame.
 */
frame: string, 
/**
 * The session that was made.
 */
child: string, 
/**
 * True if it ended without being stopped and without an error.
 */
ok: boolean, 
/**
 * True if the user stopped it.
 */
stopped?: boolean, 
/**
 * Its last text, or its error.
 */
text: string, };

/**
 * `summarize`: the host is about to have a session summarised.
 */
export type SummarizeParams = { 
/**
 * The session.
 */
session: string, };

/**
 * The answer to `summarize`.
 */
export type SummarizeResult = { 
/**
 * Further instructions for the summariser.
 */
instructions: Array<string>, 
/**
 * A notice for the user.
 */
notice?: string, };

/**
 * `summarized`: the model has written a summary.
 */
export type SummaryText = { 
/**
 * The session.
 */
session: string, 
/**
 * The message.
 */
message: string, 
/**
 * The summary.
 */
text: string, };

/**
 * The answer to `summarized`.
 */
export type SummaryReplacement = { 
/**
 * The text that replaces the summary; absent if it stays.
 */
text?: string, 
/**
 * A notice for the user.
 */
notice?: string, };

/**
 * `show`: a view for the user.
 */
export type ShowParams = { 
/**
 * The session, if one is open.
 */
session?: string, 
/**
 * The view.
 */
what: ShowView, };

/**
 * A view for the user.
 */
export type ShowView = "status" | "tree" | "sidebar";

/**
 * The answer to `show`.
 */
export type ShowResult = { 
/**
 * The text of the view.
 */
text: string, };

/**
 * `resume`: the host has started and asks for sessions to continue.
 */
export type ResumeParams = Record<symbol, never>;

/**
 * The answer to `resume`.
 */
export type ResumeResult = { 
/**
 * The sessions to prompt, each of them once.
 */
sessions: Array<ContinuedSession>, };

/**
 * A session that is continued automatically, because the user has set so.
 */
export type ContinuedSession = { 
/**
 * The session.
 */
session: string, 
/**
 * The prompt.
 */
prompt: string, 
/**
 * The agent that worked in it.
 */
agent?: string, 
/**
 * The model that it used, after its provider: `anthropic/claude-sonnet-4-5`.
 */
model?: string, };

/**
 * `notice`: a notification of the sidecar with something for the user to read, such as a suggestion.
 */
export type Notice = { 
/**
 * The session that it is about.
 */
session: string, 
/**
 * The text.
 */
text: string, };
