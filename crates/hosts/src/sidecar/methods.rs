//! What each method of the protocol does.

use std::io::Write;

use flamestack_core::frame::Status;
use flamestack_core::id::SessionRef;
use flamestack_core::refusal::Voice;
use flamestack_core::text::Prose;
use flamestack_engine::compaction::Author;
use flamestack_engine::views::subagents::lines;
use flamestack_engine::{EngineError, tools};
use serde::Serialize;
use serde_json::Value;

use super::Sidecar;
use super::conversation::Conversation;
use super::figures;
use super::rpc::{Answers, Asked, Fault, params};
use super::wire::{
    Call, Called, CommandDeclaration, Delegated, Delegating, Delegation, Happening, Hello,
    Isolation, Observe, PROTOCOL, Prepare, Prompt, Returned, Show, Shown, Summaries, Summarizing,
    ToolDeclaration, Welcome, Written,
};

/// The methods that belong to a conversation.
pub(super) const METHODS: [&str; 9] = [
    "observe",
    "prompt",
    "prepare",
    "call",
    "delegating",
    "returned",
    "summarizing",
    "written",
    "show",
];

/// Answers a request of a conversation.
pub(super) fn handle<W: Write>(
    sidecar: &Sidecar,
    answers: &Answers<W>,
    conversation: &mut Conversation,
    asked: &Asked,
) {
    let id = asked.id.as_ref();
    match asked.method.as_str() {
        "observe" => answers.answer(
            id,
            &params(asked)
                .and_then(|observe: Observe| observed(sidecar, conversation, &observe.happenings)),
        ),
        "prompt" => answers.answer(
            id,
            &asking(asked, |prompt: Prompt| {
                conversation.prompt(sidecar, &prompt)
            }),
        ),
        "prepare" => answers.answer_directly(
            id,
            &asking(asked, |prepare: Prepare| {
                conversation.prepare(sidecar, prepare)
            }),
        ),
        "call" => answers.answer(
            id,
            &params(asked).map(|call: Call| called(sidecar, conversation, &call)),
        ),
        "delegating" => answers.answer(
            id,
            &asking(asked, |delegating: Delegating| {
                delegated_before(sidecar, conversation, &delegating)
            }),
        ),
        "returned" => answers.answer(
            id,
            &params(asked).map(|returned: Returned| came_back(sidecar, conversation, &returned)),
        ),
        "summarizing" => answers.answer(
            id,
            &asking(asked, |_: Summarizing| conversation.summarizing(sidecar)),
        ),
        "written" => answers.answer(
            id,
            &asking(asked, |written: Written| {
                conversation.written(sidecar, &written)
            }),
        ),
        _ => answers.answer(
            id,
            &asking(asked, |show: Show| shown(sidecar, conversation, &show)),
        ),
    }
    // Nobody waits for this: whoever asked has the answer already.
    if let Err(error) = conversation.record(sidecar) {
        tracing::warn!(session = %conversation.session, "not recorded: {error}");
    }
    if let Err(error) = conversation.end_waiting(sidecar) {
        tracing::warn!(session = %conversation.session, "a summary is still awaited: {error}");
    }
    if let Err(error) = conversation.look_ahead(sidecar) {
        tracing::debug!(session = %conversation.session, "not looked at: {error}");
    }
}

/// Reads the parameters, asks, and says what went wrong in words.
fn asking<T, A>(asked: &Asked, ask: impl FnOnce(T) -> Result<A, EngineError>) -> Result<A, Fault>
where
    T: serde::de::DeserializeOwned,
    A: Serialize,
{
    ask(params(asked)?).map_err(|error| failed(&error))
}

fn failed(error: &EngineError) -> Fault {
    Fault::Failed(sentence(error))
}

/// An error and what to do about it, for a model.
fn sentence(error: &EngineError) -> String {
    match error.hint(Voice::Tool) {
        Some(hint) => format!("{error}\n{hint}"),
        None => error.to_string(),
    }
}

