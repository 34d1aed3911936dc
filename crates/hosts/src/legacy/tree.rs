//! The tree of a stack's frames: parents resolved, siblings ordered, cycles reported.
//!
//! Nothing here recurses. The predecessors' code overflowed its stack on a chain of 10,000 frames
//! and did not terminate on a cycle.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::id::Timestamp;

use super::error::{FileProblem, LegacyReadError, printable};
use super::read::{FrameEntry, LegacyStack};

/// Resolves every frame's parent and puts parents before children.
pub(super) fn arrange(mut stack: LegacyStack) -> Result<LegacyStack, LegacyReadError> {
    let parents = resolve_parents(&stack)?;
    let order = depth_first(&parents, &sibling_keys(&stack, &parents));
    let order = order.map_err(|cycle| cycle_error(&stack, &cycle))?;
    let positions: BTreeMap<usize, usize> = order.into_iter().zip(0..).collect();
    for (entry, parent) in stack.frames.iter_mut().zip(parents) {
        entry.parent = parent.and_then(|parent| positions.get(&parent).copied());
    }
    let mut frames: Vec<(usize, FrameEntry)> = stack.frames.into_iter().enumerate().collect();
    frames.sort_by_key(|(index, _)| positions.get(index));
    stack.frames = frames.into_iter().map(|(_, entry)| entry).collect();
    Ok(stack)
}

/// Returns the index of every frame's parent.
fn resolve_parents(stack: &LegacyStack) -> Result<Vec<Option<usize>>, LegacyReadError> {
    let mut indexes: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, entry) in stack.frames.iter().enumerate() {
        indexes.insert(&entry.key, index);
    }
    for (index, entry) in stack.frames.iter().enumerate() {
        if let Some(former) = &entry.former_key {
            indexes.entry(former).or_insert(index);
        }
    }
    let parent = |entry: &FrameEntry| {
        let Some(name) = &entry.parent_key else {
            return Ok(None);
        };
        match (indexes.get(name.as_str()), &entry.file) {
            (Some(index), _) => Ok(Some(*index)),
            // A frame that the state lost may have lost its parent too: it becomes a root.
            (None, Some(_)) => Ok(None),
            (None, None) => {
                let name = printable(name);
                let message = format!("has the parent `{name}`, which is not in the file");
                let hint = "add the parent to the file, or remove the frame's `parentSessionID` \
                            to make it a root, and import it again";
                let problem = FileProblem::new(message, hint);
                Err(LegacyReadError::frame(&stack.state, &entry.key, problem))
            }
        }
    };
    stack.frames.iter().map(parent).collect()
}

/// Sort key among siblings: our own rank if there is one, then the position in the list of the
/// parent or the state, then the time of creation. Frames without a position come last.
type SiblingKey<'a> = (
    (bool, Option<i64>),
    (bool, Option<usize>),
    Timestamp,
    &'a str,
);

fn sibling_keys<'a>(stack: &'a LegacyStack, parents: &[Option<usize>]) -> Vec<SiblingKey<'a>> {
    let mut listed: BTreeMap<(Option<usize>, &str), usize> = BTreeMap::new();
    for (owner, list) in stack.lists() {
        for (position, name) in list.iter().enumerate() {
            listed.entry((owner, name)).or_insert(position);
        }
    }
    let key = |(entry, parent): (&'a FrameEntry, &Option<usize>)| {
        let listed = listed.get(&(*parent, entry.key.as_str())).copied();
        let rank = entry.extension.as_ref().map(|extension| extension.rank);
        (
            (rank.is_none(), rank),
            (listed.is_none(), listed),
            entry.frame.created_at,
            entry.key.as_str(),
        )
    };
    stack.frames.iter().zip(parents).map(key).collect()
}

