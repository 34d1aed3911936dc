//! Prompts of the user, and the turns of a session.

use super::recorder::{EntryRecorder, TITLE_LENGTH};
use super::results::{closed, derived_results, is_error, unanswered};
use super::spoken::{Spoken, spoken};
use super::topics::Track;
use super::words::{self, prose, title};
use flamestack_core::decide::{Beginning, DecideResult};
use flamestack_core::event::{Closing, Results};
use flamestack_core::frame::Origin;
use flamestack_core::id::Fingerprint;
use flamestack_core::session::Activity;
use flamestack_core::transcript::Speaker;
use flamestack_core::{DecideError, Decided, Event, FrameHead, Note, Status, Text, TreeQuery};

impl<N: TreeQuery + ?Sized> EntryRecorder<'_, '_, N> {
    pub(super) fn prompt(&mut self, speaker: Speaker, text: &str) -> DecideResult<(), N> {
        // Inside a subagent, the user's side holds its parent's words.
        let Some(spoken) = spoken(speaker, text).filter(|_| !self.inside) else {
            return Ok(());
        };
        let text = spoken.words.as_ref();
        let session = self.session();
        if self.is_untracked() {
            self.emit(Event::SessionPrompted {
                session,
                queued: None,
            });
            return Ok(());
        }
        let seen = self.decider.session.activity.clone();
        let has_parent = self.decider.session.is_started_by_another();
        let is_new = self.decider.own.is_none();
        if is_new && text.is_empty() {
            return Ok(());
        }
        let mut own = if is_new && has_parent {
            self.begin(Some(text), None)?
        } else {
            self.own(Some(text))?
        };
        // A subagent's prompts are its parent's words.
        if own.origin == Origin::Subagent && seen.prompts == 0 || has_parent {
            if !own.status.is_open() && !self.reopen(&session, &own)? {
                self.go_on_from(&own, text)?;
            }
            self.emit(Event::SessionPrompted {
                session,
                queued: None,
            });
            return Ok(());
        }
        if !is_new && !own.status.is_open() && self.decider.active.is_none() {
            own = self.go_on_from(&own, text)?;
        } else if !is_new {
            self.next_prompt(&own, &seen, &spoken)?;
        }
        if let Some(said) = prose(text, usize::MAX) {
            let active = self.decider.active.unwrap_or(own.id);
            self.note(&active, Note::Directive(said))?;
        }
        // A session that begins with an own command still has its first prompt before it.
        if !spoken.is_own_command || seen.prompts > 0 {
            let queued = self.queued(text)?;
            self.emit(Event::SessionPrompted { session, queued });
        }
        Ok(())
    }

    /// Gives a session that continues after the end of its frame another frame.
    fn go_on_from(&mut self, former: &FrameHead, text: &str) -> DecideResult<FrameHead, N> {
        let session = self.session();
        self.emit(Event::SessionUnbound {
            session,
            frame: former.id,
        });
        self.begin(Some(text), Some(former))
    }

    /// Ends the last prompt of a session that has a frame, and begins this one.
    fn next_prompt(
        &mut self,
        own: &FrameHead,
        seen: &Activity,
        spoken: &Spoken<'_>,
    ) -> DecideResult<(), N> {
        let text = spoken.words.as_ref();
        let works_on_own = self
            .decider
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
        let goes_on = match self.track {
            Track::Off => true,
            Track::Prompts => false,
            Track::Auto => !self.begins_topic,
        };
        if goes_on {
            return Ok(());
        }
        let open = self.open_prompt(&own.id)?;
        match open {
            Some(open) => self.end_turn(&open, seen)?,
            None if own.origin == Origin::Session && self.is_first_end(seen)? => {
                self.first_turn(own, seen)?;
            }
            None => {}
        }
        if let Some(title) = title(text, TITLE_LENGTH).filter(|_| !spoken.is_own_command) {
            self.derive(
                Some(&own.id),
                Beginning::Started,
                Origin::Prompt,
                &words::goal(title),
            )?;
        }
        Ok(())
    }

