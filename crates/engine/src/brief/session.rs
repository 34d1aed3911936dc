//! The session that a brief without `--session` is about.

use flamestack_core::SessionRef;
use flamestack_store::Reading;

use crate::Engine;
use crate::error::Result;

impl Engine {
    /// Returns the agent's session that was last sent a context in this worktree, of those with open work;
    /// none if the shell session itself works on something.
    pub fn session_at_work(&self, shell: &SessionRef) -> Result<Option<SessionRef>> {
        let worktree = &self.project().worktree;
        self.read(|reading| last_at_work(reading, shell, worktree))
    }
}

fn last_at_work(
    reading: &dyn Reading,
    shell: &SessionRef,
    worktree: &str,
) -> Result<Option<SessionRef>> {
    let mut last = None;
    for session in reading.sessions(false)? {
        if session.key == *shell && session.active.is_some() {
            return Ok(None);
        }
        let Some(frame) = session.active.as_ref().or(session.own.as_ref()) else {
            continue;
        };
        let is_here = session.worktree.as_deref() == Some(worktree) && !session.key.is_shell();
        // A subagent is part of another session.
        let is_subagent = match &session.own {
            Some(own) => reading.frame(own)?.is_some_and(|own| own.parent.is_some()),
            None => false,
        };
        let frame = reading.frame(frame)?;
        let is_open = frame.is_some_and(|frame| frame.status.is_open());
        if !is_here || is_subagent || !is_open {
            continue;
        }
        let sent = reading.last_sent(&session.key)?.map(|sent| sent.seq);
        if last.as_ref().is_none_or(|(before, _)| sent >= *before) {
            last = Some((sent, session.key));
        }
    }
    Ok(last.map(|(_, session)| session))
}
