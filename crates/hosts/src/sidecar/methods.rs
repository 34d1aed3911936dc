//! The methods of the protocol.

use std::io::Write;

use flamestack_core::command::Actor;
use flamestack_core::delegation::DelegationVerdict;
use flamestack_core::frame::{Frame, Status};
use flamestack_core::id::SessionRef;
use flamestack_core::text::for_model;
use flamestack_core::text::{Text, shortened};
use flamestack_engine::compaction::SummaryAuthor;
use flamestack_engine::hints::Voice;
use flamestack_engine::resumption::ResumeRule;
use flamestack_engine::views::subagents::lines;
use flamestack_engine::views::work::Measure;
use flamestack_engine::{Engine, EngineError, tools};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Sidecar;
use super::hook_stats;
use super::rpc::{RequestLine, Responder, RpcError};
use super::server::Host;
use super::session::ServedSession;
use super::wire::{
    CallParams, ChildResult, ContinuedSession, DelegateParams, DelegateResult, Delegation,
    HelloParams, HostEvent, Isolation, Notice, PROTOCOL, ResumeResult, SessionRequest, ShowParams,
    ShowResult, ShowView, SummaryMode, ToolDeclaration, ToolResult, Welcome,
};

/// Maximum length of an error for a model, in characters.
const ERROR_LIMIT: usize = 2_000;

/// Handles a request of a session: answers it, then records what it has shown.
pub(super) fn handle<W: Write>(
    responder: &Responder<W>,
    session: &mut ServedSession<'_>,
    line: &RequestLine,
) {
    let id = line.id.as_ref();
    match line.read() {
        Ok(request) if responder.is_unread() && only_asks(&request) => {}
        Ok(request) => answer(responder, session, id, request),
        Err(error) => responder.fail(id, &error),
    }
    // The host has its answer already and waits for none of this.
    let name = session.session.clone();
    let engine = session.engine;
    let done = |work: &str, done: Result<(), EngineError>| {
        if let Err(error) = done {
            engine.report_later(&error);
            tracing::warn!(session = %name, "{work}: {error}");
        }
    };
    done("not recorded", session.record());
    done("nothing suggested", suggest(responder, session));
    done("a summary is still awaited", session.end_waiting());
    done("finished frames not read", session.look_ahead());
}

/// Returns true for a request that only reads.
fn only_asks(request: &SessionRequest) -> bool {
    match request {
        SessionRequest::Show(_) => true,
        SessionRequest::Call(params) => {
            tools::named(&params.name).is_ok_and(|tool| tool.only_reads)
        }
        _ => false,
    }
}

/// Considers a suggestion, and shows it to the user.
fn suggest<W: Write>(
    responder: &Responder<W>,
    session: &ServedSession<'_>,
) -> Result<(), EngineError> {
    let actor = session.actor(None);
    if let Some(announcement) = session.engine.autonomy().consider(&actor)? {
        let notice = Notice {
            session: session.session.id().to_owned(),
            text: announcement.text,
        };
        responder.notify("notice", &notice);
    }
    Ok(())
}

fn answer<W: Write>(
    responder: &Responder<W>,
    session: &mut ServedSession<'_>,
    id: Option<&Value>,
    request: SessionRequest,
) {
    match request {
        SessionRequest::Observe(params) => responder.answer(id, observe(session, &params.events)),
        SessionRequest::Prompt(params) => responder.answer(id, session.prompt(&params)),
        SessionRequest::Prepare(params) => responder.answer(id, session.prepare(params)),
        SessionRequest::Call(params) => responder.succeed(id, &call(session, &params)),
        SessionRequest::Delegate(params) => responder.answer(id, delegate(session, &params)),
        SessionRequest::ChildEnded(child) => responder.succeed(id, &child_ended(session, &child)),
        SessionRequest::Summarize(_) => responder.answer(id, session.summarize()),
        SessionRequest::Summarized(summary) => responder.answer(id, session.summarized(&summary)),
        SessionRequest::Show(params) => responder.answer(id, show(session, &params)),
        SessionRequest::Resume(_) => responder.answer(id, resume(session)),
    }
}

impl From<EngineError> for RpcError {
    fn from(error: EngineError) -> Self {
        Self::Failed(sentence(&error))
    }
}

/// Returns an error with its hint, for a model.
fn sentence(error: &EngineError) -> String {
    let text = match error.hint(Voice::Tool) {
        Some(hint) => format!("{error}\n{hint}"),
        None => error.to_string(),
    };
    for_model(&shortened(&text, ERROR_LIMIT)).into_owned()
}

