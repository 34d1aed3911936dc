//! The tree that the frames of a file make up: every parent found, every sibling in its place.

use std::collections::BTreeMap;

use flamestack_core::frame::Rank;
use flamestack_core::id::Timestamp;

use super::error::{FrameProblem, ReadError};
use super::order::{Node, from_the_roots};
use super::stack::{Entry, Stack};

/// What orders siblings; whoever has no place in an order comes after those who have.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Place<'a> {
    ours: (bool, Option<Rank>),
    listed: (bool, Option<usize>),
    created: Timestamp,
    key: &'a str,
}

impl Stack {
    /// Finds every frame's parent and puts parents before children.
    pub(super) fn in_order(mut self, parents: &[Option<String>]) -> Result<Self, ReadError> {
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, entry) in self.frames.iter().enumerate() {
            names.insert(&entry.key, index);
        }
        for (index, entry) in self.frames.iter().enumerate() {
            if let Some(former) = &entry.former {
                names.entry(former).or_insert(index);
            }
        }
        let mut found = Vec::with_capacity(self.frames.len());
        for (entry, parent) in self.frames.iter().zip(parents) {
            let index = parent.as_deref().and_then(|name| names.get(name).copied());
            // A frame that was lost from the state may have lost its parent too: it becomes a root.
            if let (Some(parent), None, None) = (parent, index, &entry.file) {
                let parent = parent.clone();
                let problem = FrameProblem::UnknownParent { parent };
                return Err(ReadError::frame(&self.state, &entry.key, problem));
            }
            found.push(index);
        }
        let nodes = self.nodes(&found);
        let order = from_the_roots(&nodes).map_err(|cycle| self.cycle(&cycle))?;
        let mut new_place = vec![0; order.len()];
        for (place, index) in order.iter().enumerate() {
            new_place
                .get_mut(*index)
                .into_iter()
                .for_each(|it| *it = place);
        }
        for (entry, parent) in self.frames.iter_mut().zip(found) {
            entry.parent = parent.and_then(|parent| new_place.get(parent).copied());
        }
        let mut placed: Vec<(usize, Entry)> = new_place.into_iter().zip(self.frames).collect();
        placed.sort_by_key(|(place, _)| *place);
        self.frames = placed.into_iter().map(|(_, entry)| entry).collect();
        Ok(self)
    }

    /// Siblings come in our own order where there is one, then as their parent or the state lists
    /// them, then as they were created.
    fn nodes(&self, parents: &[Option<usize>]) -> Vec<Node<Place<'_>>> {
        let mut listed: BTreeMap<(Option<usize>, &str), usize> = BTreeMap::new();
        let lists = self.frames.iter().map(|entry| &entry.planned_children);
        let lists = lists.enumerate().map(|(index, list)| (Some(index), list));
        for (owner, list) in lists.chain([(None, &self.roots)]) {
            for (place, name) in list.iter().enumerate() {
                listed.entry((owner, name)).or_insert(place);
            }
        }
        let mut nodes = Vec::with_capacity(self.frames.len());
        for (entry, parent) in self.frames.iter().zip(parents) {
            let listed = listed.get(&(*parent, entry.key.as_str())).copied();
            let ours = entry.own.as_ref().map(|own| own.rank);
            nodes.push(Node {
                parent: *parent,
                place: Place {
                    ours: (ours.is_none(), ours),
                    listed: (listed.is_none(), listed),
                    created: entry.said.created_at,
                    key: &entry.key,
                },
            });
        }
        nodes
    }

    fn cycle(&self, cycle: &[usize]) -> ReadError {
        let entry = |index: &usize| self.frames.get(*index);
        let path: Vec<String> = cycle
            .iter()
            .filter_map(entry)
            .map(|it| it.key.clone())
            .collect();
        let first = cycle.first().and_then(entry);
        let file = first.and_then(|entry| entry.file.as_ref());
        let frame = first.map(|entry| entry.key.clone()).unwrap_or_default();
        ReadError::frame(
            file.unwrap_or(&self.state),
            &frame,
            FrameProblem::Cycle { path },
        )
    }
}
