//! The user: messages to frames, answers to asks, pause and stop.

use flamestack_core::FrameId;

use super::{ANSWER_WITHIN, FrontInput, Halt, RunDriver};
use crate::error::RunError;
use crate::host::{Ask, AskKind, HostError, Reply};
use crate::inbox::Inbox;
use crate::policy::PermissionPolicy;
use crate::record::RunRecord;
use crate::report::RunEvent;

impl RunDriver<'_> {
    /// Takes what the user said.
    pub(super) fn read_user_input(&mut self) -> Result<(), RunError> {
        for input in self.front.inputs() {
            match input {
                FrontInput::Pause => self.memory.halt = self.memory.halt.max(Halt::Pause),
                FrontInput::Stop => self.memory.halt = Halt::Stop,
                FrontInput::Say { frame, text } => {
                    let id = format!("t{}-{}", self.now(), self.memory.state.heard.len());
                    self.accept(&id, frame.as_deref(), &text)?;
                }
                FrontInput::Answer { ask, reply } => {
                    if let Some((ask, _)) = self.memory.asked.remove(&ask) {
                        let answered = self.reply(&ask, &reply);
                        self.survive(answered)?;
                    }
                }
            }
        }
        let arrived = self.inbox.as_mut().map(Inbox::take);
        for spoken in arrived.unwrap_or_default() {
            if !self.memory.state.heard.contains(&spoken.id) {
                self.accept(&spoken.id, Some(&spoken.frame), &spoken.text)?;
            }
        }
        Ok(())
    }

    /// Accepts a message of the user to a frame, or to the one that runs.
    fn accept(&mut self, id: &str, frame: Option<&str>, text: &str) -> Result<(), RunError> {
        let tree = self.tree()?;
        let found: Option<FrameId> = if let Some(name) = frame {
            let mut fitting = tree
                .heads()
                .filter(|head| head.id.as_str().starts_with(name));
            let first = fitting.next().map(|head| head.id);
            first.filter(|_| fitting.next().is_none())
        } else {
            let running = self.memory.state.running().map(|(frame, ..)| *frame);
            running.last().or(self.memory.state.root)
        };
        let Some(frame) = found.filter(|frame| tree.is_wanted(frame)) else {
            let name = frame.unwrap_or_default();
            let note = format!("no open frame of this run is called `{name}`: nothing was sent");
            self.front.event(&RunEvent::Note(note));
            return Ok(());
        };
        let at = self.now();
        self.record(&RunRecord::Spoken {
            at,
            id: id.to_owned(),
            frame,
            text: text.to_owned(),
        })?;
        let title = tree.title(&frame);
        let note = format!("your message goes to {frame} {title}, at its next step");
        self.front.event(&RunEvent::Note(note));
        Ok(())
    }

    /// Answers permissions and questions by the policy, or shows them to the user until a deadline.
    pub(super) fn answer_asks(&mut self) -> Result<(), RunError> {
        let asks = self.host.asks()?;
        let open: Vec<String> = asks.iter().map(|ask| ask.id.clone()).collect();
        self.memory.asked.retain(|id, _| open.contains(id));
        for ask in asks {
            let ours = self.frame_of(&ask.session).is_some();
            if !ours || self.memory.answered.contains(&ask.id) {
                continue;
            }
            if let Some((_, deadline)) = self.memory.asked.get(&ask.id) {
                if self.now() >= *deadline {
                    self.memory.asked.remove(&ask.id);
                    self.reply(&ask, &PermissionPolicy::denial())?;
                }
                continue;
            }
            match self.policy.reply(&ask) {
                Some(reply) => self.reply(&ask, &reply)?,
                None if self.front.ask(&ask) => {
                    let deadline = self.now() + ANSWER_WITHIN;
                    self.memory.asked.insert(ask.id.clone(), (ask, deadline));
                }
                None => self.reply(&ask, &PermissionPolicy::denial())?,
            }
        }
        Ok(())
    }

    fn reply(&mut self, ask: &Ask, reply: &Reply) -> Result<(), RunError> {
        match self.host.answer(ask, reply) {
            // Another client has answered.
            Ok(()) | Err(HostError::Refused { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        self.memory.answered.insert(ask.id.clone());
        let what = match &ask.kind {
            AskKind::Permission {
                permission,
                patterns,
            } => format!("{permission}: {}", patterns.join(", ")),
            AskKind::Questions(questions) => {
                let texts: Vec<&str> = questions.iter().map(|(text, _)| text.as_str()).collect();
                texts.join(" ")
            }
        };
        let answer = match reply {
            Reply::Once => "allowed".to_owned(),
            Reply::Always => "allowed for the session".to_owned(),
            Reply::Reject(reason) => reason.clone(),
            Reply::Answers(answers) => answers.concat().join(", "),
        };
        self.front.event(&RunEvent::Asked {
            frame: self.frame_of(&ask.session),
            what,
            answer: Some(answer),
        });
        Ok(())
    }

    fn frame_of(&self, session: &str) -> Option<FrameId> {
        let mut frames = self.memory.state.frames.iter();
        let found = frames.find(|(_, run)| run.session.as_deref() == Some(session));
        found.map(|(frame, _)| *frame)
    }
}
