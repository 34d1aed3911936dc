//! Sessions made and linked by a command.

use flamestack_core::session::link::{Creation, LinkKind};
use flamestack_core::{Actor, Command, Refusal, SessionRef, Text};

use super::Sessions;
use crate::commands::Receipt;
use crate::error::{EngineError, Result};

/// Host name of a session that no host has made yet.
const CUSTOM: &str = "custom";

/// A session to make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSession {
    /// Its purpose.
    pub purpose: String,
    /// The agent that is to work in it.
    pub agent: Option<String>,
    /// Phase of the work.
    pub phase: Option<String>,
    /// Its parent; without one it is a session of the user.
    pub parent: Option<String>,
    /// The frame that it is to work on.
    pub frame: Option<String>,
    /// The host's session, if the host has made it already.
    pub session: Option<SessionRef>,
}

impl Sessions<'_> {
    /// Makes a session. Without a host's session it waits under a name of its own until a host takes it up.
    pub fn create(&self, actor: &Actor, new: &NewSession) -> Result<SessionRef> {
        let text = |field: &'static str, words: &str| {
            let bad = |problem| EngineError::from(Refusal::BadText { field, problem });
            Text::new(words).map_err(bad)
        };
        let optional = |field: &'static str, words: &Option<String>| {
            let words = words.as_deref().filter(|words| !words.trim().is_empty());
            words.map(|words| text(field, words)).transpose()
        };
        let parent = new.parent.as_deref();
        let parent = parent.map(|name| self.named(name)).transpose()?;
        let frame = new.frame.as_deref();
        let frame = frame
            .map(|name| self.engine.frame_named(name))
            .transpose()?;
        let session = match &new.session {
            Some(session) => session.clone(),
            None => self.unused()?,
        };
        let creation = Creation {
            session: session.clone(),
            purpose: text("the purpose", &new.purpose)?,
            agent: optional("the agent", &new.agent)?,
            phase: optional("the phase", &new.phase)?,
            from: Some(actor.session.clone()).filter(|from| !from.is_shell() && *from != session),
            frame,
        };
        // The session acts, so that it belongs to the worktree of the one that makes it.
        let acting = Actor {
            session: session.clone(),
            message: None,
            ..actor.clone()
        };
        let create = Command::CreateSession {
            creation: Box::new(creation),
            parent,
        };
        self.engine.commands().run(&acting, &create)?;
        Ok(session)
    }

    /// Lets a host's session take up one that was made before it: it gets its purpose and its frame, and the
    /// other one is closed.
    pub fn take_up(&self, actor: &Actor, custom: &SessionRef) -> Result<()> {
        let life = self.engine.read(|reading| Ok(reading.life(custom)?))?;
        let creation = life.and_then(|life| life.creation);
        let Some(creation) = creation.filter(|_| custom.host() == CUSTOM) else {
            return Err(EngineError::UnknownSession(custom.to_string()));
        };
        let commands = self.engine.commands();
        if creation.frame.is_some() {
            let unbind = Command::Unbind(custom.clone());
            commands.run(actor, &unbind)?;
        }
        let create = Command::CreateSession {
            creation: Box::new(Creation {
                session: actor.session.clone(),
                from: Some(custom.clone()),
                ..creation
            }),
            parent: None,
        };
        commands.run(actor, &create)?;
        let close = Command::CloseSession {
            session: custom.clone(),
            why: Text::new(&format!("taken up by {}", actor.session)).ok(),
        };
        commands.run(actor, &close)?;
        Ok(())
    }

    /// Links a session to another one, or removes the link.
    pub fn link(
        &self,
        actor: &Actor,
        session: &str,
        kind: LinkKind,
        to: Option<&str>,
        removed: bool,
    ) -> Result<Receipt> {
        let link = Command::LinkSession {
            session: self.named(session)?,
            kind,
            to: to.map(|to| self.named(to)).transpose()?,
            removed,
        };
        self.engine.commands().run(actor, &link)
    }

    /// Draws a name that no session has.
    fn unused(&self) -> Result<SessionRef> {
        let mut drawn = None;
        for _ in 0..8 {
            let name = format!("{CUSTOM}:{}", self.engine.clock().draw_id());
            let name = name.parse::<SessionRef>().map_err(EngineError::from)?;
            if self.engine.session(&name)?.is_none() {
                return Ok(name);
            }
            drawn = Some(name);
        }
        drawn.ok_or_else(|| EngineError::UnknownSession(CUSTOM.to_owned()))
    }
}
