//! Tools about sessions: their states, making one, linking them.

use flamestack_core::session::link::LinkKind;
use flamestack_core::{Actor, Author};
use schemars::JsonSchema;
use serde::Deserialize;

use super::ToolArgs;
use crate::Engine;
use crate::error::Result;
use crate::hints::Voice;
use crate::sessions::NewSession;
use crate::views::{Canvas, sessions as view};

/// Maximum number of sessions in one answer.
const SHOWN: usize = 40;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusArgs {
    /// One session in full; by default all are listed
    #[serde(rename = "sessionID")]
    session: Option<String>,
}

impl ToolArgs for StatusArgs {
    const NAME: &'static str = "stack_session_status";
    const DESCRIPTION: &'static str =
        "States of the project's sessions: level, since when, why, interruptions, links.";

    fn call(self, engine: &Engine, _: &Actor) -> Result<String> {
        let canvas = Canvas::plain(Voice::Tool);
        let sessions = engine.sessions();
        let mut lines = Vec::new();
        if let Some(name) = &self.session {
            let details = sessions.show(&sessions.named(name)?)?;
            lines.extend(view::details(&details, &canvas));
        } else {
            let rows = sessions.list(false)?;
            let shown = rows.iter().take(SHOWN);
            lines.extend(shown.flat_map(|row| view::lines(row, &canvas)));
            if rows.len() > SHOWN {
                lines.push(format!("{} more are not shown", rows.len() - SHOWN));
            }
            if rows.is_empty() {
                lines.push("no sessions yet".to_owned());
            }
        }
        Ok(lines.join("\n") + "\n")
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CreateArgs {
    /// Its task
    purpose: String,
    /// The agent that is to work in it
    agent: Option<String>,
    /// Phase of the work
    phase: Option<String>,
    /// Its parent; without one it is a session of the user
    parent_session_id: Option<String>,
    /// The frame that it is to work on
    #[serde(rename = "frameID")]
    frame: Option<String>,
    /// The host's session, if the host has made it already
    #[serde(rename = "sessionID")]
    session: Option<String>,
}

impl ToolArgs for CreateArgs {
    const NAME: &'static str = "stack_session_create";
    const DESCRIPTION: &'static str =
        "Make a linked session with a purpose, for the user to continue in.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let session = self.session.as_deref();
        let session = session.map(|name| {
            if name.contains(':') {
                name.parse()
            } else {
                format!("{}:{name}", actor.session.host()).parse()
            }
        });
        let new = NewSession {
            purpose: self.purpose,
            agent: self.agent,
            phase: self.phase,
            parent: self.parent_session_id,
            frame: self.frame,
            session: session.transpose()?,
        };
        let made = engine.sessions().create(actor, &new)?;
        Ok(format!(
            "made {made}\nIt waits for the user: `flame session show {made}` describes it.\n"
        ))
    }
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Parent,
    Fork,
    HandOff,
}

impl From<Kind> for LinkKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Parent => Self::Parent,
            Kind::Fork => Self::Fork,
            Kind::HandOff => Self::HandOff,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkArgs {
    /// By default this session
    #[serde(rename = "sessionID")]
    session: Option<String>,
    /// The other session
    to: String,
    kind: Kind,
    /// Remove the link
    remove: Option<bool>,
}

impl ToolArgs for LinkArgs {
    const NAME: &'static str = "stack_session_link";
    const DESCRIPTION: &'static str = "Link a session to its parent, to the one it is a fork of, or to the one that continues its work.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let own = actor.session.to_string();
        let session = self.session.as_deref().unwrap_or(&own);
        let removed = self.remove.unwrap_or(false);
        let actor = Actor {
            by: Author::Agent,
            ..actor.clone()
        };
        let sessions = engine.sessions();
        let receipt = sessions.link(&actor, session, self.kind.into(), Some(&self.to), removed)?;
        let done = match (receipt.events.is_empty(), removed) {
            (true, _) => "nothing to change",
            (false, false) => "linked",
            (false, true) => "link removed",
        };
        Ok(format!("{session} {done}: {}\n", self.to))
    }
}
