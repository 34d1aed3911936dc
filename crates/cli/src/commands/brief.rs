//! `flame brief`

use clap::Args;
use flamestack_core::SessionRef;
use flamestack_core::brief::{Brief as Told, Source, Standing, Task};
use flamestack_engine::EngineError;
use flamestack_engine::brief::{Asked, Workflows};
use flamestack_store::Reading;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::{Workplace, home};

/// Print what a session has to know to go on: goal, step, decisions, workflow stage, next action
///
/// For a hand-off to another agent, or for yourself after a pause. Without `--session` it is about
/// this worktree's shell session or, if that works on nothing, about the agent's session that was
/// last at work here. Told are its frames, the agent's to-do list, the files of a declared workflow,
/// `SESSION.md` and git; an agent that is compacted or taken up again is told the same. See
/// docs/briefs.md for the sections and for how a team declares its own workflow.
#[derive(Args)]
pub(crate) struct Brief {
    /// At most so many tokens (default: `brief.budget`)
    #[arg(short, long, value_name = "N")]
    budget: Option<usize>,
    /// Say behind each line where it comes from
    #[arg(long)]
    sources: bool,
}

impl Brief {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let workflows = Workflows::gather(&home()?, place.engine.project());
        let set = place.settings.number("brief.budget")?;
        let session = self.session(place)?;
        let is_other = session != place.actor.session;
        let asked = Asked {
            session: Some(session.clone()),
            budget: self
                .budget
                .unwrap_or_else(|| usize::try_from(set).unwrap_or(usize::MAX)),
            ..Asked::default()
        };
        let brief = place.engine.brief(&asked, &workflows)?;
        if output.is_json() {
            return output.data(&as_json(&brief, &session));
        }
        if self.sources {
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
        } else {
            output.raw(&brief.text)?;
        }
        if is_other {
            output.notice(&format!(
                "This is about {session}, which was last at work here; `--session` names another."
            ))?;
        }
        for note in &brief.notes {
            output.notice(note)?;
        }
        Ok(())
    }

    /// The session that is meant.
    fn session(&self, place: &Workplace) -> Result<SessionRef, Failure> {
        let own = &place.actor.session;
        if place.session_named {
            return Ok(own.clone());
        }
        let worktree = &place.engine.project().worktree;
        let found = place
            .engine
            .read(|reading| last_at_work(reading, own, worktree))?;
        Ok(found.unwrap_or_else(|| own.clone()))
    }
}

/// The session of an agent that was told something last, of those that are going on in a worktree,
/// unless its shell works on something itself. Subagents do not count: they are part of a session.
fn last_at_work(
    reading: &dyn Reading,
    shell: &SessionRef,
    worktree: &str,
) -> Result<Option<SessionRef>, EngineError> {
    let mut last = None;
    for known in reading.sessions(false)? {
        if known.key == *shell && known.active.is_some() {
            return Ok(None);
        }
        let Some(frame) = known.active.as_ref().or(known.own.as_ref()) else {
            continue;
        };
        let is_here = known.worktree.as_deref() == Some(worktree) && !known.key.is_shell();
        let is_part = match &known.own {
            Some(own) => reading.frame(own)?.is_some_and(|own| own.parent.is_some()),
            None => false,
        };
        let is_open = reading
            .frame(frame)?
            .is_some_and(|frame| frame.status.is_open());
        if !is_here || is_part || !is_open {
            continue;
        }
        let told = reading.last_sent(&known.key)?.map(|sent| sent.seq);
        if last.as_ref().is_none_or(|(before, _)| told >= *before) {
            last = Some((told, known.key));
        }
    }
    Ok(last.map(|(_, session)| session))
}

fn as_json(brief: &Told, session: &SessionRef) -> Value {
    let sections: Vec<Value> = brief
        .sections
        .iter()
        .map(|section| {
            let lines: Vec<Value> = section
                .lines
                .iter()
                .map(|line| json!({ "text": line.text, "source": source(&line.source) }))
                .collect();
            json!({
                "heading": section.heading.as_str(),
                "lines": lines,
                "omitted": section.omitted,
            })
        })
        .collect();
    let anchors: Vec<Value> = brief
        .anchors
        .iter()
        .map(|anchor| json!({ "kind": anchor.kind.as_str(), "text": anchor.text }))
        .collect();
    json!({
        "session": session.to_string(),
        "text": brief.text,
        "tokens": brief.tokens,
        "budget": brief.budget,
        "tokenizer": brief.tokenizer,
        "workflow": brief.standing.as_ref().map(standing),
        "sections": sections,
        "anchors": anchors,
        "notes": brief.notes,
        "read": { "files": brief.read.files, "bytes": brief.read.bytes },
    })
}

fn source(source: &Source) -> Value {
    json!({ "kind": source.kind(), "at": source.to_string() })
}

fn standing(standing: &Standing) -> Value {
    let next = standing.to_do.first();
    json!({
        "name": standing.workflow,
        "unit": standing.unit,
        "stage": standing.stage,
        "knownBy": standing.known_by,
        "follows": standing.follows,
        "nextTask": next.map(Task::label),
        "tasksDone": standing.done,
        "tasksRemaining": standing.to_do.len(),
    })
}
