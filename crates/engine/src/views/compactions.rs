//! What the compactions of a session came to.

use flamestack_core::brief::Anchor;
use flamestack_core::compaction::{Compaction, CompactionKind};
use flamestack_core::frame::Awaiting;
use flamestack_core::id::{FrameId, SessionRef};
use flamestack_core::session::Conversation;
use flamestack_store::{Reading, StoreError};
use serde_json::{Value, json};

use super::{counted, grouped, one_line, time};

/// How many compactions are shown.
const SHOWN: usize = 20;
/// How many lost anchors of one are named.
const NAMED: usize = 6;

/// The compactions of a session, and what waits for the next one.
#[derive(Clone, Debug)]
pub struct History {
    /// The session.
    pub session: SessionRef,
    /// What was seen of it.
    pub seen: Conversation,
    /// How many tokens a prompt of it may have.
    pub usable: Option<u64>,
    /// The newest compactions, oldest first.
    pub compactions: Vec<Compaction>,
    /// The frames that wait for a summary.
    pub waiting: Vec<(FrameId, Awaiting)>,
}

/// Gathers the compactions of a session.
pub fn gather(reading: &dyn Reading, session: &SessionRef) -> Result<History, StoreError> {
    Ok(History {
        session: session.clone(),
        seen: reading.conversation(session)?,
        usable: reading.model(session)?.and_then(|model| model.window),
        compactions: reading.compactions(session, SHOWN)?,
        waiting: reading.awaiting(session)?,
    })
}

impl History {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.compactions.is_empty() && self.waiting.is_empty()
    }

    /// The number of the oldest compaction shown.
    fn first(&self) -> u64 {
        let open = self.compactions.iter().filter(|one| one.ended.is_none());
        let ended = self.compactions.len() - open.count();
        self.seen.compactions.saturating_sub(ended as u64) + 1
    }
}

/// As plain text, a line each.
pub fn plain(history: &History) -> String {
    let mut text = String::new();
    if history.is_empty() {
        return format!("{} was never compacted\n", history.session);
    }
    for (n, one) in (history.first()..).zip(&history.compactions) {
        text.push_str(&line(n, one));
    }
    for (frame, awaiting) in &history.waiting {
        let what = match awaiting.outcome {
            Some(outcome) => format!("to end as {}", outcome.status()),
            None => "to go on".to_owned(),
        };
        text.push_str(&format!(
            "{frame} has waited for a summary since {}, {what}\n",
            time::minute(awaiting.since)
        ));
    }
    if history.seen.streak.is_a_loop() {
        text.push_str(&format!(
            "{} in a row made no room: nothing is added until a turn succeeds\n",
            counted(history.seen.streak.compactions, "compaction", "compactions")
        ));
    }
    text
}

fn line(n: u64, one: &Compaction) -> String {
    let kind = one.kind.map_or("unknown", CompactionKind::label);
    let when = one.ended.or(one.begun).map(time::minute);
    let mut text = format!("{n}. {}, {kind}", when.unwrap_or_default());
    if one.ended.is_none() {
        text.push_str(", being made");
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
    let Some(verdict) = &one.verdict else {
        return text + "\n";
    };
    text.push_str(&format!(
        ", {} of {} survived",
        verdict.survived.len(),
        counted(
            (verdict.survived.len() + verdict.lost.len()) as u64,
            "anchor",
            "anchors"
        )
    ));
    if verdict.restored > 0 {
        text.push_str(&format!(", {} tokens put back", grouped(verdict.restored)));
    }
    text.push('\n');
    if verdict.said_nothing {
        text.push_str("   the summary said nothing\n");
    }
    for anchor in verdict.lost.iter().take(NAMED) {
        text.push_str(&format!(
            "   lost: {}: {}\n",
            anchor.kind.as_str(),
            one_line(&anchor.text, 100)
        ));
    }
    let more = verdict.lost.len().saturating_sub(NAMED);
    if more > 0 {
        text.push_str(&format!("   … {more} more\n"));
    }
    text
}

/// As JSON.
pub fn json(history: &History) -> Value {
    let anchors = |anchors: &[Anchor]| -> Vec<Value> {
        let one =
            |anchor: &Anchor| json!({ "kind": anchor.kind.as_str(), "text": anchor.text.clone() });
        anchors.iter().map(one).collect()
    };
    let compactions = (history.first()..)
        .zip(&history.compactions)
        .map(|(n, one)| {
            let verdict = one.verdict.as_ref();
            json!({
                "n": n,
                "kind": one.kind.map(CompactionKind::as_str),
                "frame": one.frame.as_ref().map(FrameId::as_str),
                "begunAt": one.begun.map(|at| at.0),
                "endedAt": one.ended.map(|at| at.0),
                "tokensBefore": one.before,
                "tokensAfter": one.after,
                "survived": verdict.map(|verdict| anchors(&verdict.survived)),
                "lost": verdict.map(|verdict| anchors(&verdict.lost)),
                "restoredTokens": verdict.map(|verdict| verdict.restored),
                "saidNothing": verdict.is_some_and(|verdict| verdict.said_nothing),
            })
        });
    let waiting = history.waiting.iter().map(|(frame, awaiting)| {
        json!({
            "frame": frame.as_str(),
            "since": awaiting.since.0,
            "status": awaiting.outcome.map(|outcome| outcome.status().as_str()),
        })
    });
    json!({
        "session": history.session.to_string(),
        "count": history.seen.compactions,
        "tokens": history.seen.size,
        "usable": history.usable,
        "loop": history.seen.streak.is_a_loop(),
        "compactions": compactions.collect::<Vec<_>>(),
        "waiting": waiting.collect::<Vec<_>>(),
    })
}
