//! Commands: a request comes in, events go into the journal, a receipt comes back.

use flamestack_core::decide::decide;
use flamestack_core::id::Timestamp;
use flamestack_core::{Actor, Command, FrameId, Recorded, Refusal, Remark};
use flamestack_store::Reading;

use crate::Engine;
use crate::error::{EngineError, Result};
use crate::request::Request;

/// Maximum number of attempts to draw a frame id that is not taken.
const DRAWS: usize = 8;

/// Executes requests.
#[derive(Clone, Copy)]
pub struct Commands<'e> {
    pub(crate) engine: &'e Engine,
}

/// The outcome of an executed request.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// The command that the request was resolved to.
    pub command: Command,
    /// The recorded events; empty if there was nothing left to do.
    pub events: Vec<Recorded>,
    /// Remarks for the caller.
    pub remarks: Vec<Remark>,
    /// Events recorded before the request: frames that waited for a summary and were closed without.
    pub settled: Vec<Recorded>,
}

impl Receipt {
    /// Returns the frame that was pushed, if one was.
    pub fn opened(&self) -> Option<&FrameId> {
        match &self.command {
            Command::Push { id, .. } => Some(id),
            _ => None,
        }
    }
}

impl Commands<'_> {
    /// Executes a request, or says why it is refused.
    pub fn execute(&self, actor: &Actor, request: &Request) -> Result<Receipt> {
        // Text that arrived until now belongs to the frame that the session is about to leave.
        if request.changes_focus()
            && let Err(error) = self.engine.keep_pending(actor)
        {
            tracing::warn!("raw text not kept: {error}");
        }
        let mut settled = Vec::new();
        if request.begins_work() {
            for receipt in self.engine.compactions().close_waiting(actor)? {
                settled.extend(receipt.events);
            }
        }
        let receipt = self.retried(actor, request)?;
        Ok(Receipt { settled, ..receipt })
    }

    /// Tries a request until a drawn id is free.
    fn retried(&self, actor: &Actor, request: &Request) -> Result<Receipt> {
        let summaries = self.engine.summaries();
        let request = &summaries.with_dense_results(actor, request.clone());
        for _ in 1..DRAWS {
            match self.attempt(actor, request) {
                Err(EngineError::Refused(refusal)) if matches!(*refusal, Refusal::IdTaken(_)) => {}
                answer => return answer,
            }
        }
        self.attempt(actor, request)
    }

    /// Executes a command that has no names to resolve.
    pub fn run(&self, actor: &Actor, command: &Command) -> Result<Receipt> {
        self.commit(actor, |_| Ok(command.clone()))
    }

    fn attempt(&self, actor: &Actor, request: &Request) -> Result<Receipt> {
        let until = match request {
            Request::AwaitSummary { .. } => self.engine.end_of_wait()?,
            _ => Timestamp::default(),
        };
        self.commit(actor, |reading| {
            request.to_command(reading, actor, self.engine.clock(), until)
        })
    }

    fn commit(
        &self,
        actor: &Actor,
        resolve: impl Fn(&dyn Reading) -> Result<Command>,
    ) -> Result<Receipt> {
        let workspace = &self.engine.workspace;
        let decided = |reading: &dyn Reading, command: Command| {
            let decision = decide(reading, actor, &command)?;
            Ok::<_, EngineError>((decision, command))
        };
        // A request that is refused must not create a store, so it is tried without one first.
        let resolved = if workspace.is_empty() {
            let (_, command) = workspace.read(|reading| decided(reading, resolve(reading)?))?;
            Some(command)
        } else {
            None
        };
        let (committed, command) = workspace.commit(actor, |reading| match &resolved {
            Some(command) => decided(reading, command.clone()),
            None => decided(reading, resolve(reading)?),
        })?;
        for recorded in &committed.events {
            tracing::info!(session = %actor.session, "{}", crate::views::story::line(recorded));
        }
        Ok(Receipt {
            command,
            events: committed.events,
            remarks: committed.remarks,
            settled: Vec::new(),
        })
    }
}
