//! Parents before children, siblings in their order, and cycles found instead of followed.
//!
//! Nothing here recurses: the predecessors' own code overflowed on a chain of 10,000 frames, and
//! looped for ever on a cycle.

use std::collections::{BTreeMap, BTreeSet};

/// A frame as far as its place in the tree goes. `place` orders siblings.
pub(super) struct Node<P> {
    pub(super) parent: Option<usize>,
    pub(super) place: P,
}

/// The nodes from the roots down, each tree as a whole; or a cycle, from one node up to itself.
pub(super) fn from_the_roots<P: Ord>(nodes: &[Node<P>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut children: BTreeMap<Option<usize>, Vec<(&P, usize)>> = BTreeMap::new();
    for (index, node) in nodes.iter().enumerate() {
        let siblings = children.entry(node.parent).or_default();
        siblings.push((&node.place, index));
    }
    for siblings in children.values_mut() {
        // The next one to visit is taken from the end.
        siblings.sort_by(|one, other| other.cmp(one));
    }
    let mut order = Vec::with_capacity(nodes.len());
    let mut next: Vec<usize> = below(&children, None).collect();
    while let Some(index) = next.pop() {
        order.push(index);
        next.extend(below(&children, Some(index)));
    }
    if order.len() == nodes.len() {
        Ok(order)
    } else {
        Err(cycle(nodes, &order))
    }
}

fn below<P>(
    children: &BTreeMap<Option<usize>, Vec<(&P, usize)>>,
    parent: Option<usize>,
) -> impl Iterator<Item = usize> {
    let siblings = children.get(&parent).into_iter().flatten();
    siblings.map(|(_, index)| *index)
}

/// Whoever cannot be reached from a root has a cycle somewhere above.
fn cycle<P>(nodes: &[Node<P>], reached: &[usize]) -> Vec<usize> {
    let reached: BTreeSet<usize> = reached.iter().copied().collect();
    let mut at = (0..nodes.len()).find(|index| !reached.contains(index));
    let mut path = Vec::new();
    let mut steps: BTreeMap<usize, usize> = BTreeMap::new();
    while let Some(index) = at {
        let earlier = steps.insert(index, path.len());
        path.push(index);
        if let Some(begin) = earlier {
            path.drain(..begin);
            break;
        }
        at = nodes.get(index).and_then(|node| node.parent);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(parents: &[Option<usize>]) -> Vec<Node<usize>> {
        let node = |(place, parent): (usize, &Option<usize>)| Node {
            parent: *parent,
            place,
        };
        parents.iter().enumerate().map(node).collect()
    }

    #[test]
    fn parents_come_first_and_siblings_in_order() {
        let forest = nodes(&[Some(2), Some(0), None, None, Some(2), Some(0)]);
        assert_eq!(from_the_roots(&forest), Ok(vec![2, 0, 1, 5, 4, 3]));
        assert_eq!(from_the_roots(&nodes(&[])), Ok(vec![]));
    }

    #[test]
    fn cycles_are_found() {
        assert_eq!(from_the_roots(&nodes(&[Some(0)])), Err(vec![0, 0]));
        let tail = nodes(&[Some(1), Some(2), Some(3), Some(1), None]);
        assert_eq!(from_the_roots(&tail), Err(vec![1, 2, 3, 1]));
    }

    #[test]
    fn a_deep_chain_is_no_problem() {
        let chain: Vec<_> = (0..100_000_usize)
            .map(|index| index.checked_sub(1))
            .collect();
        assert!(from_the_roots(&nodes(&chain)).is_ok());
    }
}
