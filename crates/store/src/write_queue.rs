//! The order of writers: one at a time, in the order of their arrival, across processes.
//!
//! SQLite lets writers poll for its lock, so a newcomer overtakes those that sleep: with 16 writers
//! one got five times the share of another, and a command could wait for seconds. A turn is a place
//! in a queue instead. The kernel wakes the next in line, and frees a place when its holder dies.
//!
//! ```text
//!  journal.lock    locks on single bytes; the first 8 bytes of content count the tickets
//!
//!  ticket 7 ──holds byte 7──▶ writes
//!  ticket 8 ──holds byte 8, waits for byte 7
//!  ticket 9 ──holds byte 9, waits for byte 8
//! ```
//!
//! Only a waiter's neighbour wakes it, as in a CLH lock. If a waiter dies, the one after it comes too
//! early, so each writer takes the gate as well: no two have it at the same time. A process that
//! replaces the journal also takes a turn, and therefore never replaces it during a commit.
//!
//! The byte locks are those of open file descriptions, which only Linux has. Elsewhere one lock on the
//! whole file excludes others, in no particular order.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{Result, StoreError};

/// Name of the lock file.
const FILE: &str = "journal.lock";
/// Time between two attempts where nothing wakes a waiter.
const PAUSE: Duration = Duration::from_millis(2);

/// The right to write to a store, or to replace it. It ends when this is dropped.
pub(crate) struct Turn {
    _file: File,
}

impl Turn {
    /// Queues for a turn in a store's folder and waits for it, but not longer than `patience`.
    pub(crate) fn take(dir: &Path, patience: Duration) -> Result<Self> {
        let file = open(&dir.join(FILE))?;
        // A very long time is not a limit at all.
        let deadline = Instant::now().checked_add(patience);
        queue::wait(&file, deadline)?;
        Ok(Self { _file: file })
    }
}

/// Opens a file for locking that only its owner can read, creating it if needed.
pub(crate) fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).read(true).write(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| {
        let named = format!("{}: {error}", path.display());
        StoreError::Io(std::io::Error::new(error.kind(), named))
    })
}

/// Tries to lock a file until it works or the time is over.
pub(crate) fn poll(
    deadline: Option<Instant>,
    mut attempt: impl FnMut() -> Result<(), std::fs::TryLockError>,
) -> Result<()> {
    loop {
        match attempt() {
            Ok(()) => return Ok(()),
            Err(std::fs::TryLockError::Error(error)) => return Err(error.into()),
            Err(std::fs::TryLockError::WouldBlock) if is_over(deadline) => {
                return Err(StoreError::Busy);
            }
            Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
        }
    }
}

fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod queue {
    use std::fs::{File, TryLockError};
    use std::os::unix::fs::FileExt;
    use std::sync::mpsc::{self, RecvTimeoutError};
    use std::time::Instant;

    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc;

    use super::poll;
    use crate::error::{Result, StoreError};

    /// The byte that is locked while a ticket is drawn.
    const COUNTER: i64 = i64::MAX - 2;
    /// The byte that is locked during a turn.
    const GATE: i64 = i64::MAX - 1;
    /// All bytes, where locks are given back.
    const ALL: i64 = -1;
    /// Attempts at the counter before a thread waits for it: it is only held for microseconds.
    const ATTEMPTS: usize = 20;

    /// Draws a ticket and waits for its turn.
    pub(super) fn wait(file: &File, deadline: Option<Instant>) -> Result<()> {
        let before = draw(file, deadline)?;
        lock(file, before, deadline)?;
        lock(file, GATE, deadline)
    }

    /// Draws a ticket, locks its byte and returns the ticket before it.
    fn draw(file: &File, deadline: Option<Instant>) -> Result<i64> {
        let free = (0..ATTEMPTS).any(|_| {
            std::thread::yield_now();
            set(file, libc::F_WRLCK, COUNTER).is_ok()
        });
        if !free {
            lock(file, COUNTER, deadline)?;
        }
        let mut count = [0; 8];
        // A new file is empty, and a damaged count is as good as any other.
        let known = file.read_exact_at(&mut count, 0).is_ok();
        let before = if known {
            i64::from_le_bytes(count).clamp(0, COUNTER - 2)
        } else {
            0
        };
        let ticket = before + 1;
        file.write_all_at(&ticket.to_le_bytes(), 0)?;
        // It is free, unless the count began anew; the gate keeps order then.
        let taken = set(file, libc::F_WRLCK, ticket);
        set(file, libc::F_UNLCK, COUNTER).map_err(std::io::Error::from)?;
        match taken {
            Ok(()) | Err(Errno::EAGAIN | Errno::EACCES) => Ok(before),
            Err(other) => Err(std::io::Error::from(other).into()),
        }
    }

    /// Locks a byte, waiting for it if necessary.
    fn lock(file: &File, byte: i64, deadline: Option<Instant>) -> Result<()> {
        match set(file, libc::F_WRLCK, byte) {
            Ok(()) => return Ok(()),
            Err(Errno::EAGAIN | Errno::EACCES) => {}
            Err(other) => return Err(std::io::Error::from(other).into()),
        }
        // The call has no time limit of its own, so a thread makes it. If the time is over first, the
        // thread ends when it gets the lock, and the lock with it: its handle is the last one then.
        let (sender, receiver) = mpsc::channel();
        let waiting = file.try_clone()?;
        let thread = std::thread::Builder::new().spawn(move || {
            let locked = set_waiting(&waiting, byte);
            drop(waiting);
            // The receiver may have given up.
            sender.send(locked).ok();
        });
        if thread.is_err() {
            // At a process limit.
            return poll(deadline, || match set(file, libc::F_WRLCK, byte) {
                Ok(()) => Ok(()),
                Err(Errno::EAGAIN | Errno::EACCES) => Err(TryLockError::WouldBlock),
                Err(other) => Err(TryLockError::Error(other.into())),
            });
        }
        let answer = match deadline {
            None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(deadline) => {
                receiver.recv_timeout(deadline.saturating_duration_since(Instant::now()))
            }
        };
        match answer {
            Ok(locked) => Ok(locked.map_err(std::io::Error::from)?),
            Err(RecvTimeoutError::Timeout) => {
                // Those after it must not wait for a place that was given up.
                set(file, libc::F_UNLCK, ALL).map_err(std::io::Error::from)?;
                Err(StoreError::Busy)
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(std::io::Error::from(std::io::ErrorKind::Interrupted).into())
            }
        }
    }

    /// Locks or unlocks a byte without waiting, or fails.
    fn set(file: &File, kind: i32, byte: i64) -> nix::Result<()> {
        fcntl(file, FcntlArg::F_OFD_SETLK(&region(kind, byte))).map(drop)
    }

    /// Locks a byte, however long it takes.
    fn set_waiting(file: &File, byte: i64) -> nix::Result<()> {
        let region = region(libc::F_WRLCK, byte);
        loop {
            match fcntl(file, FcntlArg::F_OFD_SETLKW(&region)) {
                Err(Errno::EINTR) => {}
                other => return other.map(drop),
            }
        }
    }

    fn region(kind: i32, byte: i64) -> libc::flock {
        libc::flock {
            // The kinds of lock are small numbers.
            l_type: i16::try_from(kind).unwrap_or_default(),
            l_whence: i16::try_from(libc::SEEK_SET).unwrap_or_default(),
            l_start: byte.max(0),
            // A length of 0 is everything from here on.
            l_len: i64::from(byte != ALL),
            l_pid: 0,
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod queue {
    use std::fs::File;
    use std::time::Instant;

    use super::poll;
    use crate::error::Result;

    /// Waits until no other process has the lock.
    pub(super) fn wait(file: &File, deadline: Option<Instant>) -> Result<()> {
        poll(deadline, || file.try_lock())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;

    use super::*;

    #[test]
    fn a_turn_excludes_others_until_it_ends() {
        let dir = tempfile::tempdir().unwrap();
        let turn = Turn::take(dir.path(), Duration::MAX).unwrap();
        let denied = Turn::take(dir.path(), Duration::from_millis(20));
        assert!(matches!(denied, Err(StoreError::Busy)));
        drop(turn);
        // The place that was given up blocks no one.
        drop(Turn::take(dir.path(), Duration::from_secs(30)).unwrap());
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[test]
    fn turns_come_in_the_order_of_arrival() {
        use std::os::unix::fs::FileExt;
        let dir = tempfile::tempdir().unwrap();
        let order = Mutex::new(Vec::new());
        let first = Turn::take(dir.path(), Duration::MAX).unwrap();
        let tickets = |file: &File| {
            let mut count = [0; 8];
            file.read_exact_at(&mut count, 0).unwrap();
            i64::from_le_bytes(count)
        };
        let count = open(&dir.path().join(FILE)).unwrap();
        thread::scope(|scope| {
            for n in 0..8 {
                let order = &order;
                let dir = dir.path();
                scope.spawn(move || {
                    let _turn = Turn::take(dir, Duration::MAX).unwrap();
                    order.lock().unwrap().push(n);
                });
                // The next one comes when this one has its ticket.
                while tickets(&count) < n + 2 {
                    thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(*order.lock().unwrap(), (0..8).collect::<Vec<i64>>());
    }

    #[test]
    fn no_two_have_a_turn_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let inside = Mutex::new(());
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for round in 0..50 {
                        // Some give up while they wait, which must not let two in.
                        let patience = if round % 3 == 0 { 0 } else { 60_000 };
                        let turn = Turn::take(dir.path(), Duration::from_millis(patience));
                        if turn.is_ok() {
                            drop(inside.try_lock().expect("one at a time"));
                        }
                    }
                });
            }
        });
    }
}
