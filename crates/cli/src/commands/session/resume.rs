//! `flame session resume`

use clap::Args;
use flamestack_core::SessionRef;
use flamestack_core::session::state::SessionState;
use flamestack_engine::resumption::Resumption;
use serde_json::{Value, json};

use crate::command_context::CommandContext;
use crate::complete;
use crate::failure::Failure;
use crate::output::Output;

/// Show how to continue an interrupted session: calls in flight, half-done files, git, cost
///
/// Nothing is run and nothing is changed: the host continues a session once you type into it. The next
/// message is accompanied by the same facts for the model (`session.resume`). Without a name, all
/// sessions that were cut off, stopped or ended by an error are described, those of this worktree first.
#[derive(Args)]
pub(super) struct Resume {
    /// The session
    #[arg(add = complete::sessions())]
    name: Option<String>,
}

impl Resume {
    pub(super) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let sessions = ctx.engine.sessions();
        let meant: Vec<SessionRef> = match &self.name {
            Some(name) => vec![sessions.named(name)?],
            None => sessions
                .list(false)?
                .into_iter()
                .filter(|row| {
                    let state = row.status.state;
                    matches!(state, SessionState::Interrupted | SessionState::Failed)
                })
                .map(|row| row.key().clone())
                .collect(),
        };
        let mut states = Vec::new();
        for session in &meant {
            states.extend(ctx.engine.resumption(session)?);
        }
        if output.is_json() {
            let states: Vec<Value> = states.iter().map(Resumption::value).collect();
            return output.data(&match self.name {
                Some(_) => states.into_iter().next().unwrap_or(Value::Null),
                None => json!(states),
            });
        }
        if states.is_empty() {
            return output.line("No session was cut off or stopped.");
        }
        let canvas = output.canvas();
        for (nth, state) in states.iter().enumerate() {
            if nth > 0 {
                output.line("")?;
            }
            output.raw(&state.text(&canvas))?;
        }
        Ok(())
    }
}
