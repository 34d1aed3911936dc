//! Surroundings gathered from a whole tree in memory, with nothing left out.
//!
//! The reference for those that a store gathers from its indexes: both must lead to the same context. The
//! tests of the engine include this file too.

use std::collections::BTreeSet;

use flamestack_core::event::Event;
use flamestack_core::frame::{Frame, Status};
use flamestack_core::id::{FrameId, Seq};
use flamestack_core::note::{Directive, Note};
use flamestack_testkit::Tree;

use super::{SiblingPosition, Surroundings};

/// Gathers the surroundings of a frame.
pub(crate) fn in_tree(tree: &Tree, frame: &FrameId) -> Option<Surroundings> {
    let current = tree.frames().get(frame)?.clone();
    let position = tree.journal().last().map_or(Seq(0), |last| last.seq);
    let mut around = Surroundings::of(current, position);
    load_ancestors(&mut around, tree);
    load_children(&mut around, tree);
    // Roots are separate tasks, not siblings.
    if around.current.parent.is_some() {
        load_siblings(&mut around, tree);
    }
    around.open.total = around.open.frames.len();
    load_directives(&mut around, tree);
    Some(around)
}

/// Counts one more sibling.
pub(crate) fn count(place: &mut SiblingPosition, status: Status) {
    let counted = match status {
        Status::Completed => &mut place.completed,
        Status::Failed => &mut place.failed,
        Status::InProgress => &mut place.in_progress,
        Status::Blocked => &mut place.blocked,
        Status::Planned => &mut place.planned,
        Status::Invalidated => &mut place.invalidated,
    };
    *counted += 1;
}

/// Loads the directives of the frame and its ancestors from the events that still count.
fn load_directives(around: &mut Surroundings, tree: &Tree) {
    let here: Vec<&Frame> = around.ancestors.iter().chain([&around.current]).collect();
    let mut directives = Vec::new();
    for recorded in tree.journal().iter().filter(|it| tree.counts(it)) {
        let noted: &[Note] = match &recorded.event {
            Event::Noted { note, .. } => std::slice::from_ref(note),
            Event::FrameImported { frame } | Event::FrameCopied { frame, .. } => &frame.notes,
            _ => continue,
        };
        for frame in recorded.event.frames() {
            let frame = here.iter().find(|known| known.id == frame);
            for note in noted {
                if let (Note::Directive(text), Some(frame)) = (note, frame)
                    && frame.notes.contains(note)
                {
                    directives.push(Directive {
                        text: text.clone(),
                        said: recorded.seq,
                        session: recorded.session.clone(),
                        frame: frame.id,
                        by: recorded.by,
                    });
                }
            }
        }
    }
    around.directives = directives;
}

fn load_ancestors(around: &mut Surroundings, tree: &Tree) {
    // A damaged journal may fold into a cycle.
    let mut seen = BTreeSet::from([around.current.id]);
    let mut above = around.current.parent.as_ref();
    while let Some(frame) = above.and_then(|id| tree.frames().get(id)) {
        if !seen.insert(frame.id) {
            break;
        }
        around.ancestors.push(frame.clone());
        above = frame.parent.as_ref();
        if let Some(grandparent) = &frame.parent {
            let uncles = tree.children(Some(grandparent));
            let finished = uncles.filter(|uncle| uncle.status == Status::Completed);
            let others = finished.filter(|uncle| uncle.id != frame.id);
            around.uncles.frames.extend(others.cloned());
        }
    }
    around.levels = around.ancestors.len();
    around.uncles.total = around.uncles.frames.len();
}

fn load_children(around: &mut Surroundings, tree: &Tree) {
    for child in tree.children(Some(&around.current.id)) {
        let group = match child.status {
            Status::Completed | Status::Failed => &mut around.children,
            Status::Planned => &mut around.planned,
            Status::InProgress | Status::Blocked => &mut around.open,
            Status::Invalidated => continue,
        };
        group.frames.push(child.clone());
        group.total += 1;
    }
}

fn load_siblings(around: &mut Surroundings, tree: &Tree) {
    let mut after = false;
    let mut first_planned = None;
    for sibling in tree.children(around.current.parent.as_ref()) {
        let is_current = sibling.id == around.current.id;
        // Invalidated frames are not tasks.
        around.place.of += usize::from(is_current || sibling.status != Status::Invalidated);
        if is_current {
            around.place.position = around.place.of;
            after = true;
            continue;
        }
        count(&mut around.place, sibling.status);
        match sibling.status {
            Status::Completed | Status::Failed => around.siblings.push(sibling.clone()),
            Status::InProgress | Status::Blocked => around.open.frames.push(sibling.clone()),
            Status::Planned => {
                first_planned.get_or_insert(sibling);
                if after && around.next.is_none() {
                    around.next = Some(sibling.clone());
                }
            }
            Status::Invalidated => {}
        }
    }
    around.next = around.next.take().or_else(|| first_planned.cloned());
}