/// Greets a host and says what is on offer.
pub(super) fn hello(sidecar: &Sidecar, line: &RequestLine) -> Result<(Host, Welcome), RpcError> {
    #[derive(Deserialize)]
    struct Greeting {
        params: HelloParams,
    }
    let Greeting { params: hello } = line.read()?;
    if hello.protocol != PROTOCOL {
        return Err(RpcError::Failed(format!(
            "the shim speaks version {} of the protocol and this is version {PROTOCOL}: \
             install a plugin and a `flame` of the same release",
            hello.protocol
        )));
    }
    if format!("{}:x", hello.host).parse::<SessionRef>().is_err() {
        let problem = "at `host`: a host's name has only a-z, 0-9 and -";
        return Err(line.bad_params(problem));
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
        tools: match sidecar.stopped {
            None => tools.collect(),
            Some(_) => Vec::new(),
        },
        commands: crate::opencode::commands::commands(),
        placement: sidecar.placement,
        isolation: sidecar.isolation,
        compaction: match sidecar.summaries {
            SummaryAuthor::Host => SummaryMode::Assist,
            SummaryAuthor::Own(_) => SummaryMode::Own,
        },
        notices: sidecar.notices.clone(),
    };
    let host = Host {
        name: hello.host,
        without_parents: hello.without_parents,
    };
    Ok((host, welcome))
}

fn observe(session: &mut ServedSession<'_>, events: &[HostEvent]) -> Result<Value, EngineError> {
    hook_stats::keep(session, events);
    for event in events {
        session.observe(event)?;
    }
    Ok(Value::Null)
}

/// Calls a tool. Its errors are answers too: the model can do something about them.
fn call(session: &mut ServedSession<'_>, params: &CallParams) -> ToolResult {
    let actor = session.actor(params.message.as_deref());
    if let Some(delegation) = delegation(session, params) {
        let verdict = session
            .engine
            .judge_delegation(&session.session, None, None);
        if let Ok(DelegationVerdict::Denied(why)) = verdict {
            return ToolResult {
                title: title(&why),
                output: why,
                refused: true,
                ..ToolResult::default()
            };
        }
        return ToolResult {
            title: delegation.title.clone(),
            delegate: Some(delegation),
            ..ToolResult::default()
        };
    }
    let arguments = params.arguments.clone();
    let (output, refused) = match tools::call(session.engine, &actor, &params.name, arguments) {
        Ok(mut output) => {
            if let Some(advice) = session.advice(&params.name) {
                output.push_str(&advice);
            }
            (output, false)
        }
        Err(error) => (sentence(&error), true),
    };
    ToolResult {
        title: title(&output),
        summarize: !refused && session.wants_summary(&params.name),
        output,
        refused,
        delegate: None,
    }
}

/// Returns the session to make for a planned frame, where frames are sessions. Any other frame is
/// activated in the session of the model.
fn delegation(session: &ServedSession<'_>, params: &CallParams) -> Option<Delegation> {
    if session.sidecar.isolation != Isolation::Session || params.name != "stack_frame_activate" {
        return None;
    }
    let name = params.arguments.get("sessionID")?.as_str()?;
    let planned = frame_named(session, name)?;
    if planned.status != Status::Planned {
        return None;
    }
    let title = planned.title.as_str().to_owned();
    Some(Delegation {
        frame: planned.id.to_string(),
        prompt: match &planned.criteria {
            Some(criteria) => format!("{title}\n\nDone means: {criteria}"),
            None => title.clone(),
        },
        title,
    })
}

fn frame_named(session: &ServedSession<'_>, name: &str) -> Option<Frame> {
    let id = session.engine.frame_named(name).ok()?;
    let found = session.engine.read(|reading| Ok(reading.whole_frame(&id)?));
    found.ok()?
}

/// Refuses to start a subagent for a task that is under way already, or one that is too deep.
fn delegate(
    session: &mut ServedSession<'_>,
    params: &DelegateParams,
) -> Result<DelegateResult, EngineError> {
    session.record()?;
    let running = session.engine.already_running(
        &session.session,
        params.message.as_deref(),
        params.agent.as_deref(),
        &params.prompt,
    )?;
    // A subagent of an earlier run of the host may well be dead.
    let running = running.filter(|running| session.scheduler.knows(&running.run.session));
    if let Some(running) = running {
        let running = format!(
            "already running: {}\nThis call asks for the same and was not made. Its results \
             come to the session that started it; `stack_subagent_list` shows its progress.",
            lines(&running).join("\n")
        );
        return Ok(DelegateResult {
            running: Some(running),
            ..DelegateResult::default()
        });
    }
    let agent = params.agent.as_deref();
    let verdict = session
        .engine
        .judge_delegation(&session.session, agent, params.limit)?;
    Ok(match verdict {
        DelegationVerdict::Allowed => DelegateResult::default(),
        DelegationVerdict::Warned(why) => DelegateResult {
            notice: Some(why),
            ..DelegateResult::default()
        },
        DelegationVerdict::Denied(why) => DelegateResult {
            refused: Some(why),
            ..DelegateResult::default()
        },
    })
}

