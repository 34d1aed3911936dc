//! `flame status`

use clap::Args;
use flamestack_engine::json;
use flamestack_engine::views::status::{self, Standing, StatusView};
use flamestack_engine::views::{icon, one_line, subagents, tree};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{BOLD, DIM, ID, Output, colour, painted};
use crate::workplace::Workplace;

/// Show where each session stands: its path, its place, what is next
#[derive(Args)]
pub(crate) struct Status {}

impl Status {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let project = place.engine.project();
        let only = place.session_named.then_some(&place.actor.session);
        let (sessions, totals) = place.engine.read(|reading| {
            Ok((
                status::gather(reading, only, &project.worktree)?,
                reading.totals()?,
            ))
        })?;
        let set_aside = place.engine.set_aside_stores()?;
        let view = StatusView {
            sessions,
            totals,
            set_aside,
        };
        if output.is_json() {
            return output.data(&json!({
                "project": project.name(),
                "worktree": project.worktree,
                "sessions": view.sessions.iter().map(|standing| standing_json(standing, &place.actor.session)).collect::<Vec<_>>(),
                "totals": json::totals(&view.totals),
                "setAside": view.set_aside.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            }));
        }
        for standing in &view.sessions {
            print(output, standing, &place.actor.session)?;
        }
        if view.sessions.is_empty() {
            output.line(match only {
                Some(session) => format!("{session} works on no frame."),
                None => "No session works on a frame.".to_owned(),
            })?;
            output.line(painted(
                DIM,
                if view.totals.of(flamestack_core::Status::InProgress) > 0 {
                    "`flame activate ID` turns to one that is in progress, `flame push TITLE` begins another."
                } else {
                    "`flame push TITLE` begins one."
                },
            ))?;
            output.line("")?;
        }
        output.line(format!(
            "{} · {}",
            painted(BOLD, one_line(&project.name(), 72)),
            tree::totals_in_words(&view.totals)
        ))?;
        for waiting in &view.set_aside {
            output.notice(&super::set_aside(waiting))?;
        }
        Ok(())
    }
}

fn print(
    output: &mut Output,
    standing: &Standing,
    you: &flamestack_core::SessionRef,
) -> Result<(), Failure> {
    let mark = if standing.session == *you {
        painted(DIM, " (you)")
    } else {
        String::new()
    };
    let elsewhere = match &standing.worktree {
        Some(worktree) if !standing.here => painted(DIM, format!(" (worktree {worktree})")),
        _ => String::new(),
    };
    output.line(format!(
        "{}{mark}{elsewhere}",
        painted(BOLD, &standing.session)
    ))?;
    if standing.cut {
        output.line("  …")?;
    }
    let depth = standing.path.len();
    for (level, head) in standing.path.iter().enumerate() {
        let indent = "  ".repeat(level.min(12) + 1);
        output.line(format!(
            "{indent}{} {}  {}",
            painted(colour(head.status), icon(head.status)),
            painted(ID, &head.id),
            one_line(head.title.as_str(), 72)
        ))?;
        if level + 1 == depth
            && let Some(criteria) = &standing.criteria
        {
            output.line(format!(
                "{indent}  {}",
                painted(DIM, format!("done when: {}", one_line(criteria, 100)))
            ))?;
        }
    }
    if let Some(hosted) = standing.hosted.line() {
        output.line(format!("  {}", painted(DIM, hosted)))?;
    }
    for fact in status::facts(standing) {
        output.line(format!("  {fact}"))?;
    }
    output.line("")
}

fn standing_json(standing: &Standing, you: &flamestack_core::SessionRef) -> serde_json::Value {
    json!({
        "session": standing.session.to_string(),
        "you": standing.session == *you,
        "here": standing.here,
        "worktree": standing.worktree,
        "path": standing.path.iter().map(json::head).collect::<Vec<_>>(),
        "pathCut": standing.cut,
        "active": standing.path.last().map(|head| head.id.to_string()),
        "successCriteriaCompacted": standing.criteria,
        "position": standing.position,
        "siblings": json::totals(&standing.siblings),
        "children": json::totals(&standing.children),
        "subagents": standing.subagents.listed.iter().map(subagents::value).collect::<Vec<_>>(),
        "spent": subagents::usage(&standing.subagents.own),
        "spentWithSubagents": subagents::usage(&standing.subagents.spent),
        "host": standing.hosted.value(),
        "next": standing.next.as_ref().map(json::head),
    })
}
