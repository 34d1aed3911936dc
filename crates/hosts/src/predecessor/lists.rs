//! The two lists that repeat the tree: `rootFrameIDs` of a state and `plannedChildren` of a frame.
//!
//! The predecessors keep them by hand, and lose entries. An export takes the list that was imported,
//! changes in it what has changed since, and leaves the rest as odd as it was.

use std::collections::BTreeSet;

use flamestack_core::{Frame, FrameId, Status};
use serde_json::{Value, json};

use super::fields::{self, Object};
use super::forest::Forest;
use super::own;
use super::shape;
use super::stack::{Entry, Stack};

/// What a state said besides its frames, and how its lists differed from its frames. This is what
/// [`Import::foreign`](flamestack_core::command::Import) holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Remembered {
    pub(super) fields: Object,
    /// Names in the lists that no frame has.
    absent: BTreeSet<String>,
    /// Frames that belong into a list and are not in it.
    unlisted: BTreeSet<String>,
}

impl Remembered {
    pub(super) fn of(stack: &Stack) -> Self {
        let names: BTreeSet<&str> = stack.frames.iter().map(|it| it.key.as_str()).collect();
        let lists = stack.frames.iter().map(|entry| &entry.planned_children);
        let lists = lists.enumerate().map(|(index, list)| (Some(index), list));
        let listed: BTreeSet<(Option<usize>, &str)> = lists
            .chain([(None, &stack.roots)])
            .flat_map(|(owner, list)| list.iter().map(move |name| (owner, name.as_str())))
            .collect();
        let unlisted = |entry: &&Entry| {
            let belongs = entry.parent.is_none() || entry.said.status == Status::Planned;
            // What the state had lost is missing by accident and is put back.
            let lost = entry.file.is_some();
            belongs && !lost && !listed.contains(&(entry.parent, entry.key.as_str()))
        };
        let used = listed
            .iter()
            .map(|(_, name)| *name)
            .chain(stack.active.as_deref());
        let absent = used.filter(|name| !names.contains(name));
        Self {
            fields: stack.fields.clone(),
            absent: absent.map(ToOwned::to_owned).collect(),
            unlisted: stack
                .frames
                .iter()
                .filter(unlisted)
                .map(|entry| entry.key.clone())
                .collect(),
        }
    }

    pub(super) fn to_json(&self) -> String {
        let mut fields = self.fields.clone();
        if !self.absent.is_empty() || !self.unlisted.is_empty() {
            let ours = json!({ "absent": self.absent, "unlisted": self.unlisted });
            fields.insert(own::FIELD.to_owned(), ours);
        }
        Value::Object(fields).to_string()
    }

    /// Reads it back, if it is an object at all.
    pub(super) fn from_json(text: &str) -> Option<Self> {
        let Ok(Value::Object(mut fields)) = serde_json::from_str(text) else {
            return None;
        };
        let ours = fields.remove(own::FIELD).unwrap_or_default();
        let names = |field: &str| {
            let names = ours
                .get(field)
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            names
                .filter_map(Value::as_str)
                .map(ToOwned::to_owned)
                .collect()
        };
        Some(Self {
            absent: names("absent"),
            unlisted: names("unlisted"),
            fields,
        })
    }

    /// Whether a name in the state was nobody's already when it was imported.
    pub(super) fn is_absent(&self, name: &str) -> bool {
        self.absent.contains(name)
    }

    /// The roots, as a state lists them now.
    pub(super) fn roots(&self, forest: &Forest<'_>) -> Vec<String> {
        let before = fields::texts(&self.fields, "rootFrameIDs").unwrap_or_default();
        self.revised(&before, None, forest)
    }

    /// The planned children of a frame, as it lists them now.
    pub(super) fn planned_children(&self, frame: &Frame, forest: &Forest<'_>) -> Vec<String> {
        let original = forest.original(frame);
        let before = original.and_then(|original| shape::planned_children(original).ok());
        self.revised(&before.unwrap_or_default(), Some(frame), forest)
    }

    /// Takes a list as it was and follows what happened since: frames got other names, went
    /// elsewhere, were deleted, moved among their siblings, came in.
    fn revised(&self, before: &[&str], owner: Option<&Frame>, forest: &Forest<'_>) -> Vec<String> {
        let is_member =
            |frame: &Frame| forest.parent(frame).map(|it| &it.id) == owner.map(|it| &it.id);
        let mut listed: BTreeSet<&FrameId> = BTreeSet::new();
        let mut fixed: Vec<Option<String>> = Vec::new();
        let mut members: Vec<&Frame> = Vec::new();
        for name in before {
            match forest.keys.frame(name) {
                Some(frame) if is_member(frame) && listed.insert(&frame.id) => {
                    members.push(frame);
                    fixed.push(None);
                }
                // Listed twice, or where it does not belong: so it was, so it stays.
                Some(frame) if is_member(frame) || forest.came_from_elsewhere(frame, owner) => {
                    fixed.push(forest.keys.of_frame(&frame.id).map(ToOwned::to_owned));
                }
                None if self.is_absent(name) => fixed.push(Some((*name).to_owned())),
                Some(_) | None => {}
            }
        }
        let siblings = forest.children(owner.map(|owner| &owner.id)).iter();
        let additions = siblings.filter(|frame| {
            let belongs = owner.is_none() || frame.status == Status::Planned;
            belongs && !listed.contains(&frame.id) && !self.is_unlisted(frame)
        });
        members.extend(additions);
        members.sort_by_key(|frame| (frame.rank, &frame.id));
        let mut members = members.into_iter();
        let key = |frame: &Frame| forest.keys.of_frame(&frame.id).map(ToOwned::to_owned);
        let mut now: Vec<String> = Vec::with_capacity(fixed.len());
        for entry in fixed {
            now.extend(entry.or_else(|| members.next().and_then(key)));
        }
        now.extend(members.filter_map(key));
        now
    }

    fn is_unlisted(&self, frame: &Frame) -> bool {
        frame
            .aliases
            .iter()
            .any(|alias| self.unlisted.contains(alias))
    }
}
