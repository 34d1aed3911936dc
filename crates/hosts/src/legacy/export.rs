//! Converting frames and sessions to the predecessors' files, in memory.

use std::collections::BTreeSet;

use flamestack_core::{Frame, FrameId, Session, Status};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::export_tree::{ExportTree, file_names};
use super::extension;
use super::frame_object::{self, Position};
use super::read::{FrameEntry, LegacyStack};
use super::schema::{Object, StateFields, known_fields, to_pretty_json};

/// The files of an export. Their texts are made when they are written: a store of 50 MB would be in
/// memory three times otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportFiles {
    state: Value,
    /// Names of the files in `frames/`, with the keys of their frames.
    names: Vec<(String, String)>,
}

impl ExportFiles {
    /// Returns the content of `state.json`.
    pub fn state_json(&self) -> String {
        to_pretty_json(&self.state)
    }

    /// Returns names and contents of the files in `frames/`.
    pub fn frames(&self) -> impl Iterator<Item = (&str, String)> {
        let frames = self.state.get("frames");
        self.names.iter().filter_map(move |(name, key)| {
            let frame = frames?.get(key)?;
            Some((name.as_str(), to_pretty_json(frame)))
        })
    }
}

/// Converts frames and sessions to the predecessors' files.
///
/// `imported` is what an earlier import kept of the state it read
/// ([`Import::foreign`](flamestack_core::command::Import)). `log_path` returns the path of a frame's
/// log; a path that was imported with the frame takes precedence. The same arguments give the same
/// bytes.
pub fn export(
    frames: &[Frame],
    sessions: &[Session],
    imported: Option<&str>,
    log_path: &dyn Fn(&Frame) -> Option<String>,
) -> ExportFiles {
    let tree = ExportTree::new(frames);
    let imported: Option<ImportedState> = imported.and_then(|text| serde_json::from_str(text).ok());
    let mut sessions: Vec<&Session> = sessions.iter().collect();
    sessions.sort_by_key(|session| &session.key);

    let mut objects = Object::new();
    for frame in frames {
        let Some(key) = tree.key(&frame.id) else {
            continue;
        };
        let listed = tree.original_fields(frame);
        let listed = listed.and_then(|fields| fields.planned_children);
        let position = Position {
            key,
            parent: tree.parent(frame).and_then(|parent| tree.key(&parent.id)),
            planned_children: updated_list(
                &listed.unwrap_or_default(),
                Some(frame),
                &tree,
                imported.as_ref(),
            ),
            log_path: log_path(frame),
        };
        let object = frame_object::write(frame, tree.original(frame), &position);
        objects.insert(key.to_owned(), Value::Object(object));
    }
    let names = file_names(objects.keys().map(String::as_str)).into_iter();
    let mut names: Vec<(String, String)> =
        names.map(|(key, name)| (name, key.to_owned())).collect();
    names.sort();

    let mut state = state_fields(frames, &sessions, imported, &tree);
    state.insert("frames".to_owned(), Value::Object(objects));
    let extension = extension::write_sessions(&sessions);
    state.insert(extension::FIELD.to_owned(), extension);
    ExportFiles {
        state: Value::Object(state),
        names,
    }
}

/// Returns the fields of a state apart from its frames: those of the imported state, if there is
/// one, with the fields replaced that would be wrong now.
fn state_fields(
    frames: &[Frame],
    sessions: &[&Session],
    imported: Option<ImportedState>,
    tree: &ExportTree<'_>,
) -> Object {
    let is_new = imported.is_none();
    let known = imported.as_ref();
    let known = known.and_then(|imported| known_fields::<StateFields>(&imported.fields).ok());
    let before = known.unwrap_or_default();
    let listed = before.roots.as_deref().unwrap_or_default();
    let roots = updated_list(listed, None, tree, imported.as_ref());
    let active = active_frame(sessions, tree, before.active.as_deref(), imported.as_ref());
    let changed = frames.iter().filter(|frame| is_changed(frame, tree));
    let times = changed.map(|frame| frame.updated_at);
    let updated_at = times.chain(before.updated_at).max();

    let lists_differ = listed != roots;
    let mut state = imported.unwrap_or_default().fields;
    let mut set = |field: &str, value: Value| state.insert(field.to_owned(), value);
    if is_new {
        set("version", Value::from(1));
    }
    if is_new || lists_differ {
        set("rootFrameIDs", Value::from(roots));
    }
    if is_new || updated_at != before.updated_at {
        set("updatedAt", Value::from(updated_at.unwrap_or_default().0));
    }
    if let Some(active) = active {
        set("activeFrameID", Value::from(active));
    } else if before.active.is_some() {
        state.remove("activeFrameID");
    }
    state
}

/// Returns true if a frame is new or was changed since it was imported.
fn is_changed(frame: &Frame, tree: &ExportTree<'_>) -> bool {
    let before = tree.original_fields(frame).map(|original| {
        let time = original.updated_at.or(original.created_at);
        time.unwrap_or(frame.created_at)
    });
    before != Some(frame.updated_at)
}

