//! Reads requests on one thread and hands them to the workers.

use std::io::{self, BufRead, Write};
use std::sync::PoisonError;
use std::thread::{self, Builder, Scope};
use std::time::Duration;

use flamestack_core::id::SessionRef;
use flamestack_core::session::checkpoint::ProcessIdentity;
use flamestack_engine::sessions::process::{Liveness, SystemProcesses, liveness};
use serde_json::Value;

use super::Sidecar;
use super::methods::{handle, hello};
use super::rpc::{Line, LineReader, RequestLine, Responder, RpcError};
use super::scheduler::{Job, Scheduler};
use super::session::{ServedSession, SessionMemory};
use super::upkeep::tend;

/// Time between two looks at a host that is about to end, and their number.
const MOMENT: Duration = Duration::from_millis(50);
const ATTEMPTS: usize = 10;

/// Serves a host until the input ends.
pub fn serve<R, W>(sidecar: &Sidecar, input: R, output: W) -> io::Result<()>
where
    R: BufRead,
    W: Write + Send,
{
    let server = Server {
        sidecar,
        responder: Responder::new(output),
        scheduler: Scheduler::default(),
    };
    let ended = thread::scope(|scope| {
        // The first request that needs tokens counted should not wait for the tokenizer's tables.
        server.start_thread(scope, || sidecar.engine.warm_up());
        // No request waits for the search index either.
        server.start_thread(scope, || sidecar.engine.recall().keep_indexed());
        server.start_thread(scope, || tend(sidecar, &server.scheduler));
        server.start_thread(scope, || find_lost_turns(sidecar));
        let ended = server.read(scope, LineReader::new(input));
        server.scheduler.end_input();
        // Searches that still run have no reader.
        sidecar.engine.recall().stop();
        ended
    });
    server.record_rest();
    end_turns(sidecar);
    ended
}

/// Marks the turns of hosts that ended without a word as interrupted.
fn find_lost_turns(sidecar: &Sidecar) {
    match sidecar.engine.sessions().reconcile(&SystemProcesses) {
        Ok(lost) if lost.is_empty() => {}
        Ok(lost) => tracing::info!("{} turns were interrupted by the end of a host", lost.len()),
        Err(error) => tracing::warn!("lost turns not found: {error}"),
    }
}

/// Marks the turns that still ran when the host ended as interrupted.
fn end_turns(sidecar: &Sidecar) {
    let Some(process) = &sidecar.process else {
        return;
    };
    // A plugin may start another sidecar while its host is running.
    if liveness(&SystemProcesses, process) == Liveness::Alive && !has_ended_soon(process) {
        return;
    }
    if let Err(error) = sidecar.engine.sessions().process_ended(process) {
        tracing::warn!("the end of the host's turns was not recorded: {error}");
    }
}

/// Waits a moment for a process whose end was announced by the end of its output.
fn has_ended_soon(process: &ProcessIdentity) -> bool {
    (0..ATTEMPTS).any(|_| {
        thread::sleep(MOMENT);
        liveness(&SystemProcesses, process) == Liveness::Gone
    })
}

struct Server<'a, W> {
    sidecar: &'a Sidecar,
    responder: Responder<W>,
    scheduler: Scheduler,
}

/// The host on the other end, once it has said hello.
pub(super) struct Host {
    pub(super) name: String,
    /// True if the host does not say which session started which.
    pub(super) without_parents: bool,
}

impl<W: Write + Send> Server<'_, W> {
    /// Reads requests until the input ends.
    fn read<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        mut lines: LineReader<impl BufRead>,
    ) -> io::Result<()> {
        let mut host = None;
        loop {
            match lines.next()? {
                Line::End => return Ok(()),
                Line::Bad(id, error) => {
                    self.responder.refuse(&id.unwrap_or(Value::Null), &error);
                }
                // Answered here: which host it is decides whose sessions all later lines name.
                Line::Request(line) if line.method == "hello" => {
                    let welcome = hello(self.sidecar, &line).map(|(greeted, welcome)| {
                        host = Some(greeted);
                        welcome
                    });
                    self.responder.answer(line.id.as_ref(), welcome);
                }
                Line::Request(line) => self.schedule(scope, host.as_ref(), line),
            }
        }
    }

    fn schedule<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        host: Option<&Host>,
        line: RequestLine,
    ) {
        let id = line.id.clone();
        let pushed = session_of(host, &line).and_then(|(host, key)| {
            if let Some(reason) = &self.sidecar.stopped {
                return Err(RpcError::Failed(reason.clone()));
            }
            self.scheduler.push(key, line, |key| {
                SessionMemory::new(key, host.without_parents)
            })
        });
        match pushed {
            Ok(false) => {}
            Ok(true) => {
                let started = self.start_thread(scope, || self.work());
                if !started && self.scheduler.worker_failed() {
                    // No thread at all, such as at a process limit: one after the other, then.
                    while let Some(job) = self.scheduler.try_next() {
                        self.run(job);
                    }
                }
            }
            Err(error) => {
                if id.is_none() {
                    tracing::warn!("a notification was not handled: {error}");
                }
                self.responder.fail(id.as_ref(), &error);
            }
        }
    }

    /// Records what waited for more of the host when it ended.
    fn record_rest(&self) {
        for session in self.scheduler.sessions() {
            let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
            let mut served = ServedSession {
                sidecar: self.sidecar,
                engine: &self.sidecar.engine,
                scheduler: &self.scheduler,
                state: &mut session,
            };
            if let Err(error) = served.record_rest() {
                tracing::warn!("the end of a session was not recorded: {error}");
            }
        }
    }

    /// Handles requests until the input has ended and none is left.
    fn work(&self) {
        while let Some(job) = self.scheduler.next() {
            self.run(job);
        }
    }

    fn run(&self, job: Job) {
        let Job { key, session, line } = job;
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        let mut served = ServedSession {
            sidecar: self.sidecar,
            engine: &self.sidecar.engine,
            scheduler: &self.scheduler,
            state: &mut session,
        };
        handle(&self.responder, &mut served, &line);
        drop(session);
        self.scheduler.done(&key);
    }

    /// Starts a thread, unless the system has none left.
    fn start_thread<'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        run: impl FnOnce() + Send + 'scope,
    ) -> bool {
        let started = Builder::new().spawn_scoped(scope, run);
        started
            .inspect_err(|error| tracing::warn!("no thread could be started: {error}"))
            .is_ok()
    }
}

/// Returns the session that a request is about, with its host.
fn session_of<'h>(
    host: Option<&'h Host>,
    line: &RequestLine,
) -> Result<(&'h Host, SessionRef), RpcError> {
    let Some(host) = host else {
        return Err(RpcError::Failed(format!(
            "`{}` came before `hello`: say hello first",
            line.method
        )));
    };
    let session = line.session.as_deref().unwrap_or("none");
    match format!("{}:{session}", host.name).parse() {
        Ok(session) => Ok((host, session)),
        Err(problem) => Err(line.bad_params(&format!("at `session`: {problem}"))),
    }
}
