//! The compactions of a session.

use flamestack_core::compaction::{Anchor, Compaction, CompactionKind};
use flamestack_core::frame::Awaiting;
use flamestack_core::{FrameId, Session, SessionRef};
use flamestack_store::{Reading, StoreError};
use serde_json::{Value, json};

use super::{Canvas, counted, grouped, one_line};

/// Maximum number of compactions shown.
const SHOWN: usize = 20;
/// Maximum number of lost anchors shown for each compaction.
const NAMED: usize = 6;

/// The compactions of a session, and what waits for the next one.
#[derive(Clone, Debug)]
pub struct History {
    /// The session.
    pub session: Session,
    /// The newest compactions, oldest first.
    pub compactions: Vec<Compaction>,
    /// The frames that wait for a summary.
    pub waiting: Vec<(FrameId, Awaiting)>,
}

/// Gathers the compactions of a session.
pub fn gather(reading: &dyn Reading, session: &SessionRef) -> Result<History, StoreError> {
    Ok(History {
        session: reading
            .session(session)?
            .unwrap_or_else(|| Session::new(session.clone())),
        compactions: reading.compactions(session, SHOWN)?,
        waiting: reading.awaiting(session)?,
    })
}

impl History {
    /// Returns true if there are no compactions and no waiting frames.
    pub fn is_empty(&self) -> bool {
        self.compactions.is_empty() && self.waiting.is_empty()
    }

    /// Returns the number of the oldest compaction shown.
    fn first(&self) -> u64 {
        let open = self.compactions.iter().filter(|one| one.ended.is_none());
        let ended = self.compactions.len() - open.count();
        let all = self.session.activity.compactions;
        all.saturating_sub(ended as u64) + 1
    }
}

/// Renders the history, one line for each compaction.
pub fn plain(canvas: &Canvas<'_>, history: &History) -> String {
    let mut text = String::new();
    if history.is_empty() {
        return format!("{} was never compacted\n", history.session.key);
    }
    for (n, one) in (history.first()..).zip(&history.compactions) {
        text.push_str(&line(canvas, n, one));
    }
    for (frame, awaiting) in &history.waiting {
        let what = match awaiting.outcome {
            Some(outcome) => format!("to end as {}", outcome.status()),
            None => "to continue".to_owned(),
        };
        text.push_str(&format!(
            "{frame} has waited for a summary since {}, {what}\n",
            canvas.time(awaiting.since)
        ));
    }
    let compaction_loop = &history.session.activity.compaction_loop;
    if compaction_loop.is_a_loop() {
        let count = counted(compaction_loop.compactions, "compaction", "compactions");
        text.push_str(&format!(
            "{count} in a row made no room: nothing is added until a turn succeeds\n"
        ));
    }
    text
}

fn line(canvas: &Canvas<'_>, n: u64, one: &Compaction) -> String {
    let kind = one.kind.map_or("unknown", CompactionKind::label);
    let when = one.ended.or(one.begun).map(|at| canvas.time(at));
    let mut text = format!("{n}. {}, {kind}", when.unwrap_or_default());
    if one.ended.is_none() {
        text.push_str(", in progress");
    }
    match (one.before, one.after) {
        (Some(before), Some(after)) => text.push_str(&format!(
            ", {} → {} tokens",
            grouped(before),
            grouped(after)
        )),
        (Some(before), None) => text.push_str(&format!(", {} tokens before", grouped(before))),
        (None, Some(after)) => text.push_str(&format!(", {} tokens after", grouped(after))),
        (None, None) => {}
    }
    let Some(report) = &one.report else {
        return text + "\n";
    };
    text.push_str(&format!(
        ", {} of {} survived",
        report.survived.len(),
        counted(
            (report.survived.len() + report.lost.len()) as u64,
            "anchor",
            "anchors"
        )
    ));
    if report.restored > 0 {
        text.push_str(&format!(", {} tokens restored", grouped(report.restored)));
    }
    text.push('\n');
    if report.said_nothing {
        text.push_str("   the summary has no content\n");
    }
    for anchor in report.lost.iter().take(NAMED) {
        text.push_str(&format!(
            "   lost: {}: {}\n",
            anchor.kind.as_str(),
            one_line(&anchor.text, 100)
        ));
    }
    let more = report.lost.len().saturating_sub(NAMED);
    if more > 0 {
        text.push_str(&format!("   … {more} more\n"));
    }
    text
}

/// Renders the history as JSON.
pub fn json(history: &History) -> Value {
    let anchors = |anchors: &[Anchor]| -> Vec<Value> {
        let one =
            |anchor: &Anchor| json!({ "kind": anchor.kind.as_str(), "text": anchor.text.clone() });
        anchors.iter().map(one).collect()
    };
    let compactions = (history.first()..)
        .zip(&history.compactions)
        .map(|(n, one)| {
            let report = one.report.as_ref();
            json!({
                "n": n,
                "kind": one.kind.map(CompactionKind::as_str),
                "frame": one.frame.as_ref().map(FrameId::as_str),
                "begunAt": one.begun.map(|at| at.0),
                "endedAt": one.ended.map(|at| at.0),
                "tokensBefore": one.before,
                "tokensAfter": one.after,
                "survived": report.map(|report| anchors(&report.survived)),
                "lost": report.map(|report| anchors(&report.lost)),
                "restoredTokens": report.map(|report| report.restored),
                "saidNothing": report.is_some_and(|report| report.said_nothing),
            })
        });
    let waiting = history.waiting.iter().map(|(frame, awaiting)| {
        json!({
            "frame": frame.as_str(),
            "since": awaiting.since.0,
            "status": awaiting.outcome.map(|outcome| outcome.status().as_str()),
        })
    });
    let activity = &history.session.activity;
    json!({
        "session": history.session.key.to_string(),
        "count": activity.compactions,
        "tokens": activity.size,
        "usable": history.session.window(),
        "loop": activity.compaction_loop.is_a_loop(),
        "compactions": compactions.collect::<Vec<_>>(),
        "waiting": waiting.collect::<Vec<_>>(),
    })
}
