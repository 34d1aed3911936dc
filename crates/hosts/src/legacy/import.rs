//! Converting a stack that was read to the command that imports it.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::command::Import;
use flamestack_core::frame::Rank;
use flamestack_core::id::SessionRef;
use flamestack_core::{Frame, FrameId, Session, Status};
use serde_json::Value;

use super::error::{FileProblem, LegacyReadError};
use super::export::ImportedState;
use super::export_tree::{OPENCODE, is_valid_name};
use super::extension::Original;
use super::read::{FrameEntry, LegacyStack};
use super::schema::{PLANNED, SessionField};

/// Maximum number of draws of a new id. With working randomness, two draws are rare.
const ATTEMPTS: usize = 100;

/// Access to the tree that frames are imported into.
pub struct ImportTarget<'a> {
    /// Draws an id that no frame has or ever had.
    pub fresh: &'a mut dyn FnMut() -> FrameId,
    /// Returns the frame that has exactly this id or former id, or is bound to exactly this session
    /// (`host:id`). Prefixes must not match: a known frame is not imported again.
    pub known: &'a dyn Fn(&str) -> Option<FrameId>,
    /// Returns the rank of the last child of a frame, or of the last root.
    pub last_rank: &'a dyn Fn(Option<&FrameId>) -> Option<Rank>,
}

/// An import that fits its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedImport {
    /// The command.
    pub import: Import,
    /// The sessions of one of our own exports, as they were exported.
    pub sessions: Vec<Session>,
    /// Number of frames that exist in the target already.
    pub known: usize,
}

/// A frame's id in the target.
struct TargetId {
    id: FrameId,
    /// True if the frame does not exist yet.
    is_new: bool,
}

