//! `flame brief`

use clap::Args;
use flamestack_core::brief::{Brief as Told, Source, Standing, Task};
use flamestack_engine::brief::{Asked, Workflows};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::{Workplace, home};

/// Print what a session has to know to go on: goal, step, decisions, workflow stage, next action
///
/// Frames come first, then `SESSION.md`, the files of a declared workflow, and git. See
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
        let asked = Asked {
            session: Some(place.actor.session.clone()),
            budget: self
                .budget
                .unwrap_or_else(|| usize::try_from(set).unwrap_or(usize::MAX)),
            ..Asked::default()
        };
        let brief = place.engine.brief(&asked, &workflows)?;
        if output.is_json() {
            return output.data(&as_json(&brief));
        }
        if self.sources {
            for section in &brief.sections {
                output.line(format!("## {}", section.heading.as_str()))?;
                for line in &section.lines {
                    output.line(format!("- {}  [{}]", line.text, line.source))?;
                }
                if section.omitted > 0 {
                    output.line(format!("- ({} more not shown)", section.omitted))?;
                }
            }
        } else {
            output.text(&brief.text)?;
        }
        for note in &brief.notes {
            output.notice(note)?;
        }
        Ok(())
    }
}

fn as_json(brief: &Told) -> Value {
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
        "text": brief.text,
        "tokens": brief.tokens,
        "budget": brief.budget,
        "tokenizer": brief.tokenizer,
        "workflow": brief.standing.as_ref().map(standing),
        "sections": sections,
        "anchors": anchors,
        "notes": brief.notes,
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