/// Returns the name of the one active frame that a state can hold.
///
/// It is the active frame of the session that owns the root of its tree, as the predecessor would
/// be in that session; of several, the first by session name.
fn active_frame(
    sessions: &[&Session],
    tree: &ExportTree<'_>,
    before: Option<&str>,
    imported: Option<&ImportedState>,
) -> Option<String> {
    let candidates = sessions.iter().filter_map(|session| {
        let active = session.active.as_ref()?;
        let key = tree.key(active)?;
        let owns_root = tree.root(active)?.session.as_ref() == Some(&session.key);
        Some((!owns_root, &session.key, key))
    });
    if let Some((_, _, key)) = candidates.min() {
        return Some(key.to_owned());
    }
    let before = before?;
    let Some(frame) = tree.by_name(before) else {
        let is_unknown = imported.is_some_and(|imported| imported.is_unknown(before));
        return is_unknown.then(|| before.to_owned());
    };
    // An imported frame that no session could take up, such as a finished one, stays active as
    // long as its status is the imported one.
    let root = tree.root(&frame.id);
    let was_taken_up =
        frame.status == Status::InProgress && root.is_some_and(|root| root.session.is_some());
    let original = tree.original_fields(frame)?.frame("", frame.created_at);
    let same_status = original.is_ok_and(|original| original.status == frame.status);
    let key = tree.key(&frame.id)?;
    (!was_taken_up && same_status).then(|| key.to_owned())
}

/// The part of a state that an import keeps besides the frames
/// ([`Import::foreign`](flamestack_core::command::Import)).
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ImportedState {
    #[serde(flatten)]
    fields: Object,
    #[serde(
        rename = "flamestack",
        default,
        skip_serializing_if = "ListDifferences::is_empty"
    )]
    differences: ListDifferences,
}

/// Differences between the frames and the two lists that repeat the tree, `rootFrameIDs` and
/// `plannedChildren`. The predecessors maintain those lists by hand and lose entries.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ListDifferences {
    /// Names in the lists that no frame has.
    #[serde(default)]
    absent: BTreeSet<String>,
    /// Frames that belong in a list but are missing from it.
    #[serde(default)]
    unlisted: BTreeSet<String>,
}

impl ListDifferences {
    fn is_empty(&self) -> bool {
        self.absent.is_empty() && self.unlisted.is_empty()
    }
}

impl ImportedState {
    pub(super) fn of(stack: &LegacyStack) -> Self {
        let names: BTreeSet<&str> = stack.frames.iter().map(|it| it.key.as_str()).collect();
        let listed: BTreeSet<(Option<usize>, &str)> = stack
            .lists()
            .flat_map(|(owner, list)| list.iter().map(move |name| (owner, name.as_str())))
            .collect();
        let is_unlisted = |entry: &&FrameEntry| {
            let belongs = entry.parent.is_none() || entry.frame.status == Status::Planned;
            // A frame that the state lost is missing by accident; an export lists it again.
            let was_lost = entry.file.is_some();
            belongs && !was_lost && !listed.contains(&(entry.parent, entry.key.as_str()))
        };
        let unlisted = stack.frames.iter().filter(is_unlisted);
        let used = listed.iter().map(|(_, name)| *name);
        let used = used.chain(stack.active.as_deref());
        let absent = used.filter(|name| !names.contains(name));
        Self {
            fields: stack.fields.clone(),
            differences: ListDifferences {
                absent: absent.map(ToOwned::to_owned).collect(),
                unlisted: unlisted.map(|entry| entry.key.clone()).collect(),
            },
        }
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_value(self).unwrap_or_default().to_string()
    }

    /// Returns true if a name in the state belonged to no frame when it was imported.
    fn is_unknown(&self, name: &str) -> bool {
        self.differences.absent.contains(name)
    }

    fn is_unlisted(&self, frame: &Frame) -> bool {
        let unlisted = &self.differences.unlisted;
        frame.aliases.iter().any(|alias| unlisted.contains(alias))
    }
}

/// Returns the list of the roots, or of a frame's planned children, updated from what it was
/// `before`: frames may have been renamed, moved, deleted, reordered or added since the import.
/// Other oddities of the list stay.
fn updated_list(
    before: &[String],
    owner: Option<&Frame>,
    tree: &ExportTree<'_>,
    imported: Option<&ImportedState>,
) -> Vec<String> {
    let key = |frame: &Frame| tree.key(&frame.id).map(ToOwned::to_owned);
    let is_member = |frame: &Frame| tree.parent(frame).map(|it| it.id) == owner.map(|it| it.id);
    let mut listed: BTreeSet<&FrameId> = BTreeSet::new();
    let mut members: Vec<&Frame> = Vec::new();
    // `None` is a slot for the next member, so that reordered members use the same slots.
    let mut slots: Vec<Option<String>> = Vec::new();
    for name in before {
        match tree.by_name(name) {
            Some(frame) if is_member(frame) && listed.insert(&frame.id) => {
                members.push(frame);
                slots.push(None);
            }
            // It was listed twice, or in the wrong list, and stays so.
            Some(frame) if is_member(frame) || tree.had_other_parent(frame, owner) => {
                slots.extend(key(frame).map(Some));
            }
            None if imported.is_some_and(|imported| imported.is_unknown(name)) => {
                slots.push(Some(name.clone()));
            }
            Some(_) | None => {}
        }
    }
    let siblings = tree.children(owner.map(|owner| &owner.id)).iter();
    members.extend(siblings.filter(|frame| {
        let belongs = owner.is_none() || frame.status == Status::Planned;
        let is_unlisted = imported.is_some_and(|imported| imported.is_unlisted(frame));
        belongs && !listed.contains(&frame.id) && !is_unlisted
    }));
    members.sort_by_key(|frame| (frame.rank, &frame.id));
    let mut members = members.into_iter();
    let mut list: Vec<String> = Vec::with_capacity(slots.len());
    for slot in slots {
        list.extend(slot.or_else(|| members.next().and_then(key)));
    }
    list.extend(members.filter_map(key));
    list
}
