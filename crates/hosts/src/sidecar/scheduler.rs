//! A queue for each session and a bounded number of workers.
//!
//! Requests of one session are handled in the order of their arrival, one at a time; sessions do
//! not wait for each other's computations. Everything is bounded, whatever the host does: 10,000
//! sessions once made 9,998 threads, and a host that did not read its answers cost 1.5 GB.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use flamestack_core::id::SessionRef;

use super::rpc::{RequestLine, RpcError};
use super::session::SessionMemory;

/// Maximum number of sessions that are served at the same time.
const MAX_WORKERS: usize = 32;
/// Maximum number of sessions whose state is kept. All of it can be had again, from the journal or
/// from the shim.
const MAX_SESSIONS: usize = 256;
/// Maximum number of requests that wait, in one session and in all of them.
const MAX_WAITING: usize = 1_000;
const MAX_WAITING_IN_ALL: usize = 10_000;
/// Maximum size of all requests that wait, in bytes. A single one may be larger.
const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;
/// Maximum time that one session waits for the requests of another.
const PATIENCE: Duration = Duration::from_millis(150);

/// The requests that wait, by session, and the sessions they belong to.
#[derive(Default)]
pub(super) struct Scheduler {
    state: Mutex<State>,
    /// Signalled when a session becomes ready and when the input has ended.
    ready: Condvar,
    /// Signalled when a request was handled.
    handled: Condvar,
    /// Signalled when the input has ended.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    slots: BTreeMap<SessionRef, Slot>,
    /// Sessions with waiting requests that no worker has taken, in order.
    ready: VecDeque<SessionRef>,
    waiting: usize,
    waiting_bytes: usize,
    workers: usize,
    idle_workers: usize,
    /// Counts requests; orders sessions by their last use.
    clock: u64,
    input_ended: bool,
}

struct Slot {
    session: Arc<Mutex<SessionMemory>>,
    queue: VecDeque<RequestLine>,
    /// True while a worker handles a request of the session.
    is_running: bool,
    last_used: u64,
}

/// A request and the session that handles it.
pub(super) struct Job {
    pub(super) key: SessionRef,
    pub(super) session: Arc<Mutex<SessionMemory>>,
    pub(super) line: RequestLine,
}

impl Scheduler {
    /// Queues a request. Returns true if the caller should start another worker.
    pub(super) fn push(
        &self,
        key: SessionRef,
        line: RequestLine,
        new_session: impl FnOnce(SessionRef) -> SessionMemory,
    ) -> Result<bool, RpcError> {
        let mut state = self.lock();
        let size = line.len();
        let is_full = state.waiting >= MAX_WAITING_IN_ALL
            || state.waiting > 0 && state.waiting_bytes + size > MAX_WAITING_BYTES;
        let of_session = state.slots.get(&key).map_or(0, |slot| slot.queue.len());
        if is_full || of_session >= MAX_WAITING {
            return Err(RpcError::Busy {
                waiting: if is_full { state.waiting } else { of_session },
            });
        }
        if !state.slots.contains_key(&key) {
            state.make_room();
        }
        state.clock += 1;
        let clock = state.clock;
        let slot = state.slots.entry(key.clone()).or_insert_with(|| Slot {
            session: Arc::new(Mutex::new(new_session(key.clone()))),
            queue: VecDeque::new(),
            is_running: false,
            last_used: 0,
        });
        slot.last_used = clock;
        let becomes_ready = slot.queue.is_empty() && !slot.is_running;
        slot.queue.push_back(line);
        state.waiting += 1;
        state.waiting_bytes += size;
        if becomes_ready {
            state.ready.push_back(key);
            self.ready.notify_one();
        }
        // An idle worker may have been woken for another session and not have run yet.
        let starts_worker = state.ready.len() > state.idle_workers && state.workers < MAX_WORKERS;
        state.workers += usize::from(starts_worker);
        Ok(starts_worker)
    }

