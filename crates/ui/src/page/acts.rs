//! Actions of the user on the page: the same commands as at a terminal.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use flamestack_core::{Actor, Outcome};
use flamestack_engine::hints::Voice;
use flamestack_engine::request::{GoalInput, NoteInput, PlanInput};
use flamestack_engine::views::{printable, receipt};
use flamestack_engine::{EngineError, ParentInput, Request};
use serde::Deserialize;
use serde_json::json;

use super::Site;
use super::api::{Refused, answered};

/// An act of the user.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Act {
    /// The session to act for; by default that of the worktree's terminal.
    session: Option<String>,
    #[serde(rename = "do")]
    action: Action,
}

#[derive(Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
enum Action {
    Plan {
        under: Option<String>,
        titles: Vec<String>,
    },
    Activate {
        frame: String,
    },
    Pop {
        frame: String,
        outcome: String,
        results: String,
    },
    Invalidate {
        frame: String,
        reason: String,
    },
    Decision {
        frame: String,
        text: String,
        why: Option<String>,
    },
    Failed {
        frame: String,
        text: String,
        why: Option<String>,
    },
    Directive {
        frame: String,
        text: String,
    },
    Undo {},
}

impl Action {
    fn request(self) -> Result<Request, Refused> {
        let note = |frame: String, note: NoteInput| Request::Note {
            frame: Some(frame),
            note,
        };
        let reason = |why: Option<String>| why.filter(|why| !why.trim().is_empty());
        Ok(match self {
            Self::Plan { under, titles } => Request::Plan {
                parent: under.map_or(ParentInput::Root, ParentInput::Named),
                items: titles.into_iter().map(item).collect(),
            },
            Self::Activate { frame } => Request::Activate(frame),
            Self::Pop {
                frame,
                outcome,
                results,
            } => Request::Pop {
                frame: Some(frame),
                outcome: Outcome::from_name(&outcome)
                    .ok_or_else(|| Refused::new("choose completed, failed or blocked"))?,
                results,
                compacted: None,
            },
            Self::Invalidate { frame, reason } => Request::Invalidate {
                frame: Some(frame),
                reason,
            },
            Self::Decision { frame, text, why } => {
                note(frame, NoteInput::Decision(text, reason(why)))
            }
            Self::Failed { frame, text, why } => {
                note(frame, NoteInput::FailedAttempt(text, reason(why)))
            }
            Self::Directive { frame, text } => note(frame, NoteInput::Directive(text)),
            Self::Undo {} => Request::Undo,
        })
    }
}

fn item(title: String) -> PlanInput {
    PlanInput {
        goal: GoalInput {
            title,
            ..GoalInput::default()
        },
        children: Vec::new(),
    }
}

pub(super) async fn act(State(site): State<Arc<Site>>, Json(act): Json<Act>) -> Response {
    answered(site, move |site| {
        let actor = match &act.session {
            None => site.options.actor.clone(),
            Some(name) => Actor {
                session: name.parse().map_err(EngineError::from)?,
                ..site.options.actor.clone()
            },
        };
        let request = act.action.request()?;
        let done = site.engine.commands().execute(&actor, &request)?;
        let lines = site.engine.read(|reading| {
            receipt::lines(reading, site.engine.project(), &actor, &done, Voice::Cli)
        })?;
        let lines: Vec<String> = lines.iter().map(|line| printable(line)).collect();
        let opened = done.opened().map(|frame| frame.as_str().to_owned());
        Ok(Json(json!({ "lines": lines, "opened": opened })))
    })
    .await
}
