//! Generators of frames, sessions and files, for the property tests.

use flamestack_core::event::Results;
use flamestack_core::frame::{Awaiting, Invalidation, LogEntry, Origin, Outcome, Rank, Span};
use flamestack_core::id::{BlobId, Seq, SessionRef, Timestamp};
use flamestack_core::{Author, Evidence, Frame, FrameId, Note, Session, Status, Text, Title};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{0,12}", "\\PC{0,30}", any::<String>()]
}

fn prose() -> impl Strategy<Value = Text> {
    text().prop_filter_map("no prose", |text| Text::new(&text).ok())
}

fn title() -> impl Strategy<Value = Title> {
    text().prop_filter_map("no title", |text| Title::new(&text).ok())
}

fn status() -> impl Strategy<Value = Status> {
    select(&Status::ALL)
}

fn time() -> impl Strategy<Value = Timestamp> {
    prop_oneof![any::<i64>(), 1_700_000_000_000..1_800_000_000_000_i64].prop_map(Timestamp)
}

fn note() -> impl Strategy<Value = Note> {
    let why = || option::of(prose());
    prop_oneof![
        prose().prop_map(Note::Artifact),
        (prose(), why(), prop::sample::select(&Author::ALL[..]))
            .prop_map(|(text, why, by)| Note::Decision { text, why, by }),
        (prose(), why()).prop_map(|(text, why)| Note::FailedAttempt { text, why }),
        (prose(), any::<i32>()).prop_map(|(command, exit_code)| {
            Note::Evidence(Evidence::Command { command, exit_code })
        }),
        (prose(), any::<bool>())
            .prop_map(|(id, passed)| Note::Evidence(Evidence::Test { id, passed })),
        prose().prop_map(|commit| Note::Evidence(Evidence::Commit(commit))),
        prose().prop_map(Note::Directive),
    ]
}

fn session() -> impl Strategy<Value = SessionRef> {
    let named = ("(opencode|claude|my-host)", "[A-Za-z0-9_/:é]{1,6}")
        .prop_map(|(host, id)| format!("{host}:{id}").parse().unwrap());
    prop_oneof![
        4 => named,
        1 => "/[a-z \\n]{1,8}".prop_map(|path| SessionRef::shell(&path)),
    ]
}

fn awaiting() -> impl Strategy<Value = Awaiting> {
    let given = (prose(), option::of(prose()));
    let given = given.prop_map(|(full, compacted)| Results { full, compacted });
    let outcome = select(&[Outcome::Completed, Outcome::Failed, Outcome::Blocked]);
    (
        session(),
        time(),
        option::of(time()),
        option::of(outcome),
        option::of(given),
        option::of(prose()),
    )
        .prop_map(|(session, since, until, outcome, given, note)| Awaiting {
            session,
            since,
            until,
            outcome,
            given,
            note,
        })
}