impl LegacyStack {
    /// Prepares the import of all frames that the target does not know.
    pub fn import(&self, target: &mut ImportTarget<'_>) -> Result<PreparedImport, LegacyReadError> {
        let ids = self.assign_ids(target)?;
        let mut ranks = Ranks::default();
        // A predecessor that changed our export can make two frames claim the same name; the first
        // one gets it.
        let mut used_sessions: BTreeSet<SessionRef> = BTreeSet::new();
        let mut used_aliases: BTreeSet<String> = BTreeSet::new();
        let mut frames = Vec::new();
        let new_entries = self.frames.iter().zip(&ids).filter(|(_, id)| id.is_new);
        for (entry, TargetId { id, .. }) in new_entries {
            let parent = entry.parent.and_then(|parent| ids.get(parent));
            let session = entry.session();
            let mut aliases = entry.aliases();
            aliases.retain(|alias| is_valid_name(alias) && used_aliases.insert(alias.clone()));
            frames.push(Frame {
                id: *id,
                parent: parent.map(|parent| parent.id),
                rank: ranks.next(parent, entry, target),
                session: session.filter(|session| used_sessions.insert(session.clone())),
                aliases,
                foreign: entry.foreign(),
                ..entry.frame.clone()
            });
        }
        let sessions = self.target_sessions(&ids);
        Ok(PreparedImport {
            known: self.frames.len() - frames.len(),
            import: Import {
                source: self.source.clone(),
                foreign: ImportedState::of(self).to_json(),
                focus: if self.sessions.is_some() {
                    focus_of_sessions(&sessions, &frames)
                } else {
                    Vec::from_iter(self.focus_of_state(&ids, &frames))
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

    /// Finds the frames that exist already and gives the others their ids.
    fn assign_ids(&self, target: &mut ImportTarget<'_>) -> Result<Vec<TargetId>, LegacyReadError> {
        let known: Vec<Option<FrameId>> = self
            .frames
            .iter()
            .map(|entry| entry.names().iter().find_map(|name| (target.known)(name)))
            .collect();
        let exported = self.frames.iter().filter_map(FrameEntry::exported_id);
        let mut used: BTreeSet<FrameId> = exported.collect();
        used.extend(known.iter().flatten().copied());
        let mut new_id = || {
            let mut draws = (0..ATTEMPTS).map(|_| (target.fresh)());
            draws.find(|id| used.insert(*id)).ok_or_else(|| {
                let message = format!("no unused frame id was drawn in {ATTEMPTS} attempts");
                LegacyReadError::file(&self.state, FileProblem::new(message, "try again"))
            })
        };
        let assign = |(entry, known): (&FrameEntry, Option<FrameId>)| {
            Ok(TargetId {
                is_new: known.is_none(),
                id: match known.or_else(|| entry.exported_id()) {
                    Some(id) => id,
                    None => new_id()?,
                },
            })
        };
        self.frames.iter().zip(known).map(assign).collect()
    }

    /// Returns the sessions of our own export, with the ids that their frames have in the target.
    fn target_sessions(&self, ids: &[TargetId]) -> Vec<Session> {
        let pairs = self.frames.iter().zip(ids);
        let pairs = pairs.filter_map(|(entry, target)| Some((entry.exported_id()?, target.id)));
        let ids_in_target: BTreeMap<FrameId, FrameId> = pairs.collect();
        let translate = |id: Option<FrameId>| ids_in_target.get(&id?).copied();
        let sessions = self.sessions.iter().flatten();
        sessions
            .map(|session| Session {
                worktree: session.worktree.clone(),
                own: translate(session.own),
                active: translate(session.active),
                ..Session::new(session.key.clone())
            })
            .collect()
    }

    /// Returns the session that works on the one active frame of a predecessor's state.
    ///
    /// It is the session at the root of the frame's tree, else the frame's own, provided that one is
    /// known and the frame is in progress.
    fn focus_of_state(&self, ids: &[TargetId], frames: &[Frame]) -> Option<(SessionRef, FrameId)> {
        let mut entries = self.frames.iter().zip(ids);
        let (_, TargetId { id, is_new: true }) =
            entries.find(|(entry, _)| self.active.as_ref() == Some(&entry.key))?
        else {
            return None;
        };
        let by_id: BTreeMap<&FrameId, &Frame> =
            frames.iter().map(|frame| (&frame.id, frame)).collect();
        let active = by_id.get(id)?;
        let mut root = Some(active);
        while let Some(parent) = root.and_then(|frame| frame.parent.as_ref()) {
            root = by_id.get(parent);
        }
        let session = root?.session.as_ref().or(active.session.as_ref())?.clone();
        (active.status == Status::InProgress).then_some((session, *id))
    }
}

fn focus_of_sessions(sessions: &[Session], frames: &[Frame]) -> Vec<(SessionRef, FrameId)> {
    let in_progress = |frame: &&Frame| frame.status == Status::InProgress;
    let in_progress = frames.iter().filter(in_progress).map(|frame| frame.id);
    let in_progress: BTreeSet<FrameId> = in_progress.collect();
    let focus = |session: &Session| {
        let active = session.active.filter(|id| in_progress.contains(id))?;
        Some((session.key.clone(), active))
    };
    sessions.iter().filter_map(focus).collect()
}

/// Ranks of new frames, by parent.
#[derive(Default)]
struct Ranks {
    groups: BTreeMap<Option<FrameId>, Siblings>,
}

struct Siblings {
    /// True if the parent has children in the target. Exported ranks would then interleave with
    /// theirs, so new ranks are given.
    has_existing: bool,
    last: Option<Rank>,
}

impl Ranks {
    /// Returns the rank of the next frame below a parent. Those with an exported rank come first.
    fn next(
        &mut self,
        parent: Option<&TargetId>,
        entry: &FrameEntry,
        target: &ImportTarget<'_>,
    ) -> Rank {
        let group = self.groups.entry(parent.map(|parent| parent.id));
        let siblings = group.or_insert_with(|| {
            let is_new = parent.is_some_and(|parent| parent.is_new);
            let last = (!is_new).then(|| (target.last_rank)(parent.map(|parent| &parent.id)));
            let last = last.flatten();
            Siblings {
                has_existing: last.is_some(),
                last,
            }
        });
        let exported = entry.extension.as_ref();
        let rank = match exported.filter(|_| !siblings.has_existing) {
            Some(exported) => Rank(exported.rank),
            None => Rank::after(siblings.last),
        };
        siblings.last = siblings.last.max(Some(rank));
        rank
    }
}

impl FrameEntry {
    /// Returns the id under which Flamestack exported the frame.
    fn exported_id(&self) -> Option<FrameId> {
        self.extension.as_ref().map(|extension| extension.id.0)
    }

    /// Returns every name under which the target may know this frame.
    fn names(&self) -> Vec<String> {
        let mut names = vec![self.key.clone()];
        names.extend(self.exported_id().map(|id| id.to_string()));
        names.extend(self.aliases());
        names.extend(self.session().map(|session| session.to_string()));
        names
    }

    fn aliases(&self) -> Vec<String> {
        let Some(extension) = &self.extension else {
            let names = [Some(&self.key), self.former_key.as_ref()];
            return names.into_iter().flatten().cloned().collect();
        };
        let mut aliases = extension.aliases.clone();
        if self.key != extension.key {
            aliases.push(self.key.clone());
        }
        aliases
    }

    /// Returns the session that the frame is bound to. In the predecessors' files, every name that
    /// is not of a planned frame is the id of an OpenCode session, unless a field names the session.
    fn session(&self) -> Option<SessionRef> {
        if let Some(extension) = &self.extension
            && (extension.key == self.key || extension.session.is_some())
        {
            return extension.session.clone().map(|session| session.0);
        }
        let id = match &self.session {
            SessionField::Present(session) => session.as_ref()?,
            SessionField::Missing if self.key.starts_with(PLANNED) => return None,
            SessionField::Missing => &self.key,
        };
        format!("{OPENCODE}:{id}").parse().ok()
    }

    /// Returns the object that the frame was first imported from, as text.
    fn foreign(&self) -> Option<String> {
        match self.extension.as_ref().map(|extension| &extension.foreign) {
            None | Some(Some(Original::Enclosing(true))) => {
                Some(Value::Object(self.object.clone()).to_string())
            }
            Some(Some(Original::Text(text))) => Some(text.clone()),
            Some(Some(Original::Enclosing(false)) | None) => None,
        }
    }
}
