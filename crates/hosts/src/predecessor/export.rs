//! From frames and sessions to the predecessors' files, in memory.

use flamestack_core::id::Timestamp;
use flamestack_core::{Frame, Session};
use serde_json::Value;

use super::active::active_frame;
use super::fields::{self, Object};
use super::forest::Forest;
use super::keys::file_names;
use super::lists::Remembered;
use super::object::{self, Place};
use super::own;
use super::pretty::pretty;

/// The files of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The content of `state.json`.
    pub state_json: String,
    /// The files in `frames/`: name and content.
    pub frames: Vec<(String, String)>,
}

/// Writes frames and sessions the way the predecessors do.
///
/// `imported` is what an earlier import kept of the state it read
/// ([`Import::foreign`](flamestack_core::command::Import)), and `log_path` says where a frame's log
/// is; a path that was imported with a frame goes before it. The same arguments give the same bytes.
pub fn export(
    frames: &[Frame],
    sessions: &[Session],
    imported: Option<&str>,
    log_path: &dyn Fn(&Frame) -> Option<String>,
) -> Export {
    let forest = Forest::of(frames);
    let remembered = imported.and_then(Remembered::from_json);
    let mut sessions: Vec<&Session> = sessions.iter().collect();
    sessions.sort_by_key(|session| &session.key);

    let lists = remembered.as_ref();
    let nothing = Remembered::default();
    let mut objects = Object::new();
    for frame in frames {
        let Some(key) = forest.keys.of_frame(&frame.id) else {
            continue;
        };
        let parent = forest.parent(frame);
        let place = Place {
            key,
            parent: parent.and_then(|parent| forest.keys.of_frame(&parent.id)),
            planned_children: lists.unwrap_or(&nothing).planned_children(frame, &forest),
            log_path: log_path(frame),
        };
        let object = object::write(frame, forest.original(frame), &place);
        objects.insert(key.to_owned(), Value::Object(object));
    }
    let names = file_names(objects.keys().map(String::as_str));
    let files = names.iter().filter_map(|(key, name)| {
        let object = objects.get(*key)?;
        Some((name.clone(), pretty(object)))
    });
    let mut files: Vec<(String, String)> = files.collect();
    files.sort();

    let mut state = state_fields(frames, &sessions, remembered, &forest);
    state.insert("frames".to_owned(), Value::Object(objects));
    state.insert(own::FIELD.to_owned(), own::write_sessions(&sessions));
    Export {
        state_json: pretty(&Value::Object(state)),
        frames: files,
    }
}

/// What a state says besides its frames.
fn state_fields(
    frames: &[Frame],
    sessions: &[&Session],
    remembered: Option<Remembered>,
    forest: &Forest<'_>,
) -> Object {
    let is_ours = remembered.is_none();
    let remembered = remembered.unwrap_or_default();
    let roots = remembered.roots(forest);
    let active = active_frame(sessions, forest, &remembered);
    let mut state = remembered.fields;
    if is_ours {
        state.insert("version".to_owned(), Value::from(1));
    }
    let before = fields::texts(&state, "rootFrameIDs").ok();
    if is_ours || before.is_none_or(|before| before != roots) {
        state.insert("rootFrameIDs".to_owned(), Value::from(roots));
    }
    match active {
        Some(active) => {
            state.insert("activeFrameID".to_owned(), Value::from(active));
        }
        None if fields::value(&state, "activeFrameID").is_some() => {
            state.remove("activeFrameID");
        }
        None => {}
    }
    let before = fields::time(&state, "updatedAt").ok().flatten();
    let changed = frames.iter().filter(|frame| is_changed(frame, forest));
    let now = changed.map(|frame| frame.updated_at).chain(before).max();
    if is_ours || now != before {
        state.insert(
            "updatedAt".to_owned(),
            Value::from(now.unwrap_or_default().0),
        );
    }
    state
}

/// Whether a frame is not just as it was imported.
fn is_changed(frame: &Frame, forest: &Forest<'_>) -> bool {
    let time = |original: &Object, field| fields::time(original, field).ok().flatten();
    let then: Option<Timestamp> = forest.original(frame).map(|original| {
        time(original, "updatedAt")
            .or_else(|| time(original, "createdAt"))
            .unwrap_or(frame.created_at)
    });
    then != Some(frame.updated_at)
}
