//! Binding sessions, descriptions by hosts, and imported files.

use std::collections::BTreeSet;

use super::{DecideResult, Decider, Remark};
use crate::author::Author;
use crate::command::Import;
use crate::event::Event;
use crate::frame::{Frame, Status};
use crate::id::{FrameId, SessionRef};
use crate::note::Note;
use crate::refusal::Refusal;
use crate::session::{Description, Model};
use crate::tree_query::TreeQuery;

impl<N: TreeQuery + ?Sized> Decider<'_, N> {
    pub(super) fn bind(&mut self, frame: &FrameId, session: &SessionRef) -> DecideResult<(), N> {
        let frame = self.frame(frame)?;
        let known = self.require_session(session)?;
        if known.own.as_ref() == Some(&frame.id) {
            self.events.clear();
            self.remarks.push(Remark::AlreadyRecorded);
            return Ok(());
        }
        if let Some(own) = &known.own {
            let frame = self.frame(own)?;
            return Err(Refusal::SessionBound {
                session: session.clone(),
                frame,
            }
            .into());
        }
        if let Some(other) = frame.session.clone() {
            return Err(Refusal::FrameBound {
                frame,
                session: other,
            }
            .into());
        }
        if !frame.status.is_open() {
            return Err(Refusal::AlreadyFinished(frame).into());
        }
        self.events.push(Event::SessionBound {
            session: session.clone(),
            frame: frame.id,
        });
        if known.active.is_none() && frame.status == Status::InProgress {
            self.events.push(Event::SessionFocused {
                session: session.clone(),
                from: None,
                to: Some(frame.id),
            });
        }
        Ok(())
    }

    pub(super) fn unbind(&mut self, session: &SessionRef) -> DecideResult<(), N> {
        let known = self.tree.session(session)?;
        let Some(frame) = known.and_then(|known| known.own) else {
            return Err(Refusal::NotBound(session.clone()).into());
        };
        self.events.push(Event::SessionUnbound {
            session: session.clone(),
            frame,
        });
        Ok(())
    }

    /// Records a host's description of the session, if it adds anything. Hosts describe a session
    /// whenever anything about it changes.
    pub(super) fn describe(&mut self, newer: &Description) {
        let known = &self.session.description;
        let all = known.clone().and(newer.clone());
        if all == *known {
            self.remarks.push(Remark::AlreadyRecorded);
        } else {
            self.events.push(Event::SessionDescribed(Box::new(all)));
        }
    }

    /// Records the model of the session, if it changed. Hosts name it with every message.
    pub(super) fn use_model(&mut self, model: &Model) {
        if self.session.model.as_ref() == Some(model) {
            self.remarks.push(Remark::AlreadyRecorded);
        } else {
            self.events.push(Event::ModelUsed(model.clone()));
        }
    }

    pub(super) fn import(&mut self, import: &Import) -> DecideResult<(), N> {
        if self.tree.is_imported(&import.source)? {
            self.remarks.push(Remark::AlreadyImported);
            return Ok(());
        }
        // A file could put words into the user's mouth.
        let mut notes = import.frames.iter().flat_map(|frame| &frame.notes);
        if self.actor.by != Author::User && notes.any(Note::needs_the_user) {
            return Err(Refusal::OnlyTheUser.into());
        }
        // Importing a file does not make the session work here.
        self.first_seen = false;
        for (session, worktree) in &import.sessions {
            let known = self.tree.session(session)?;
            if known.is_none() && self.opened.insert(session.clone()) {
                self.events.push(Event::SessionOpened {
                    session: session.clone(),
                    worktree: worktree.clone(),
                });
            }
        }
        let mut brought: BTreeSet<&FrameId> = BTreeSet::new();
        let mut names: BTreeSet<&str> = BTreeSet::new();
        for frame in &import.frames {
            self.check_imported(frame, &brought)?;
            for alias in &frame.aliases {
                let known = self.tree.alias(alias)?;
                if known.is_some() || !names.insert(alias) {
                    return Err(bad(format!("the former id `{alias}` is in use already")).into());
                }
            }
            brought.insert(&frame.id);
            self.events.push(Event::FrameImported {
                frame: Box::new(frame.clone()),
            });
        }
        for (session, frame) in &import.focus {
            let in_progress = import
                .frames
                .iter()
                .any(|known| known.id == *frame && known.status == Status::InProgress);
            if !in_progress {
                return Err(bad(format!(
                    "{session} works on {frame}, which is not in progress"
                ))
                .into());
            }
            let known = self.require_session(session)?;
            if known.active.is_none() {
                self.events.push(Event::SessionFocused {
                    session: session.clone(),
                    from: None,
                    to: Some(*frame),
                });
            }
        }
        self.events.push(Event::StackImported {
            source: import.source.clone(),
            foreign: import.foreign.clone(),
        });
        Ok(())
    }

    /// Checks an imported frame. Parents come before children, so that there are no cycles and orphans
    /// are noticed.
    fn check_imported(
        &mut self,
        frame: &Frame,
        brought: &BTreeSet<&FrameId>,
    ) -> DecideResult<(), N> {
        let id = &frame.id;
        if brought.contains(id) || self.tree.is_taken(id)? {
            return Err(Refusal::IdTaken(*id).into());
        }
        if let Some(parent) = &frame.parent
            && !brought.contains(parent)
            && self.tree.frame(parent)?.is_none()
        {
            return Err(bad(format!("the parent {parent} of {id} is unknown")).into());
        }
        if let Some(session) = &frame.session {
            let known = self.require_session(session)?;
            if let Some(own) = known.own {
                return Err(bad(format!("{session} is bound to {own} already")).into());
            }
        }
        Ok(())
    }
}

fn bad(problem: String) -> Refusal {
    Refusal::BadImport(problem)
}
