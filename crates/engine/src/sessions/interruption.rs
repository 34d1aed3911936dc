//! Interruptions: the checkpoint of each, and the search for turns whose process is gone.
//!
//! No host reports its own death, so that the sessions with a running turn are compared with the processes
//! of this machine whenever a sidecar starts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use flamestack_core::session::checkpoint::{
    InterruptionCause, InterruptionCheckpoint, ProcessIdentity, RepositoryState,
};
use flamestack_core::session::life::Life;
use flamestack_core::session::state::SessionState;
use flamestack_core::{Actor, Author, Command, Event, Recorded, Session, SessionRef, Text};

use super::Sessions;
use super::process::{Liveness, Processes, liveness};
use crate::brief::git;
use crate::error::Result;
use crate::views::time;

/// Maximum time that git gets to describe the repository.
const GIT_TIMEOUT: Duration = Duration::from_secs(2);

impl Sessions<'_> {
    /// Records the host's process that serves a session.
    pub fn host(&self, actor: &Actor, process: &ProcessIdentity) -> Result<()> {
        let host = Command::HostSession(process.clone());
        self.engine.commands().run(actor, &host)?;
        Ok(())
    }

    /// Returns the sessions with a running turn whose process is gone. Changes nothing.
    pub fn lost(&self, processes: &dyn Processes) -> Result<Vec<SessionRef>> {
        let lost = self.lost_lives(processes)?;
        Ok(lost.into_iter().map(|(life, _)| life.session).collect())
    }

    fn lost_lives(&self, processes: &dyn Processes) -> Result<Vec<(Life, ProcessIdentity)>> {
        let busy = self.engine.read(|reading| Ok(reading.lives(true)?))?;
        let served = busy.into_iter().filter_map(|life| {
            let process = life.process.clone()?;
            Some((life, process))
        });
        Ok(served
            .filter(|(_, process)| liveness(processes, process) == Liveness::Gone)
            .collect())
    }

    /// Marks the running turns whose process is gone as interrupted, each with a checkpoint. Returns their
    /// sessions.
    ///
    /// Costs as much as there are running turns, however many sessions there are.
    pub fn reconcile(&self, processes: &dyn Processes) -> Result<Vec<SessionRef>> {
        let mut found = Vec::new();
        for (life, process) in self.lost_lives(processes)? {
            let how = format!(
                "process {} is gone; its last sign of life was at {}",
                process.pid,
                time::minute(life.times.active)
            );
            if self.interrupt(&life.session, InterruptionCause::Crash, &how)? {
                found.push(life.session);
            }
        }
        Ok(found)
    }

    /// Marks the turns that a process was running as interrupted: the process has ended, and its sidecar saw
    /// it. Returns their sessions.
    pub fn process_ended(&self, process: &ProcessIdentity) -> Result<Vec<SessionRef>> {
        let busy = self.engine.read(|reading| Ok(reading.lives(true)?))?;
        let mut found = Vec::new();
        for life in busy {
            let how = format!("process {} ended", process.pid);
            if life.process.as_ref() == Some(process)
                && self.interrupt(&life.session, InterruptionCause::Kill, &how)?
            {
                found.push(life.session);
            }
        }
        Ok(found)
    }

    /// Interrupts a session, unless another process has recorded its end meanwhile.
    fn interrupt(&self, session: &SessionRef, cause: InterruptionCause, how: &str) -> Result<bool> {
        let actor = acting(session);
        let how = Text::new(how).ok();
        let interrupt = Command::Interrupt { cause, how };
        let receipt = self.engine.commands().run(&actor, &interrupt)?;
        if receipt.events.is_empty() {
            return Ok(false);
        }
        self.keep(session, cause)?;
        Ok(true)
    }

    /// Records a checkpoint for each session that these events interrupted.
    pub(crate) fn keep_interruptions(&self, recorded: &[Recorded]) -> Result<Vec<Recorded>> {
        let mut kept = Vec::new();
        for entry in recorded {
            let (Event::SessionInterrupted { session, .. } | Event::TurnEnded { session, .. }) =
                &entry.event
            else {
                continue;
            };
            let life = self.engine.read(|reading| Ok(reading.life(session)?))?;
            // Most signals say again what is known.
            let Some(life) = life.filter(|life| life.last.seq == entry.seq) else {
                continue;
            };
            let cause = match (life.state, &entry.event) {
                (SessionState::Failed, _) => InterruptionCause::Failure,
                (SessionState::Interrupted, Event::SessionInterrupted { cause, .. }) => *cause,
                _ => continue,
            };
            kept.extend(self.keep(session, cause)?);
        }
        Ok(kept)
    }

    /// Records the state of a session at its interruption.
    fn keep(&self, session: &SessionRef, cause: InterruptionCause) -> Result<Vec<Recorded>> {
        let known = self.engine.read(|reading| {
            let life: Option<Life> = reading.life(session)?;
            Ok((life, reading.session(session)?))
        })?;
        let (Some(life), Some(known)) = known else {
            return Ok(Vec::new());
        };
        let root = self.directory(&known);
        let checkpoint = InterruptionCheckpoint {
            cause,
            frame: known.frame(),
            last_message: life.message,
            in_flight: life.calls,
            files: life.touched,
            queued: life.queued,
            git: self.repository(&root),
        };
        let keep = Command::KeepInterruption(Box::new(checkpoint));
        let receipt = self.engine.commands().run(&acting(session), &keep)?;
        Ok(receipt.events)
    }

    /// Returns the directory that a session works in: another worktree may be checked out there.
    pub(crate) fn directory(&self, session: &Session) -> PathBuf {
        let directory = session.description.directory.as_ref();
        let directory = directory.map(|directory| PathBuf::from(directory.as_str()));
        let directory = directory.filter(|directory| directory.is_dir());
        directory.unwrap_or_else(|| self.engine.project().root.clone())
    }

    /// Asks git for the state of a repository; none outside of one, or if git does not answer in time.
    pub fn repository(&self, root: &Path) -> Option<RepositoryState> {
        let mut above = root.ancestors();
        above.find(|dir| dir.join(".git").exists())?;
        let git = git::read(root, &[], GIT_TIMEOUT, self.engine.redactor()).ok()?;
        Some(RepositoryState {
            head: git::commit(root, "HEAD", GIT_TIMEOUT).ok(),
            dirty: git.changed,
            dirty_total: git.changed_total as u64,
        })
    }
}

/// Returns the actor of what is recorded about a session.
fn acting(session: &SessionRef) -> Actor {
    Actor {
        session: session.clone(),
        worktree: None,
        message: None,
        by: Author::Agent,
    }
}
