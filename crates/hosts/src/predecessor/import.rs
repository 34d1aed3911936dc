//! From a stack that was read to the command that brings it in.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::command::Import;
use flamestack_core::frame::{Origin, Rank};
use flamestack_core::id::{Seq, SessionRef};
use flamestack_core::{Frame, FrameId, Prose, Session, Status};
use serde_json::Value;

use super::error::{Problem, ReadError};
use super::keys::{OPENCODE, is_name};
use super::lists::Remembered;
use super::notes;
use super::own::Foreign;
use super::shape::PLANNED;
use super::stack::{Entry, Stack};

/// How often an id is drawn before we give up; with working randomness twice is rare.
const ATTEMPTS: usize = 100;

/// The stack that frames are brought into, as far as an import must know it.
pub struct Target<'a> {
    /// Draws an id that no frame has or ever had.
    pub fresh: &'a mut dyn FnMut() -> FrameId,
    /// The frame that has exactly this id or former id, or is bound to exactly this session
    /// (`host:id`). No prefixes: who is known is not brought in again.
    pub known: &'a dyn Fn(&str) -> Option<FrameId>,
    /// The rank of the last child of a frame, or of the last root.
    pub last_rank: &'a dyn Fn(Option<&FrameId>) -> Option<Rank>,
}

/// What an import comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The command.
    pub import: Import,
    /// The sessions of one of our own exports, as they were.
    pub sessions: Vec<Session>,
    /// Frames that were there already.
    pub known: usize,
}

impl Stack {
    /// How many frames were read.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there is no frame in it.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Turns what was read into frames that fit into the target.
    pub fn import(&self, target: &mut Target<'_>) -> Result<Reading, ReadError> {
        let named = self.name(target)?;
        let parent_of = |entry: &Entry| entry.parent.and_then(|parent| named.get(parent));
        let mut ranks = Ranks::default();
        for (entry, _) in self.new_ones(&named) {
            ranks.prepare(parent_of(entry), entry, target);
        }
        let mut taken = Taken::default();
        let mut frames = Vec::new();
        for (entry, id) in self.new_ones(&named) {
            let parent = parent_of(entry).map(|parent| parent.id.clone());
            let rank = ranks.next(parent.as_ref(), entry);
            frames.push(taken.frame(entry, id.clone(), parent, rank));
        }
        let sessions = self.renamed_sessions(&named);
        Ok(Reading {
            known: self.frames.len() - frames.len(),
            import: Import {
                source: self.source.clone(),
                foreign: Remembered::of(self).to_json(),
                focus: if self.sessions.is_some() {
                    focus_of_sessions(&sessions, &frames)
                } else {
                    self.focus_of_state(&named, &frames)
                },
                sessions: sessions
                    .iter()
                    .map(|session| (session.key.clone(), session.worktree.clone()))
                    .collect(),
                frames,
            },
            sessions,
        })
    }

    /// Finds out which frames are there already and gives the others their ids.
    fn name(&self, target: &mut Target<'_>) -> Result<Vec<Named>, ReadError> {
        let known: Vec<Option<FrameId>> = self
            .frames
            .iter()
            .map(|entry| entry.names().iter().find_map(|name| (target.known)(name)))
            .collect();
        let own_ids = self.frames.iter().filter_map(|entry| entry.own.as_ref());
        let mut used: BTreeSet<FrameId> = own_ids.map(|own| own.id.clone()).collect();
        used.extend(known.iter().flatten().cloned());
        let mut named = Vec::with_capacity(self.frames.len());
        for (entry, known) in self.frames.iter().zip(known) {
            named.push(match (known, &entry.own) {
                (Some(id), _) => Named { id, is_new: false },
                (None, Some(own)) => Named {
                    id: own.id.clone(),
                    is_new: true,
                },
                (None, None) => {
                    let mut draws = (0..ATTEMPTS).map(|_| (target.fresh)());
                    let id = draws.find(|id| used.insert(id.clone())).ok_or_else(|| {
                        let attempts = ATTEMPTS;
                        ReadError::file(&self.state, Problem::NoFreshId { attempts })
                    })?;
                    Named { id, is_new: true }
                }
            });
        }
        Ok(named)
    }

