//! Clean-up of orphans, of subagents that ended long ago and of terminals in removed worktrees: `flame session gc`.

use std::collections::BTreeMap;

use flamestack_core::session::forest::{CleanupAction, CleanupStep, Forest, cleanup_steps};
use flamestack_core::session::life::Life;
use flamestack_core::session::link::LinkKind;
use flamestack_core::{Actor, Command, Session, SessionRef, Text};
use flamestack_store::Reading;

use super::Sessions;
use crate::error::Result;

impl Sessions<'_> {
    /// Plans the clean-up of sessions. Changes nothing.
    pub fn plan_cleanup(&self) -> Result<Vec<CleanupStep>> {
        let thresholds = self.thresholds()?;
        let now = self.engine.clock().now();
        self.engine.read(|reading| {
            let lives: BTreeMap<SessionRef, Life> = reading
                .lives(false)?
                .into_iter()
                .map(|life| (life.session.clone(), life))
                .collect();
            let forest = Forest::of(lives.values());
            // A session that cannot be read keeps its place.
            let is_open = |session: &SessionRef| has_open_work(reading, session).unwrap_or(true);
            let mut steps = cleanup_steps(&lives, &forest, now, &thresholds, &is_open);
            steps.extend(self.gone_terminals(reading)?);
            Ok(steps)
        })
    }

    /// Plans the end of work at terminals whose worktree was removed.
    fn gone_terminals(&self, reading: &dyn Reading) -> Result<Vec<CleanupStep>> {
        let project = self.engine.project();
        let is_gone = |known: &Session| {
            let worktree = known.worktree.as_deref();
            known.key.is_shell() && worktree.is_some_and(|name| project.is_worktree_gone(name))
        };
        let sessions = reading.sessions(true)?.into_iter().filter(is_gone);
        let steps = sessions.map(|known| CleanupStep {
            session: known.key,
            action: CleanupAction::Close,
            why: "its worktree is gone".to_owned(),
        });
        Ok(steps.collect())
    }

    /// Takes the steps of a plan.
    pub fn apply_cleanup(&self, actor: &Actor, steps: &[CleanupStep]) -> Result<()> {
        for step in steps {
            let session = step.session.clone();
            let command = match &step.action {
                CleanupAction::Adopt(parent) => Command::LinkSession {
                    session,
                    kind: LinkKind::Parent,
                    to: parent.clone(),
                    removed: false,
                },
                CleanupAction::Close => Command::CloseSession {
                    session,
                    why: Text::new(&step.why).ok(),
                },
            };
            self.engine.commands().run(actor, &command)?;
        }
        Ok(())
    }
}

/// Returns true if the frame of a session is open.
fn has_open_work(reading: &dyn Reading, session: &SessionRef) -> Result<bool> {
    let known = reading.session(session)?;
    let Some(frame) = known.and_then(|known| known.frame()) else {
        return Ok(false);
    };
    let frame = reading.frame(&frame)?;
    Ok(frame.is_some_and(|frame| frame.status.is_open()))
}
