//! Folds: what later calls did not carry because a finished frame's messages left the prompt.
//!
//! It is measured, not computed: without folding, a prompt does not shrink.

use flamestack_core::FrameId;

/// A frame that ended since its session's last call.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    pub(super) frame: FrameId,
    /// Size of the prompt when work on it began.
    pub(super) size_before: u64,
    /// The message that ended it.
    pub(super) message: Option<String>,
}

impl Ending {
    /// Divides frames into those that ended before a call and those that the call itself ended: a host may
    /// report a call after its tools, and that call still carried the frame.
    pub(super) fn before_call(all: Vec<Self>, message: Option<&str>) -> (Vec<Self>, Vec<Self>) {
        all.into_iter()
            .partition(|it| message.is_none() || it.message.as_deref() != message)
    }
}

/// A finished frame that is folded: each later call of its session carries that many fewer tokens.
#[derive(Clone, Copy, Debug)]
struct Fold {
    frame: FrameId,
    session: usize,
    tokens: u64,
    /// Number of calls of the session before the fold took effect.
    since: u64,
    /// Number of calls of the session when a summary replaced its history.
    until: Option<u64>,
}

/// The folds of all sessions.
#[derive(Debug, Default)]
pub(super) struct Folds(Vec<Fold>);

impl Folds {
    /// Divides the shrinking of a session's prompt among the frames that ended, innermost first, up to the
    /// growth of the prompt in each. `calls` is the number of earlier calls, `size` that of the last one.
    pub(super) fn take(
        &mut self,
        session: usize,
        calls: u64,
        size: u64,
        prompt: u64,
        ended: Vec<Ending>,
    ) {
        let mut shrunk = size.saturating_sub(prompt);
        let mut within: u64 = 0;
        for Ending {
            frame, size_before, ..
        } in ended
        {
            let growth = size.saturating_sub(size_before).saturating_sub(within);
            within = within.saturating_add(growth);
            let tokens = growth.min(shrunk);
            shrunk -= tokens;
            if tokens > 0 {
                self.0.push(Fold {
                    frame,
                    session,
                    tokens,
                    since: calls,
                    until: None,
                });
            }
        }
    }

    /// Ends the folds of a session whose history a summary replaced.
    pub(super) fn end(&mut self, session: usize, calls: u64) {
        for fold in self.0.iter_mut().rev() {
            if fold.session == session {
                fold.until = fold.until.or(Some(calls));
            }
        }
    }

    /// Returns the tokens that folding saved, by frame, with the session. `calls` returns a session's number
    /// of calls.
    pub(super) fn saved(
        &self,
        calls: impl Fn(usize) -> u64,
    ) -> impl Iterator<Item = (FrameId, usize, u64)> {
        self.0.iter().map(move |fold| {
            let until = fold.until.unwrap_or_else(|| calls(fold.session));
            let carried = until.saturating_sub(fold.since);
            (
                fold.frame,
                fold.session,
                fold.tokens.saturating_mul(carried),
            )
        })
    }
}