    fn new_ones<'a>(
        &'a self,
        named: &'a [Named],
    ) -> impl Iterator<Item = (&'a Entry, &'a FrameId)> {
        let new =
            |(entry, named): (&'a Entry, &'a Named)| named.is_new.then_some((entry, &named.id));
        self.frames.iter().zip(named).filter_map(new)
    }

    /// The sessions of our own export, with the ids that their frames have here.
    fn renamed_sessions(&self, named: &[Named]) -> Vec<Session> {
        let mut here: BTreeMap<&FrameId, &FrameId> = BTreeMap::new();
        for (entry, named) in self.frames.iter().zip(named) {
            if let Some(own) = &entry.own {
                here.insert(&own.id, &named.id);
            }
        }
        let renamed = |id: &Option<FrameId>| {
            let id = id.as_ref().and_then(|id| here.get(id));
            id.map(|id| FrameId::clone(id))
        };
        let sessions = self.sessions.iter().flatten();
        sessions
            .map(|session| Session {
                key: session.key.clone(),
                worktree: session.worktree.clone(),
                own: renamed(&session.own),
                active: renamed(&session.active),
                turn: None,
                reverted: None,
            })
            .collect()
    }

    /// The predecessors know one active frame. It belongs to the conversation at the root of its
    /// tree, if that is known, and if there is still work going on in it.
    fn focus_of_state(&self, named: &[Named], frames: &[Frame]) -> Vec<(SessionRef, FrameId)> {
        let active = self
            .frames
            .iter()
            .zip(named)
            .find(|(entry, named)| named.is_new && self.active.as_ref() == Some(&entry.key));
        let Some((_, Named { id, .. })) = active else {
            return Vec::new();
        };
        let by_id: BTreeMap<&FrameId, &Frame> =
            frames.iter().map(|frame| (&frame.id, frame)).collect();
        let mut root = by_id.get(id).copied();
        let in_progress = root.is_some_and(|frame| frame.status == Status::InProgress);
        while let Some(parent) = root.and_then(|frame| frame.parent.as_ref()) {
            root = by_id.get(parent).copied();
        }
        let session = root.and_then(|root| root.session.clone());
        let focus = session.filter(|_| in_progress);
        focus
            .into_iter()
            .map(|session| (session, id.clone()))
            .collect()
    }
}

/// A frame's name in the target, and whether it is brought in.
struct Named {
    id: FrameId,
    is_new: bool,
}

fn focus_of_sessions(sessions: &[Session], frames: &[Frame]) -> Vec<(SessionRef, FrameId)> {
    let at_work: BTreeSet<&FrameId> = frames
        .iter()
        .filter(|frame| frame.status == Status::InProgress)
        .map(|frame| &frame.id)
        .collect();
    let focus = |session: &Session| {
        let active = session.active.clone().filter(|id| at_work.contains(id))?;
        Some((session.key.clone(), active))
    };
    sessions.iter().filter_map(focus).collect()
}

/// Places among siblings.
#[derive(Default)]
struct Ranks {
    groups: BTreeMap<Option<FrameId>, Siblings>,
}

struct Siblings {
    /// Others are there already, so our own ranks would end up between theirs.
    joined: bool,
    last: Option<Rank>,
}

impl Ranks {
    fn prepare(&mut self, parent: Option<&Named>, entry: &Entry, target: &Target<'_>) {
        let group = self.groups.entry(parent.map(|parent| parent.id.clone()));
        let siblings = group.or_insert_with(|| {
            let is_new = parent.is_some_and(|parent| parent.is_new);
            let last = (!is_new).then(|| (target.last_rank)(parent.map(|parent| &parent.id)));
            let last = last.flatten();
            Siblings {
                joined: last.is_some(),
                last,
            }
        });
        if let Some(own) = &entry.own
            && !siblings.joined
        {
            siblings.last = siblings.last.max(Some(own.rank));
        }
    }

