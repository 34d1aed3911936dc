//! One frame with everything recorded about it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::Response;
use flamestack_core::note::NoteKind;
use flamestack_core::{Author, Evidence, Note};
use flamestack_engine::views::details::{self, Details};
use flamestack_engine::views::{printable, story};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Site;
use super::api::{Refused, answered};

/// Maximum number of events shown.
const EVENTS: usize = 200;

#[derive(Deserialize)]
pub(super) struct Named {
    id: String,
}

pub(super) async fn frame(State(site): State<Arc<Site>>, Query(named): Query<Named>) -> Response {
    answered(site, move |site| {
        let id = site.engine.frame_named(&named.id)?;
        let (details, (history, left_out)) = site.engine.read(|reading| {
            Ok((
                details::gather(reading, &id)?,
                reading.last_events(&id, EVENTS)?,
            ))
        })?;
        let standing = details.frame.standing();
        let events = history.iter().map(|recorded| {
            json!({
                "seq": recorded.seq.0,
                "at": recorded.at.0,
                "session": recorded.session.to_string(),
                "what": printable(&story::line_in(recorded, Some(standing))),
            })
        });
        let amounts = site.with_work(|work| {
            let place = work.place(&id);
            place.map(|place| {
                json!({
                    "own": place.own,
                    "total": place.total,
                    "below": place.below,
                    "isFolded": place.is_folded,
                    "isDropped": place.is_dropped,
                })
            })
        });
        let mut value = described(&details);
        if let Value::Object(fields) = &mut value {
            fields.insert("events".to_owned(), json!(events.collect::<Vec<_>>()));
            fields.insert("eventsLeftOut".to_owned(), json!(left_out));
            fields.insert("amounts".to_owned(), json!(amounts));
        }
        Ok::<_, Refused>(Json(value))
    })
    .await
}

fn described(details: &Details) -> Value {
    let frame = &details.frame;
    let text =
        |text: &Option<flamestack_core::Text>| text.as_ref().map(|text| printable(text.as_str()));
    let logs = frame.log.iter().map(|entry| {
        json!({
            "label": printable(entry.label.as_str()),
            "bytes": entry.bytes,
            "dropped": details.dropped.contains(&entry.blob),
        })
    });
    let path = details
        .path
        .iter()
        .map(|head| json!({ "id": head.id.as_str(), "title": printable(head.title.as_str()) }));
    let reason = frame.invalidation.as_ref();
    let mut value = json!({
        "id": frame.id.as_str(),
        "title": printable(frame.title.as_str()),
        "status": frame.status.as_str(),
        "statusWords": frame.standing().to_string(),
        "claimed": frame.standing().is_claimed,
        "origin": frame.origin.as_str(),
        "path": path.collect::<Vec<_>>(),
        "criteria": text(&frame.criteria),
        "results": text(&frame.results),
        "resultsCompacted": text(&frame.results_compacted),
        "summary": text(&frame.summary),
        "blockedOn": text(&frame.blocked_on),
        "invalidated": reason.map(|it| printable(it.reason.as_str())),
        "session": frame.session.as_ref().map(ToString::to_string),
        "span": frame.span.as_ref().map(|span| span.session.to_string()),
        "sessions": details.sessions,
        "created": frame.created_at.0,
        "started": details.started.map(|at| at.0),
        "ended": details.ended.map(|at| at.0),
        "logs": logs.collect::<Vec<_>>(),
    });
    if let Value::Object(fields) = &mut value {
        fields.extend(NoteKind::ALL.map(|kind| {
            let notes = notes(frame.notes.iter(), kind);
            (kind.key().to_owned(), Value::Array(notes))
        }));
    }
    value
}

fn notes<'n>(notes: impl Iterator<Item = &'n Note>, kind: NoteKind) -> Vec<Value> {
    let wanted = notes.filter(|note| note.kind() == kind);
    wanted.map(note).collect()
}

fn note(note: &Note) -> Value {
    let (why, by, good) = match note {
        Note::Decision { why, by, .. } => (why.as_ref(), Some(*by), None),
        Note::FailedAttempt { why, .. } => (why.as_ref(), None, None),
        Note::Evidence(evidence) => (None, None, Some(Evidence::is_positive(evidence))),
        Note::Artifact(_) | Note::Directive(_) => (None, None, None),
    };
    let detail = match note {
        Note::Evidence(Evidence::Command { exit_code, .. }) => {
            Some(format!("exit code {exit_code}"))
        }
        Note::Evidence(Evidence::Test { passed: true, .. }) => Some("passed".to_owned()),
        Note::Evidence(Evidence::Test { passed: false, .. }) => Some("failed".to_owned()),
        Note::Evidence(Evidence::Commit(_)) => Some("commit".to_owned()),
        Note::Artifact(_)
        | Note::Decision { .. }
        | Note::FailedAttempt { .. }
        | Note::Directive(_) => None,
    };
    json!({
        "text": printable(note.text().as_str()),
        "why": why.map(|why| printable(why.as_str())),
        "by": by.map(Author::as_str),
        "good": good,
        "detail": detail,
    })
}