impl LegacyStack {
    /// Iterates over the lists of planned children by the index of their frame, and the roots.
    pub(super) fn lists(&self) -> impl Iterator<Item = (Option<usize>, &Vec<String>)> {
        let lists = self.frames.iter().map(|entry| &entry.planned_children);
        let lists = lists.enumerate().map(|(index, list)| (Some(index), list));
        lists.chain([(None, &self.roots)])
    }
}

fn cycle_error(stack: &LegacyStack, cycle: &[usize]) -> LegacyReadError {
    const SHOWN: usize = 6;
    let entries = || cycle.iter().filter_map(|index| stack.frames.get(*index));
    let shown = entries().take(SHOWN).map(|entry| printable(&entry.key));
    let more = (cycle.len() > SHOWN).then(|| "…".to_owned());
    let path = shown.chain(more).collect::<Vec<_>>().join(" → ");
    let hint = "remove the `parentSessionID` of the one that is the root and import it again";
    let problem = FileProblem::new(format!("is its own ancestor: {path}"), hint);
    let first = entries().next();
    let file = first.and_then(|entry| entry.file.as_ref());
    let frame = first.map_or("", |entry| entry.key.as_str());
    LegacyReadError::frame(file.unwrap_or(&stack.state), frame, problem)
}

/// Returns the nodes in depth-first order, or a cycle from one node up to itself.
fn depth_first<K: Ord>(parents: &[Option<usize>], keys: &[K]) -> Result<Vec<usize>, Vec<usize>> {
    let mut children: BTreeMap<Option<usize>, Vec<(&K, usize)>> = BTreeMap::new();
    for (index, (parent, key)) in parents.iter().zip(keys).enumerate() {
        children.entry(*parent).or_default().push((key, index));
    }
    for siblings in children.values_mut() {
        // Reversed, because the next node is popped from the end.
        siblings.sort_by(|one, other| other.cmp(one));
    }
    let below = |parent| {
        let siblings = children.get(&parent).into_iter().flatten();
        siblings.map(|(_, index)| *index)
    };
    let mut order = Vec::with_capacity(parents.len());
    let mut pending: Vec<usize> = below(None).collect();
    while let Some(index) = pending.pop() {
        order.push(index);
        pending.extend(below(Some(index)));
    }
    if order.len() == parents.len() {
        Ok(order)
    } else {
        Err(find_cycle(parents, &order))
    }
}

/// Follows the parents of a node that no root reaches, until one repeats.
fn find_cycle(parents: &[Option<usize>], reached: &[usize]) -> Vec<usize> {
    let reached: BTreeSet<usize> = reached.iter().copied().collect();
    let mut next = (0..parents.len()).find(|index| !reached.contains(index));
    let mut path = Vec::new();
    let mut steps: BTreeMap<usize, usize> = BTreeMap::new();
    while let Some(index) = next {
        let earlier = steps.insert(index, path.len());
        path.push(index);
        if let Some(start) = earlier {
            path.drain(..start);
            break;
        }
        next = parents.get(index).copied().flatten();
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(parents: &[Option<usize>]) -> Result<Vec<usize>, Vec<usize>> {
        let keys: Vec<usize> = (0..parents.len()).collect();
        depth_first(parents, &keys)
    }

    #[test]
    fn parents_come_first_and_siblings_in_order() {
        let forest = [Some(2), Some(0), None, None, Some(2), Some(0)];
        assert_eq!(order(&forest), Ok(vec![2, 0, 1, 5, 4, 3]));
        assert_eq!(order(&[]), Ok(vec![]));
    }

    #[test]
    fn cycles_are_found() {
        assert_eq!(order(&[Some(0)]), Err(vec![0, 0]));
        let tail = [Some(1), Some(2), Some(3), Some(1), None];
        assert_eq!(order(&tail), Err(vec![1, 2, 3, 1]));
    }

    #[test]
    fn a_deep_chain_does_not_overflow() {
        let chain: Vec<_> = (0..100_000_usize)
            .map(|index| index.checked_sub(1))
            .collect();
        assert!(order(&chain).is_ok());
    }
}