    fn next(&mut self, parent: Option<&FrameId>, entry: &Entry) -> Rank {
        let Some(siblings) = self.groups.get_mut(&parent.cloned()) else {
            return Rank::default();
        };
        match &entry.own {
            Some(own) if !siblings.joined => own.rank,
            _ => {
                let rank = Rank::after(siblings.last);
                siblings.last = Some(rank);
                rank
            }
        }
    }
}

/// Names that frames of this import have taken. A file that a predecessor went on with after our
/// export can claim one twice; the first one has it.
#[derive(Default)]
struct Taken {
    sessions: BTreeSet<SessionRef>,
    aliases: BTreeSet<String>,
}

impl Taken {
    fn frame(&mut self, entry: &Entry, id: FrameId, parent: Option<FrameId>, rank: Rank) -> Frame {
        let (said, own) = (&entry.said, entry.own.as_ref());
        let session = entry.session();
        let session = session.filter(|session| self.sessions.insert(session.clone()));
        let mut aliases = entry.aliases();
        aliases.retain(|alias| is_name(alias) && self.aliases.insert(alias.clone()));
        let given = |dense: &Option<Prose>, full: &Option<Prose>, derived: bool| {
            let derived = derived && *dense == full.as_ref().and_then(derive);
            dense.clone().filter(|_| !derived)
        };
        Frame {
            id,
            parent,
            rank,
            status: said.status,
            origin: own.map_or_else(Origin::default, |own| own.origin),
            title: said.title.clone(),
            criteria: said.criteria.clone(),
            criteria_compacted: given(
                &said.criteria_compacted,
                &said.criteria,
                own.is_some_and(|own| own.criteria_derived),
            ),
            results: said.results.clone(),
            results_compacted: given(
                &said.results_compacted,
                &said.results,
                own.is_some_and(|own| own.results_derived),
            ),
            summary: None,
            awaiting: None,
            notes: match own {
                Some(own) => notes::with_additions(&own.notes, &said.artifacts, &said.decisions),
                None => notes::from_lists(&said.artifacts, &said.decisions),
            },
            log: own.map_or_else(Vec::new, |own| own.log.clone()),
            blocked_on: own.and_then(|own| own.blocked_on.clone()),
            invalidation: said.invalidation.clone(),
            span: own.and_then(|own| own.span.clone()),
            session,
            aliases,
            foreign: entry.foreign(),
            created_at: said.created_at,
            updated_at: said.updated_at,
            changed: Seq::default(),
            closed: None,
        }
    }
}

/// The dense text that an export puts where none was given.
pub(super) fn derive(full: &Prose) -> Option<Prose> {
    Prose::new(&full.compacted()).ok()
}

impl Entry {
    /// Every name under which this frame may be known already.
    fn names(&self) -> Vec<String> {
        let mut names = vec![self.key.clone()];
        names.extend(self.own.as_ref().map(|own| own.id.to_string()));
        names.extend(self.aliases());
        names.extend(self.session().map(|session| session.to_string()));
        names
    }

    fn aliases(&self) -> Vec<String> {
        let Some(own) = &self.own else {
            return [Some(&self.key), self.former.as_ref()]
                .into_iter()
                .flatten()
                .cloned()
                .collect();
        };
        let mut aliases = own.aliases.clone();
        if self.key != own.key {
            aliases.push(self.key.clone());
        }
        aliases
    }

    /// The session that is this frame: every name is one of a session, unless it is of a plan.
    fn session(&self) -> Option<SessionRef> {
        let by_name = || {
            let is_planned = self.key.starts_with(PLANNED);
            let session = format!("{OPENCODE}:{}", self.key);
            session.parse().ok().filter(|_| !is_planned)
        };
        match &self.own {
            Some(own) if own.key == self.key || own.session.is_some() => own.session.clone(),
            _ => by_name(),
        }
    }

    fn foreign(&self) -> Option<String> {
        let object = || Value::Object(self.object.clone()).to_string();
        match self.own.as_ref().map(|own| &own.foreign) {
            None | Some(Foreign::Around) => Some(object()),
            Some(Foreign::Text(text)) => Some(text.clone()),
            Some(Foreign::None) => None,
        }
    }
}