/// Greets a host: its name, and what is on offer.
pub(super) fn hello(sidecar: &Sidecar, asked: &Asked) -> Result<(Hello, Welcome), Fault> {
    let hello: Hello = params(asked)?;
    if hello.protocol != PROTOCOL {
        return Err(Fault::Failed(format!(
            "the shim speaks version {} of the protocol and this is version {PROTOCOL}: \
             install a plugin and a `flame` of the same release",
            hello.protocol
        )));
    }
    if format!("{}:x", hello.host).parse::<SessionRef>().is_err() {
        return Err(Fault::BadParams {
            method: asked.method.clone(),
            problem: "at `host`: a host's name has only a-z, 0-9 and -".to_owned(),
        });
    }
    tracing::info!(
        host = %hello.host,
        version = hello.host_version.as_deref().unwrap_or("unknown"),
        shim = hello.shim_version.as_deref().unwrap_or("unknown"),
        "Host connected"
    );
    let tools = sidecar.tools.tools().map(|tool| ToolDeclaration {
        name: tool.name.to_owned(),
        description: tool.description.to_owned(),
        schema: (tool.schema)(),
    });
    let welcome = Welcome {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        tools: tools.collect(),
        commands: commands(),
        placement: sidecar.placement,
        isolation: sidecar.isolation,
        compaction: match sidecar.summaries {
            Author::Host => Summaries::Assist,
            Author::Own(_) => Summaries::Own,
        },
        direct: None,
    };
    Ok((hello, welcome))
}

/// The commands that a person may type in a host.
pub fn commands() -> Vec<CommandDeclaration> {
    [
        (
            "push",
            "Open a frame for a piece of work",
            "Open a frame with stack_frame_push for this piece of work, then begin: $ARGUMENTS",
        ),
        (
            "pop",
            "Close the active frame with its results",
            "Close the active frame with stack_frame_pop: its status, and results that stand on \
             their own. $ARGUMENTS",
        ),
        (
            "plan",
            "Plan the steps of the active frame",
            "Plan the steps towards this with stack_frame_plan_children, without beginning any \
             of them: $ARGUMENTS",
        ),
    ]
    .map(|(name, description, template)| CommandDeclaration {
        name: name.to_owned(),
        description: description.to_owned(),
        template: template.to_owned(),
    })
    .into()
}

fn observed(
    sidecar: &Sidecar,
    conversation: &mut Conversation,
    happenings: &[Happening],
) -> Result<Value, Fault> {
    figures::keep(sidecar, conversation, happenings);
    for happening in happenings {
        conversation
            .observe(sidecar, happening)
            .map_err(|error| failed(&error))?;
    }
    Ok(Value::Null)
}

/// A tool call. What is wrong with it is told to the model, which can do something about it.
fn called(sidecar: &Sidecar, conversation: &mut Conversation, call: &Call) -> Called {
    let actor = conversation.actor(sidecar, call.message.as_deref());
    if let Some(delegation) = delegated(sidecar, call) {
        return Called {
            title: delegation.title.clone(),
            output: String::new(),
            refused: false,
            delegate: Some(delegation),
            summarize: false,
        };
    }
    let answer = tools::call(&sidecar.engine, &actor, &call.name, call.arguments.clone());
    let (output, refused) = match answer {
        Ok(mut output) => {
            if let Some(advice) = conversation.advice(sidecar, &call.name) {
                output.push_str(&advice);
            }
            (output, false)
        }
        Err(error) => (sentence(&error), true),
    };
    Called {
        title: title(&output),
        summarize: !refused && conversation.has_summary_made(sidecar, &call.name),
        output,
        refused,
        delegate: None,
    }
}

/// The conversation that a planned frame gets where frames are conversations. Anything but a
/// planned frame is turned to where the model is.
fn delegated(sidecar: &Sidecar, call: &Call) -> Option<Delegation> {
    if sidecar.isolation != Isolation::Session || call.name != "stack_frame_activate" {
        return None;
    }
    let name = call.arguments.get("sessionID")?.as_str()?;
    let frame = sidecar.engine.frame_named(name).ok()?;
    let found = sidecar
        .engine
        .read(|reading| Ok(reading.whole_frame(&frame)?));
    let planned = found.ok()??;
    if planned.status != Status::Planned {
        return None;
    }
    let criteria = planned
        .criteria
        .as_ref()
        .map(Prose::as_str)
        .unwrap_or_default();
    let prompt = format!("{}\n\nDone means: {criteria}", planned.title);
    Some(Delegation {
        frame: frame.to_string(),
        title: planned.title.as_str().to_owned(),
        prompt: if criteria.is_empty() {
            planned.title.as_str().to_owned()
        } else {
            prompt
        },
    })
}