fn child_ended(session: &mut ServedSession<'_>, child: &ChildResult) -> ToolResult {
    if let Err(error) = session.child_ended(child) {
        tracing::warn!("end of {} not recorded: {error}", child.child);
    }
    // A frame that the user stopped stays open: only the user decides whether it continues.
    if !child.stopped {
        let actor = session.actor(None);
        let arguments = json!({
            "frameID": child.frame,
            "status": if child.ok { "completed" } else { "failed" },
            "results": last_text(child),
        });
        let popped = tools::call(session.engine, &actor, "stack_frame_pop", arguments);
        // The child may have popped its frame itself; then its own results are the parent's.
        if let Err(error) = &popped {
            tracing::debug!("frame of {} not popped: {error}", child.child);
        }
    }
    let output = outcome(session, child).unwrap_or_else(|| last_text(child).to_owned());
    ToolResult {
        title: title(&output),
        output,
        ..ToolResult::default()
    }
}

fn last_text(child: &ChildResult) -> &str {
    match child.text.trim() {
        "" if child.stopped => "The user stopped it.",
        "" if child.ok => "It ended without a word.",
        "" => "It failed without a word.",
        _ => &child.text,
    }
}

/// Returns the status and the results of a frame that was worked on in another session.
fn outcome(session: &ServedSession<'_>, child: &ChildResult) -> Option<String> {
    let frame = frame_named(session, &child.frame)?;
    let results = frame.results.as_ref().map(Text::as_str);
    let (status, next) = match frame.status {
        Status::Completed if frame.standing().is_claimed => ("is completed (claimed)", ""),
        Status::Completed => ("is completed", ""),
        Status::Failed => ("has failed", ""),
        Status::Blocked => ("is blocked", ""),
        Status::Invalidated => ("is invalidated", ""),
        Status::Planned => ("is planned", ""),
        Status::InProgress => (
            "is still in progress",
            "\nstack_frame_activate continues it here.",
        ),
    };
    let results = results.unwrap_or_else(|| last_text(child));
    let Frame { id, title, .. } = &frame;
    Some(format!("{id} “{title}” {status}\n{results}{next}"))
}

/// Returns the first line of an answer, for the user.
fn title(output: &str) -> String {
    flamestack_core::text::condense(output.lines().next().unwrap_or_default(), 80)
}

/// Returns the sessions that are continued. Each attempt is recorded before the host knows of it.
fn resume(session: &ServedSession<'_>) -> Result<ResumeResult, EngineError> {
    let engine = session.engine;
    let mut sessions = Vec::new();
    if engine.resume_rule()? != ResumeRule::Auto {
        return Ok(ResumeResult { sessions });
    }
    let worktree = session.sidecar.worktree.as_deref();
    for key in engine.cut_off_sessions(session.session.host(), worktree)? {
        let actor = Actor {
            session: key.clone(),
            ..session.actor(None)
        };
        let Some(prompt) = engine.begin_resume(&actor)? else {
            continue;
        };
        let known = engine.session(&key)?;
        let agent = known
            .as_ref()
            .and_then(|known| known.description.agent.as_ref());
        let model = known.as_ref().and_then(|known| known.model.as_ref());
        sessions.push(ContinuedSession {
            session: key.id().to_owned(),
            prompt,
            agent: agent.map(ToString::to_string),
            model: model.map(|model| model.name.to_string()),
        });
    }
    Ok(ResumeResult { sessions })
}

fn show(session: &ServedSession<'_>, params: &ShowParams) -> Result<ShowResult, EngineError> {
    let tool = match params.what {
        ShowView::Tree => "stack_tree",
        ShowView::Status | ShowView::Sidebar => "stack_status",
    };
    let actor = session.actor(None);
    let mut text = tools::call(session.engine, &actor, tool, Value::Null)?;
    if params.what == ShowView::Sidebar {
        // First, because a long tree leaves the screen.
        text.insert_str(0, &spent(session.engine, &actor.session)?);
    }
    Ok(ShowResult { text })
}

/// Returns a line about what a session cost and what folding saved in it, or nothing.
fn spent(engine: &Engine, session: &SessionRef) -> Result<String, EngineError> {
    let Some(spent) = engine.spent_in(session)? else {
        return Ok(String::new());
    };
    let shown = [Measure::Tokens, Measure::Cost, Measure::Saved];
    let shown = shown.map(|measure| (measure, spent.of(measure)));
    let shown = shown.iter().filter(|(_, amount)| *amount > 0);
    let words: Vec<String> = shown
        .map(|(measure, amount)| measure.words(*amount))
        .collect();
    Ok(if words.is_empty() {
        String::new()
    } else {
        format!("{}\n\n", words.join(", "))
    })
}