    /// Returns true if no prompt or topic of the session has ended before.
    fn is_first_end(&mut self, seen: &Activity) -> DecideResult<bool, N> {
        if self.track != Track::Auto {
            return Ok(seen.prompts == 1);
        }
        let mark = Fingerprint::of(&self.session(), "topic", "first");
        if self.recent.contains(&mark) || self.decider.tree.is_seen(mark)? {
            return Ok(false);
        }
        self.noticed.push(mark);
        Ok(true)
    }

    /// Names a session that was opened before the first prompt after that prompt.
    fn name(&mut self, own: &FrameHead, text: &str) {
        let unnamed = own.origin == Origin::Session && own.title == words::unnamed(&self.session());
        match title(text, TITLE_LENGTH) {
            Some(title) if unnamed => self.rename(own, title),
            _ => {}
        }
    }

    /// The turn that a prompt began ends: as completed, unless the user or an error stopped it.
    fn end_turn(&mut self, prompt: &FrameHead, seen: &Activity) -> DecideResult<(), N> {
        let (closing, results) = self.ending(seen);
        // Pushed work below it continues; then the prompt stays open above it.
        match self.decider.close(prompt, closing, &results) {
            Err(DecideError::Refused(_)) => Ok(()),
            other => other,
        }
    }

    /// Gives the first prompt a frame as it ends, now that there are several: until then, the
    /// session's own frame stood for it.
    fn first_turn(&mut self, own: &FrameHead, seen: &Activity) -> DecideResult<(), N> {
        let asked = self.opening_words(own, seen)?;
        let title = asked.and_then(|asked| title(asked.as_str(), TITLE_LENGTH));
        let title = title.unwrap_or_else(|| own.title.clone());
        let id = self.derive(
            Some(&own.id),
            Beginning::Started,
            Origin::Prompt,
            &words::goal(title),
        )?;
        let opened = self.decider.events.pop();
        let opening = Decided {
            events: opened.into_iter().collect(),
            remarks: Vec::new(),
        };
        let (closing, results) = self.ending(seen);
        self.emit(closed(id, closing, results));
        self.opening = Some((seen.opening.clone(), opening));
        Ok(())
    }

    /// Returns the user's words in the first prompt.
    fn opening_words(&self, own: &FrameHead, seen: &Activity) -> DecideResult<Option<Text>, N> {
        let Some(opening) = &seen.opening else {
            return Ok(None);
        };
        let session = self.session();
        let messages = [opening.clone()];
        let events = self.decider.tree.events_from_message(&session, &messages)?;
        Ok(events
            .into_iter()
            .find_map(|recorded| match recorded.event {
                Event::Noted {
                    frame,
                    note: Note::Directive(text),
                } if frame == own.id && recorded.message.as_ref() == Some(opening) => Some(text),
                _ => None,
            }))
    }

    /// Returns the end of the last turn: failed if the user or an error stopped it.
    fn ending(&self, seen: &Activity) -> (Closing, Results) {
        let said = self.last_words(seen);
        if said.is_none() && !seen.interrupted && self.turn.is_empty_answer() {
            return (Closing::Failed, unanswered());
        }
        let closing = if seen.interrupted || said.is_some_and(is_error) {
            Closing::Failed
        } else {
            Closing::Completed
        };
        (closing, derived_results(said, seen.interrupted))
    }

    fn last_words<'s>(&'s self, seen: &'s Activity) -> Option<&'s str> {
        let said = self.said.as_deref();
        said.or(seen.said.as_ref().map(Text::as_str))
    }

    /// Completes a past session whose record ends here.
    pub(super) fn settle(&mut self) -> DecideResult<(), N> {
        let seen = self.decider.session.activity.clone();
        let (Some(own), None) = (self.decider.own, &self.decider.active) else {
            return Ok(());
        };
        let own = self.decider.frame(&own)?;
        let spoken = self.last_words(&seen).is_some() && !self.turn.is_broken_off();
        let (closing, results) = self.ending(&seen);
        if own.status != Status::InProgress || closing == Closing::Failed || !spoken {
            return Ok(());
        }
        let (open, total) = self.decider.tree.open_children(&own.id, 2)?;
        match open.as_slice() {
            [] => {}
            [prompt] if total == 1 && prompt.origin == Origin::Prompt => {
                self.end_turn(prompt, &seen)?;
            }
            _ => return Ok(()),
        }
        self.decider.end(&own, closing, &results, Vec::new())
    }
}