fn log_entry() -> impl Strategy<Value = LogEntry> {
    (title(), "[0-9a-f]{64}", any::<u64>()).prop_map(|(label, hex, bytes)| {
        let blob = BlobId::from_hex(&hex).unwrap();
        LogEntry { label, blob, bytes }
    })
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((text(), inner), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A field that may be missing, `null` or present.
fn field(value: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Option<Value>> {
    prop_oneof![
        2 => Just(None),
        1 => Just(Some(Value::Null)),
        5 => value.prop_map(Some),
    ]
    .boxed()
}

fn text_field() -> BoxedStrategy<Option<Value>> {
    let printable = text().prop_map(|text| Value::from(text.replace('\0', "")));
    field(printable)
}

fn list_field() -> BoxedStrategy<Option<Value>> {
    let printable = text().prop_map(|text| text.replace('\0', ""));
    field(vec(printable, 0..4).prop_map(Value::from))
}

fn time_field() -> BoxedStrategy<Option<Value>> {
    let number = prop_oneof![
        time().prop_map(|Timestamp(ms)| Value::from(ms)),
        any::<f64>()
            .prop_filter("a number", |ms| ms.is_finite())
            .prop_map(Value::from),
    ];
    field(number)
}

/// A frame's object as a predecessor might have written it, without its parent.
fn legacy_object() -> impl Strategy<Value = Map<String, Value>> {
    let texts = [
        "title",
        "goal",
        "successCriteria",
        "successCriteriaCompacted",
        "results",
        "resultsCompacted",
        "compactionSummary",
        "logPath",
        "invalidationReason",
    ]
    .map(|name| {
        text_field()
            .prop_map(move |value| (name.to_owned(), value))
            .boxed()
    });
    let lists = ["artifacts", "decisions"].map(|name| {
        list_field()
            .prop_map(move |value| (name.to_owned(), value))
            .boxed()
    });
    let times = ["createdAt", "updatedAt", "invalidatedAt"].map(|name| {
        time_field()
            .prop_map(move |value| (name.to_owned(), value))
            .boxed()
    });
    let compaction = (text_field(), list_field())
        .prop_map(|(summary, artifacts)| json!({ "summary": summary, "artifacts": artifacts }));
    let compaction = field(compaction).prop_map(|value| ("compaction".to_owned(), value));
    let fields = texts.into_iter().chain(lists).chain(times);
    let fields: Vec<_> = fields.chain([compaction.boxed()]).collect();
    let extra = ("x-[a-z]{1,3}", json_value());
    (status(), fields, vec(extra, 0..3)).prop_map(|(status, fields, extra)| {
        let known = fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        let mut object: Map<String, Value> = known.chain(extra).collect();
        object.insert("status".to_owned(), status.as_str().into());
        object
    })
}

prop_compose! {
    /// A frame without its names and its parent.
    fn content()(
        (status, origin, title) in (status(), prop::sample::select(Origin::ALL.to_vec()), title()),
        texts in [option::of(prose()), option::of(prose()), option::of(prose()), option::of(prose())],
        notes in vec(note(), 0..4),
        log in vec(log_entry(), 0..2),
        (blocked_on, summary, awaiting) in
            (option::of(prose()), option::of(prose()), option::of(awaiting())),
        invalidation in option::of((prose(), time())),
        span in option::of((session(), option::of(text()), option::of(text()))),
        foreign in option::weighted(0.4, (legacy_object(), any::<bool>())),
        (created_at, updated_at) in (time(), time()),
        rank in any::<i64>(),
    ) -> Frame {
        let [criteria, criteria_compacted, results, results_compacted] = texts;
        Frame {
            id: FrameId::from_entropy(0),
            parent: None,
            rank: Rank(rank),
            status,
            origin,
            title,
            criteria,
            criteria_compacted,
            results,
            results_compacted,
            summary,
            awaiting: awaiting.filter(|_| status.is_open()),
            notes,
            log,
            blocked_on,
            invalidation: invalidation.map(|(reason, at)| Invalidation { reason, at }),
            span: span.map(|(session, first, last)| Span { session, first, last }),
            session: None,
            aliases: Vec::new(),
            foreign: foreign.map(|(object, canonical)| {
                let object = Value::Object(object);
                if canonical { object.to_string() } else { format!("{object:#}") }
            }),
            created_at,
            updated_at,
            changed: Seq::default(),
            closed: None,
        }
    }
}

/// Frames in a tree, parents first, and the sessions around them.
pub(crate) fn stack() -> impl Strategy<Value = (Vec<Frame>, Vec<Session>)> {
    let placed = (
        content(),
        any::<prop::sample::Index>(),
        any::<bool>(),
        option::of(session()),
        vec(alias(), 0..3),
    );
    let frames = (any::<u64>(), vec(placed, 0..8));
    let sessions = vec(
        (session(), option::of(text()), any::<prop::sample::Index>()),
        0..3,
    );
    (frames, sessions).prop_map(|((seed, placed), sessions)| {
        let mut frames: Vec<Frame> = Vec::new();
        let mut known: Vec<Session> = Vec::new();
        for (mut frame, parent, is_root, session, aliases) in placed {
            let place = frames.len() as u64;
            frame.id = FrameId::from_entropy(seed.wrapping_add(place));
            if !is_root && !frames.is_empty() {
                frame.parent = Some(parent.get(&frames).id);
            }
            frame.session = session.filter(|key| known.iter().all(|other| other.key != *key));
            known.extend(frame.session.iter().map(|key| Session {
                own: Some(frame.id),
                ..Session::new(key.clone())
            }));
            frame.aliases = aliases;
            let taken = |alias: &String| frames.iter().any(|other| other.aliases.contains(alias));
            frame.aliases.retain(|alias| !taken(alias));
            frame.aliases.sort();
            frame.aliases.dedup();
            frames.push(frame);
        }
        for (key, worktree, active) in sessions {
            let active = (!frames.is_empty()).then(|| active.get(&frames).id);
            match known.iter_mut().find(|session| session.key == key) {
                Some(session) => session.active = active,
                None => known.push(Session {
                    worktree,
                    active,
                    ..Session::new(key)
                }),
            }
        }
        known.sort_by(|one, other| one.key.cmp(&other.key));
        (frames, known)
    })
}

fn alias() -> impl Strategy<Value = String> {
    prop_oneof![
        "(ses_|plan-)[a-z0-9]{1,4}",
        "\\PC{1,6}".prop_filter("a name", |name| !name.trim().is_empty()),
    ]
}

/// A predecessor's `state.json`, sound but as odd as can be.
pub(crate) fn legacy_state() -> impl Strategy<Value = Value> {
    let frame = (
        alias(),
        legacy_object(),
        any::<prop::sample::Index>(),
        0..4_u8,
        any::<bool>(),
        vec(any::<prop::sample::Index>(), 0..3),
    );
    let state = (
        vec(frame, 0..8),
        vec(any::<prop::sample::Index>(), 0..8),
        any::<prop::sample::Index>(),
        (time_field(), option::of(json_value()), any::<[bool; 4]>()),
    );
    state.prop_map(|(frames, roots, active, (updated, version, flags))| {
        let [lists_roots, complete_roots, has_active, mention_absent] = flags;
        let mut names: Vec<String> = frames.iter().map(|(name, ..)| name.clone()).collect();
        names.sort();
        names.dedup();
        let mut listable = names.clone();
        if mention_absent || listable.is_empty() {
            listable.push("plan-gone".to_owned());
        }
        let mut objects: Map<String, Value> = Map::new();
        let mut earlier: Vec<String> = Vec::new();
        let mut top: Vec<String> = Vec::new();
        for (name, mut object, parent, place, named, planned) in frames {
            if earlier.contains(&name) {
                continue;
            }
            if named {
                object.insert("sessionID".to_owned(), name.clone().into());
            }
            if place > 0 && !earlier.is_empty() {
                let parent = parent.get(&earlier).clone();
                object.insert("parentSessionID".to_owned(), parent.into());
            } else {
                top.push(name.clone());
            }
            if place % 2 == 1 {
                let planned: Vec<&String> =
                    planned.iter().map(|index| index.get(&listable)).collect();
                object.insert("plannedChildren".to_owned(), json!(planned));
            }
            objects.insert(name.clone(), Value::Object(object));
            earlier.push(name);
        }
        let mut state = Map::new();
        state.insert("frames".to_owned(), Value::Object(objects));
        if complete_roots {
            state.insert("rootFrameIDs".to_owned(), json!(top));
        } else if lists_roots {
            let roots: Vec<&String> = roots.iter().map(|index| index.get(&listable)).collect();
            state.insert("rootFrameIDs".to_owned(), json!(roots));
        }
        if has_active {
            state.insert(
                "activeFrameID".to_owned(),
                active.get(&listable).clone().into(),
            );
        }
        state.extend(updated.map(|updated| ("updatedAt".to_owned(), updated)));
        state.extend(version.map(|version| ("version".to_owned(), version)));
        Value::Object(state)
    })
}
