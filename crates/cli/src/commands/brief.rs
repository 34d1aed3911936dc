//! `flame brief`

use clap::Args;
use flamestack_brief::{LineSource, Task, WorkflowStatus};
use flamestack_core::SessionRef;
use flamestack_engine::brief::{BriefRequest, gather_workflows};
use serde_json::{Value, json};

use crate::command_context::{CommandContext, home};
use crate::failure::Failure;
use crate::output::Output;

/// Print what a session needs in order to continue: goal, step, decisions, workflow stage, next action
///
/// For a hand-off to another agent, or for yourself after a pause. Without `--session` it is about
/// this worktree's shell session or, if that has no work, about the agent session most recently
/// active here. It begins with the state of the work: the request, changed files, the last check and its
/// outcome, what was being done. It includes the session's frames, the agent's to-do list, the files of a declared workflow,
/// `SESSION.md` and git; an agent gets the same text when it is compacted or resumed. See
/// docs/briefs.md for the sections and for how a team declares its own workflow.
#[derive(Args)]
pub(crate) struct Brief {
    /// Maximum length in tokens (default: `brief.budget`)
    #[arg(short, long, value_name = "N")]
    budget: Option<usize>,
    /// Show the source of each line
    #[arg(long)]
    sources: bool,
}

impl Brief {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let workflows = gather_workflows(&home()?, ctx.engine.project());
        let set = ctx.settings.number("brief.budget")?;
        let session = session(ctx)?;
        let request = BriefRequest {
            session: Some(session.clone()),
            budget: self
                .budget
                .unwrap_or_else(|| usize::try_from(set).unwrap_or(usize::MAX)),
            ..BriefRequest::default()
        };
        let brief = ctx.engine.brief(&request, &workflows)?;
        if output.is_json() {
            return output.data(&as_json(&brief, &session));
        }
        if self.sources {
            print_with_sources(&brief, output)?;
        } else {
            output.raw(&brief.text)?;
        }
        if session != ctx.actor.session {
            output.notice(&format!(
                "This is about {session}, which was last at work here; `--session` names another."
            ))?;
        }
        for note in &brief.notes {
            output.notice(note)?;
        }
        Ok(())
    }
}

/// Returns the session that is meant.
fn session(ctx: &CommandContext) -> Result<SessionRef, Failure> {
    let own = &ctx.actor.session;
    if ctx.session_named {
        return Ok(own.clone());
    }
    let at_work = ctx.engine.session_at_work(own)?;
    Ok(at_work.unwrap_or_else(|| own.clone()))
}

fn print_with_sources(brief: &flamestack_brief::Brief, output: &mut Output) -> Result<(), Failure> {
    for section in &brief.sections {
        output.line(format!("## {}", section.heading.as_str()))?;
        for line in &section.lines {
            output.line(format!("- {}  [{}]", line.text, line.source))?;
        }
        if section.omitted > 0 {
            output.line(format!("- ({} more not shown)", section.omitted))?;
        } else if section.lines.is_empty() {
            output.line("- none recorded")?;
        }
    }
    Ok(())
}

fn as_json(brief: &flamestack_brief::Brief, session: &SessionRef) -> Value {
    let sections = brief.sections.iter().map(|section| {
        let lines = section.lines.iter();
        let lines = lines.map(|line| json!({ "text": line.text, "source": source(&line.source) }));
        json!({
            "heading": section.heading.as_str(),
            "lines": lines.collect::<Vec<_>>(),
            "omitted": section.omitted,
        })
    });
    let anchors = brief.anchors.iter();
    let anchors =
        anchors.map(|anchor| json!({ "kind": anchor.kind.as_str(), "text": anchor.text }));
    json!({
        "session": session.to_string(),
        "text": brief.text,
        "tokens": brief.tokens,
        "budget": brief.budget,
        "tokenizer": brief.tokenizer,
        "state": brief.state.as_ref().map(flamestack_engine::json::work_state),
        "workflow": brief.workflow.as_ref().map(workflow),
        "sections": sections.collect::<Vec<_>>(),
        "anchors": anchors.collect::<Vec<_>>(),
        "notes": brief.notes,
        "read": { "files": brief.read.files, "bytes": brief.read.bytes },
    })
}

fn source(source: &LineSource) -> Value {
    json!({ "kind": source.kind(), "at": source.to_string() })
}

fn workflow(status: &WorkflowStatus) -> Value {
    let next = status.to_do.first();
    json!({
        "name": status.workflow,
        "unit": status.item,
        "stage": status.stage,
        "knownBy": status.known_by,
        "follows": status.follows,
        "nextTask": next.map(Task::label),
        "tasksDone": status.done,
        "tasksRemaining": status.to_do.len(),
    })
}