/// Whether a model is about to start what is under way already.
fn delegated_before(
    sidecar: &Sidecar,
    conversation: &mut Conversation,
    delegating: &Delegating,
) -> Result<Delegated, EngineError> {
    conversation.record(sidecar)?;
    let running = sidecar.engine.already_running(
        &conversation.session,
        delegating.message.as_deref(),
        delegating.agent.as_deref(),
        &delegating.prompt,
    )?;
    // What another run of the host left behind may well be dead.
    let running = running.filter(|running| conversation.queues.knows(&running.run.session));
    Ok(Delegated {
        running: running.map(|running| {
            format!(
                "already running: {}\nThis call asks for the same and was not made. Its results \
                 come to the conversation that started it; `stack_subagent_list` tells how it fares.",
                lines(&running).join("\n")
            )
        }),
    })
}

fn came_back(sidecar: &Sidecar, conversation: &mut Conversation, returned: &Returned) -> Called {
    if let Err(error) = conversation.ended(sidecar, returned) {
        tracing::warn!("end of {} not recorded: {error}", returned.child);
    }
    // What the user stopped stays open: whether it goes on is the user's to say.
    if !returned.stopped {
        let actor = conversation.actor(sidecar, None);
        let answer = tools::call(
            &sidecar.engine,
            &actor,
            "stack_frame_pop",
            serde_json::json!({
                "frameID": returned.frame,
                "status": if returned.ok { "completed" } else { "failed" },
                "results": words(returned),
            }),
        );
        // The child may have popped its frame itself: what it recorded then is what the parent gets.
        if let Err(error) = &answer {
            tracing::debug!("frame of {} not popped: {error}", returned.child);
        }
    }
    let output = what_came(sidecar, returned).unwrap_or_else(|| words(returned).to_owned());
    Called {
        title: title(&output),
        output,
        refused: false,
        delegate: None,
        summarize: false,
    }
}

/// What a conversation that was made for a frame said at its end.
fn words(returned: &Returned) -> &str {
    match returned.text.trim() {
        "" if returned.stopped => "The user stopped it.",
        "" if returned.ok => "It ended without a word.",
        "" => "It failed without a word.",
        _ => &returned.text,
    }
}

/// How a frame stands that was worked on in another conversation, and what it came to.
fn what_came(sidecar: &Sidecar, returned: &Returned) -> Option<String> {
    let id = sidecar.engine.frame_named(&returned.frame).ok()?;
    let found = sidecar.engine.read(|reading| Ok(reading.whole_frame(&id)?));
    let frame = found.ok()??;
    let results = frame.results.as_ref().map(Prose::as_str);
    let (how, next) = match frame.status {
        Status::Completed => ("is completed", ""),
        Status::Failed => ("has failed", ""),
        Status::Blocked => ("is blocked", ""),
        Status::Invalidated => ("is invalidated", ""),
        Status::Planned => ("is planned", ""),
        Status::InProgress => (
            "is still in progress",
            "\nstack_frame_activate goes on with it here.",
        ),
    };
    let said = results.unwrap_or_else(|| words(returned));
    Some(format!("{id} “{}” {how}\n{said}{next}", frame.title))
}

/// The first line, for a person.
fn title(output: &str) -> String {
    flamestack_core::text::condense(output.lines().next().unwrap_or_default(), 80)
}

fn shown(
    sidecar: &Sidecar,
    conversation: &Conversation,
    show: &Show,
) -> Result<Shown, EngineError> {
    let tool = match show.what.as_str() {
        "tree" => "stack_tree",
        "status" => "stack_status",
        other => {
            return Err(EngineError::BadInput(format!(
                "`{}` cannot be shown: ask for `status` or `tree`",
                other.chars().take(40).collect::<String>()
            )));
        }
    };
    let actor = conversation.actor(sidecar, None);
    let text = tools::call(&sidecar.engine, &actor, tool, Value::Null)?;
    Ok(Shown { text })
}
