//! `flame status`

use clap::Args;
use flamestack_core::autonomy::SuggestionState;
use flamestack_engine::autonomy::described;
use flamestack_engine::json;
use flamestack_engine::views::hosted::Hosted;
use flamestack_engine::views::status::{self, SessionStatus, StatusView};
use flamestack_engine::views::{one_line, subagents, tree};
use serde_json::json;

use super::autonomy;
use super::run::UnfinishedRuns;
use super::session::record_lost_turns;
use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::{BOLD, DIM, Output, painted};

/// Show each session's path, position and next step
#[derive(Args)]
pub(crate) struct Status {}

impl Status {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        record_lost_turns(ctx);
        let project = ctx.engine.project();
        let only = ctx.session_named.then_some(&ctx.actor.session);
        let (mut sessions, totals) = ctx.engine.read(|reading| {
            Ok((
                status::gather(reading, only, &project.worktree)?,
                reading.totals()?,
            ))
        })?;
        for standing in &mut sessions {
            let worktree = standing.session.worktree.as_deref();
            standing.is_worktree_gone =
                worktree.is_some_and(|worktree| project.is_worktree_gone(worktree));
        }
        let runs = UnfinishedRuns::find(&ctx.engine, output)?;
        let set_aside = ctx.engine.maintenance().set_aside_stores()?;
        let view = StatusView {
            sessions,
            totals,
            set_aside,
        };
        if output.is_json() {
            let mut suggestions = Vec::new();
            for standing in &view.sessions {
                let session = &standing.session.key;
                if let Some((_, pending)) = ctx.engine.autonomy().pending(session)? {
                    let pending = autonomy::value(&pending, SuggestionState::Pending);
                    suggestions
                        .push(json!({ "session": session.to_string(), "suggestion": pending }));
                }
            }
            return output.data(&json!({
                "project": project.name(),
                "worktree": project.worktree,
                "sessions": view.sessions.iter().map(|standing| standing_json(standing, &ctx.actor.session)).collect::<Vec<_>>(),
                "runs": runs.value(),
                "suggestions": suggestions,
                "totals": json::totals(&view.totals),
                "setAside": view.set_aside.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            }));
        }
        let canvas = output.canvas();
        let you = &ctx.actor.session;
        // Sessions that nothing was recorded of for a day come last, in one line each.
        let is_idle =
            |standing: &&SessionStatus| standing.session.key != *you && standing.is_idle(&canvas);
        let (idle, busy): (Vec<_>, Vec<_>) = view.sessions.iter().partition(is_idle);
        for standing in busy.into_iter().chain(idle) {
            output.text(&standing.draw(&canvas, Some(you)))?;
            if let Some((_, suggestion)) = ctx.engine.autonomy().pending(&standing.session.key)? {
                output.dim(format!("  suggestion: {}", described(&suggestion)))?;
            }
        }
        if view
            .sessions
            .iter()
            .any(|it| it.is_worktree_gone && it.session.key.is_shell())
        {
            output.dim(
                "`flame session gc` cleans up after worktrees that are gone; their frames stay",
            )?;
            output.line("")?;
        }
        if view.sessions.is_empty() {
            output.line(match only {
                Some(session) => format!("No frame is active in {session}."),
                None => "Nothing is in progress here.".to_owned(),
            })?;
            output.line(painted(
                DIM,
                if view.totals.of(flamestack_core::Status::InProgress) > 0 {
                    "`flame activate ID` switches to one that is in progress, `flame push TITLE` starts another."
                } else {
                    "`flame push TITLE` starts a frame."
                },
            ))?;
            output.line("")?;
        }
        runs.print(output)?;
        output.line(format!(
            "{} · {}",
            painted(BOLD, one_line(&project.name(), 72)),
            tree::totals_in_words(&view.totals)
        ))?;
        Ok(())
    }
}

fn standing_json(standing: &SessionStatus, you: &flamestack_core::SessionRef) -> serde_json::Value {
    let session = &standing.session;
    json!({
        "session": session.key.to_string(),
        "you": session.key == *you,
        "here": standing.here,
        "worktree": session.worktree,
        "worktreeGone": standing.is_worktree_gone,
        "lastSeenAt": standing.seen.map(|seen| seen.0),
        "path": standing.path.iter().map(json::head).collect::<Vec<_>>(),
        "pathCut": standing.cut,
        "active": standing.path.last().map(|head| head.id.to_string()),
        "successCriteriaCompacted": standing.criteria,
        "position": standing.position,
        "siblings": json::totals(&standing.siblings),
        "children": json::totals(&standing.children),
        "subagents": standing.subagents.listed.iter().map(subagents::value).collect::<Vec<_>>(),
        "spent": subagents::usage(&session.activity.spent),
        "spentWithSubagents": subagents::usage(&standing.subagents.spent),
        "stall": session.activity.stall.as_ref().map(json::stall),
        "host": Hosted(session).value(),
        "next": standing.next.as_ref().map(json::head),
        "state": standing.life.as_ref().map(|life| life.state.as_str()),
        "why": standing.life.as_ref().map(|life| life.last.why()),
    })
}
