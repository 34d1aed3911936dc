//! What a person says, and the turns of a conversation.

use super::results::{completed, derived_results};
use super::words::{self, prose, title};
use super::{Ruling, Scene, TITLE_LENGTH};
use crate::Rejected;
use crate::decide::Decision;
use crate::event::{Closing, Edit, Event};
use crate::frame::{FrameHead, Origin, Status};
use crate::neighbourhood::Neighbourhood;
use crate::note::Note;
use crate::session::Conversation;
use crate::transcript::Voice;

/// Slash commands that steer a host and ask nothing of the model.
const STEERING: [&str; 34] = [
    "agents",
    "approvals",
    "bug",
    "clear",
    "compact",
    "compress",
    "config",
    "context",
    "copy",
    "cost",
    "doctor",
    "effort",
    "exit",
    "export",
    "fast",
    "help",
    "hooks",
    "login",
    "logout",
    "mcp",
    "memory",
    "model",
    "models",
    "new",
    "permissions",
    "plugin",
    "quit",
    "resume",
    "rewind",
    "stats",
    "status",
    "theme",
    "undo",
    "usage",
];

impl<N: Neighbourhood + ?Sized> Scene<'_, '_, N> {
    pub(super) fn prompt(&mut self, voice: Voice, text: &str) -> Ruling<(), N> {
        // What stands inside a subagent on the user's side are its parent's words.
        if self.inside || !is_request(voice, text) {
            return Ok(());
        }
        let session = self.session();
        if self.is_untracked() {
            self.tell(Event::SessionPrompted { session });
            return Ok(());
        }
        let tree = self.ground.tree;
        let seen = tree.conversation(&session).map_err(Rejected::Unreadable)?;
        let is_new = self.ground.own.is_none();
        let mut own = if is_new && self.has_parent()? {
            self.begin(Some(text), None)?
        } else {
            self.own(Some(text))?
        };
        // The words in a subagent's session are its parent's, whatever it was started for.
        if own.origin == Origin::Subagent && seen.prompts == 0 || self.has_parent()? {
            if !own.status.is_open() && !self.reopen(&session, &own)? {
                self.go_on_from(&own, text)?;
            }
            self.tell(Event::SessionPrompted { session });
            return Ok(());
        }
        if !is_new && !own.status.is_open() && self.ground.active.is_none() {
            own = self.go_on_from(&own, text)?;
        } else if !is_new {
            self.next_prompt(&own, &seen, text)?;
        }
        if let Some(said) = prose(text, usize::MAX) {
            let active = self.ground.active.clone().unwrap_or(own.id);
            self.note(&active, Note::Directive(said))?;
        }
        self.tell(Event::SessionPrompted { session });
        Ok(())
    }

    /// The session's frame had ended, and the session goes on: it has another frame from now on.
    fn go_on_from(&mut self, former: &FrameHead, text: &str) -> Ruling<FrameHead, N> {
        let session = self.session();
        self.tell(Event::SessionUnbound {
            session,
            frame: former.id.clone(),
        });
        self.begin(Some(text), Some(former))
    }

    /// Another prompt in a session that has a frame: the last one ends, this one begins.
    fn next_prompt(&mut self, own: &FrameHead, seen: &Conversation, text: &str) -> Ruling<(), N> {
        let works_on_own = self
            .ground
            .active
            .as_ref()
            .is_none_or(|active| *active == own.id);
        if !works_on_own || own.status != Status::InProgress {
            return Ok(());
        }
        if seen.prompts == 0 {
            self.name(own, text);
            return Ok(());
        }
        let open = self.ground.open_prompt(&own.id)?;
        match open {
            Some(open) => self.end_turn(&open, seen)?,
            None if seen.prompts == 1 && own.origin == Origin::Session => {
                self.first_turn(own, seen)?;
            }
            None => {}
        }
        if let Some(title) = title(text, TITLE_LENGTH) {
            self.derive(Some(&own.id), false, Origin::Prompt, &words::goal(title))?;
        }
        Ok(())
    }

    /// A session that was opened before anybody had spoken is named after the first prompt.
    fn name(&mut self, own: &FrameHead, text: &str) {
        let unnamed = own.origin == Origin::Session && own.title == words::unnamed(&self.session());
        match title(text, TITLE_LENGTH) {
            Some(title) if unnamed => self.tell(Event::FrameEdited {
                frame: own.id.clone(),
                edit: Edit {
                    title: Some(title),
                    ..Edit::default()
                },
            }),
            _ => {}
        }
    }

    /// The turn that a prompt began ends: as completed, unless the user stopped it.
    fn end_turn(&mut self, prompt: &FrameHead, seen: &Conversation) -> Ruling<(), N> {
        let results = self.results(seen);
        let closing = if seen.interrupted {
            Closing::Failed
        } else {
            Closing::Completed
        };
        // Somebody may have put work below it, which goes on; then it stays open above it.
        match self.ground.close(prompt, closing, &results) {
            Err(Rejected::Refused(_)) => Ok(()),
            other => other,
        }
    }

    /// The first prompt had no frame of its own; as one of several it gets one, with where it
    /// began, as it ends.
    fn first_turn(&mut self, own: &FrameHead, seen: &Conversation) -> Ruling<(), N> {
        let id = self.derive(
            Some(&own.id),
            false,
            Origin::Prompt,
            &words::goal(own.title.clone()),
        )?;
        let opened = self.ground.events.pop();
        let opening = Decision {
            events: opened.into_iter().collect(),
            remarks: Vec::new(),
        };
        let results = self.results(seen);
        self.tell(if seen.interrupted {
            Event::FrameClosed {
                frame: id,
                outcome: Closing::Failed,
                results,
                cascaded: Vec::new(),
            }
        } else {
            completed(id, results)
        });
        self.opening = Some((seen.opening.clone(), opening));
        Ok(())
    }

    fn results(&self, seen: &Conversation) -> crate::event::Results {
        let said = self.said.as_deref();
        let said = said.or(seen.said.as_ref().map(crate::Prose::as_str));
        derived_results(said, seen.interrupted)
    }

    /// The record of a past session ends here.
    pub(super) fn settle(&mut self) -> Ruling<(), N> {
        let session = self.session();
        let tree = self.ground.tree;
        let seen = tree.conversation(&session).map_err(Rejected::Unreadable)?;
        let (Some(own), None) = (self.ground.own.clone(), &self.ground.active) else {
            return Ok(());
        };
        let own = self.ground.frame(&own)?;
        let spoken = self.said.is_some() || seen.said.is_some();
        if own.status != Status::InProgress || seen.interrupted || !spoken {
            return Ok(());
        }
        let (open, total) = tree
            .open_children(&own.id, 2)
            .map_err(Rejected::Unreadable)?;
        match open.as_slice() {
            [] => {}
            [prompt] if total == 1 && prompt.origin == Origin::Prompt => {
                self.end_turn(prompt, &seen)?;
            }
            _ => return Ok(()),
        }
        let results = self.results(&seen);
        self.ground
            .end(&own, Closing::Completed, &results, Vec::new())
    }
}

/// Whether a person asks something of the model.
pub(super) fn is_request(voice: Voice, text: &str) -> bool {
    match voice {
        Voice::Host | Voice::Shell => false,
        Voice::Slash if is_steering(text) => false,
        Voice::Person | Voice::Slash => !text.trim().is_empty(),
    }
}

/// Whether a slash command only steers the host.
fn is_steering(text: &str) -> bool {
    let mut words = text.trim().trim_start_matches('/').split_whitespace();
    let command = words.next().unwrap_or_default();
    STEERING.binary_search(&command).is_ok()
}