    /// Waits for the next request; `None` once the input has ended and nothing waits.
    pub(super) fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.take() {
                return Some(job);
            }
            if state.input_ended {
                return None;
            }
            state.idle_workers += 1;
            state = self
                .ready
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle_workers -= 1;
        }
    }

    /// Ends a job: the next request of its session may be handled.
    pub(super) fn done(&self, key: &SessionRef) {
        let mut state = self.lock();
        let mut is_ready = false;
        if let Some(slot) = state.slots.get_mut(key) {
            slot.is_running = false;
            is_ready = !slot.queue.is_empty();
        }
        if is_ready {
            state.ready.push_back(key.clone());
            self.ready.notify_one();
        }
        self.handled.notify_all();
    }

    /// Takes back a worker that could not be started. Returns true if there is no other one.
    pub(super) fn worker_failed(&self) -> bool {
        let mut state = self.lock();
        state.workers -= 1;
        state.workers == 0
    }

    /// Lets the workers end once nothing waits.
    pub(super) fn end_input(&self) {
        self.lock().input_ended = true;
        self.ready.notify_all();
        self.ended.notify_all();
    }

    /// Returns the next request that can be handled immediately.
    pub(super) fn try_next(&self) -> Option<Job> {
        self.lock().take()
    }

    /// Returns the sessions whose state is kept.
    pub(super) fn sessions(&self) -> Vec<Arc<Mutex<SessionMemory>>> {
        let state = self.lock();
        let slots = state.slots.values();
        slots.map(|slot| Arc::clone(&slot.session)).collect()
    }

    /// Returns true if the host has mentioned this session recently.
    pub(super) fn knows(&self, key: &SessionRef) -> bool {
        self.lock().slots.contains_key(key)
    }

    /// Waits until no request of a session is waiting or running, or until [`PATIENCE`] is over.
    pub(super) fn wait_for(&self, key: &SessionRef) {
        let is_busy = |state: &mut State| {
            let slot = state.slots.get(key);
            slot.is_some_and(|slot| slot.is_running || !slot.queue.is_empty())
        };
        // After a timeout the caller continues with what is recorded by then.
        drop(
            self.handled
                .wait_timeout_while(self.lock(), PATIENCE, is_busy),
        );
    }

    /// Waits until no request has come for a while and none is being handled. Returns the number of
    /// the last request; `None` if the input has ended.
    pub(super) fn wait_until_idle(&self, quiet: Duration) -> Option<u64> {
        let mut state = self.lock();
        loop {
            let last = state.clock;
            let waited = self
                .ended
                .wait_timeout_while(state, quiet, |state| !state.input_ended);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if state.input_ended {
                return None;
            }
            if state.is_idle_since(last) {
                return Some(last);
            }
        }
    }

    /// Returns true if no request has come since one, and none is being handled.
    pub(super) fn is_idle_since(&self, last: u64) -> bool {
        let state = self.lock();
        !state.input_ended && state.is_idle_since(last)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_idle_since(&self, last: u64) -> bool {
        let is_running = self.slots.values().any(|slot| slot.is_running);
        self.clock == last && self.waiting == 0 && !is_running
    }

    fn take(&mut self) -> Option<Job> {
        let key = self.ready.pop_front()?;
        let slot = self.slots.get_mut(&key)?;
        let line = slot.queue.pop_front()?;
        slot.is_running = true;
        let session = Arc::clone(&slot.session);
        self.waiting -= 1;
        self.waiting_bytes -= line.len();
        Some(Job { key, session, line })
    }

    /// Drops the states of the sessions that were idle for longest, if there are too many.
    fn make_room(&mut self) {
        let over = (self.slots.len() + 1).saturating_sub(MAX_SESSIONS);
        if over == 0 {
            return;
        }
        let idle = self
            .slots
            .iter()
            .filter(|(_, slot)| !slot.is_running && slot.queue.is_empty());
        let mut oldest: Vec<(u64, SessionRef)> = idle
            .map(|(key, slot)| (slot.last_used, key.clone()))
            .collect();
        oldest.sort_unstable();
        for (_, key) in oldest.into_iter().take(over) {
            self.slots.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rpc::{Line, LineReader};
    use super::*;

    fn line(length: usize) -> RequestLine {
        let padding = " ".repeat(length);
        let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"show\"{padding}}}\n");
        match LineReader::new(text.as_bytes()).next().unwrap() {
            Line::Request(line) => line,
            Line::Bad(..) | Line::End => panic!("a request"),
        }
    }

    fn push(scheduler: &Scheduler, session: &str, length: usize) -> Result<bool, RpcError> {
        let key = format!("opencode:{session}").parse().unwrap();
        scheduler.push(key, line(length), |key| SessionMemory::new(key, false))
    }

    #[test]
    fn a_session_with_too_many_requests_is_refused_and_others_are_served() {
        let scheduler = Scheduler::default();
        assert_eq!(push(&scheduler, "a", 0), Ok(true));
        let running = scheduler.try_next().unwrap();
        for _ in 0..MAX_WAITING {
            push(&scheduler, "a", 0).unwrap();
        }
        let refused = RpcError::Busy {
            waiting: MAX_WAITING,
        };
        assert_eq!(push(&scheduler, "a", 0), Err(refused));
        push(&scheduler, "b", 0).unwrap();
        assert_eq!(scheduler.try_next().unwrap().key.id(), "b");
        assert!(
            scheduler.try_next().is_none(),
            "one request of a session at a time"
        );
        scheduler.done(&running.key);
        assert_eq!(scheduler.try_next().unwrap().key.id(), "a");
        push(&scheduler, "a", 0).unwrap();
    }

    #[test]
    fn requests_that_wait_have_a_limit_in_number_and_size() {
        let scheduler = Scheduler::default();
        for n in 0..MAX_WAITING_IN_ALL {
            push(&scheduler, &format!("s{}", n % 500), 0).unwrap();
        }
        assert!(push(&scheduler, "more", 0).is_err());
        let scheduler = Scheduler::default();
        let half = MAX_WAITING_BYTES / 2;
        push(&scheduler, "a", half).unwrap();
        assert!(push(&scheduler, "b", half).is_err());
        push(&scheduler, "c", 0).unwrap();
    }

    #[test]
    fn workers_and_kept_sessions_have_a_limit() {
        let scheduler = Scheduler::default();
        let mut workers = 0;
        for n in 0..10_000 {
            workers += usize::from(push(&scheduler, &format!("s{n}"), 0).unwrap());
            if n % 2 == 0 {
                let job = scheduler.try_next().unwrap();
                scheduler.done(&job.key);
            }
            // Half of the sessions have a request that waits and cannot be dropped.
            assert!(scheduler.lock().slots.len() <= MAX_SESSIONS + n / 2 + 1);
        }
        assert_eq!(workers, MAX_WORKERS);
        while let Some(job) = scheduler.try_next() {
            scheduler.done(&job.key);
        }
        push(&scheduler, "last", 0).unwrap();
        assert!(scheduler.lock().slots.len() <= MAX_SESSIONS);
    }
}
