//! Hand-offs: the work of a frame continues in another session, worktree, machine or host.
//! `docs/architecture.md`, "Texts for a session that continues", compares this module with its relatives.
//!
//! A hand-off is a Markdown file. A few lines in a comment at its beginning say where it comes from; the
//! rest is for readers and may be edited freely: the first heading is the title of the work, a
//! paragraph that begins with `Done when:` its success criteria, everything else its state. Without the
//! comment, any Markdown text can be taken over. It informs and grants nothing.

use std::fmt::Write as _;

use flamestack_brief::workflow::Workflows;
use flamestack_core::id::Fingerprint;
use flamestack_core::session::link::LinkKind;
use flamestack_core::text::condense;
use flamestack_core::{Actor, Command, Frame, FrameId, SessionRef};

use crate::Engine;
use crate::brief::BriefRequest;
use crate::error::Result;
use crate::request::{EditInput, GoalInput, ParentInput, Request};

/// Beginning of the comment that says where a hand-off comes from.
const MARK: &str = "<!-- flamestack hand-off";
/// Beginning of the paragraph with the success criteria.
const CRITERIA: &str = "Done when:";
/// Maximum length of a title that is made from a heading, in characters.
const TITLE_LENGTH: usize = 120;
/// Maximum length of the state that becomes part of a frame, in bytes.
const STATE_LIMIT: usize = 64 * 1024;

/// The work of a frame, as it is handed off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandOff {
    /// The session that worked on it.
    pub from: Option<SessionRef>,
    /// Its frame in the project of that session.
    pub frame: Option<FrameId>,
    /// Title of the work.
    pub title: String,
    /// Its success criteria.
    pub criteria: Option<String>,
    /// State of the work.
    pub state: String,
    /// Fingerprint of the state as it was described, before anyone edited it.
    pub described: Option<Fingerprint>,
}

/// Work that was taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenOver {
    /// The frame in which it continues.
    pub frame: FrameId,
    /// True if the frame was opened for it; false if it is the one that was handed off.
    pub is_new: bool,
    /// True if both sessions are linked: the other one is known in this project.
    pub is_linked: bool,
}

impl HandOff {
    /// Reads a hand-off, edited or not; `None` if the text has no title.
    pub fn parse(text: &str) -> Option<Self> {
        let mut hand_off = Self::default();
        let mut rest = text.trim_start_matches('\u{feff}').trim_start();
        if let Some((comment, after)) = rest
            .strip_prefix(MARK)
            .and_then(|comment| comment.split_once("-->"))
        {
            for line in comment.lines() {
                match line.split_once(':') {
                    Some(("from", value)) => hand_off.from = value.trim().parse().ok(),
                    Some(("frame", value)) => hand_off.frame = value.trim().parse().ok(),
                    Some(("state", value)) => {
                        let number = u64::from_str_radix(value.trim(), 16).ok();
                        hand_off.described = number.map(Fingerprint);
                    }
                    _ => {}
                }
            }
            rest = after;
        }
        let mut lines = rest.lines().skip_while(|line| line.trim().is_empty());
        let heading = lines.next()?.trim().trim_start_matches('#').trim();
        hand_off.title = condense(heading, TITLE_LENGTH);
        if hand_off.title.is_empty() {
            return None;
        }
        let rest: Vec<&str> = lines.collect();
        let rest = rest.join("\n");
        let rest = rest.trim();
        let (criteria, state) = match rest.strip_prefix(CRITERIA) {
            Some(after) => match after.split_once("\n\n") {
                Some((criteria, state)) => (Some(criteria), state),
                None => (Some(after), ""),
            },
            None => (None, rest),
        };
        let criteria = criteria.map(str::trim).filter(|text| !text.is_empty());
        hand_off.criteria = criteria.map(str::to_owned);
        state.trim().clone_into(&mut hand_off.state);
        Some(hand_off)
    }

    /// Writes the hand-off as Markdown.
    pub fn to_markdown(&self) -> String {
        let mut text = format!("{MARK} 1\n");
        // Writing into a string cannot fail.
        if let Some(from) = &self.from {
            let _ = writeln!(text, "from: {from}");
        }
        if let Some(frame) = &self.frame {
            let _ = writeln!(text, "frame: {frame}");
        }
        if let Some(described) = &self.described {
            let _ = writeln!(text, "state: {:016x}", described.0);
        }
        let _ = writeln!(text, "-->\n# {}\n", self.title.replace('\n', " "));
        if let Some(criteria) = &self.criteria {
            let _ = writeln!(text, "{CRITERIA} {}\n", one_paragraph(criteria));
        }
        text.push_str(self.state.trim());
        text.push('\n');
        text
    }

    /// Returns true if the state is not the one that was described.
    fn is_edited(&self) -> bool {
        self.described.is_some() && self.described != self.fingerprint()
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        let from = self.from.as_ref()?;
        Some(Fingerprint::of(from, "hand-off", self.state.trim()))
    }

    /// Returns the success criteria of a frame that begins with this state.
    fn criteria_with_state(&self, criteria: &str) -> String {
        let state = self.state.as_str();
        let end = state.floor_char_boundary(STATE_LIMIT);
        let from = self.from.as_ref();
        let from = from.map_or(String::new(), |from| format!(" by {from}"));
        match state.get(..end).unwrap_or(state) {
            "" => criteria.to_owned(),
            state => format!("{criteria}\n\nState when it was handed off{from}:\n{state}"),
        }
    }
}

/// Returns a text without the empty lines that would end its paragraph.
fn one_paragraph(text: &str) -> String {
    text.replace("\n\n", "\n").trim().to_owned()
}

impl Engine {
    /// Describes the work of a session for a hand-off, in at most `budget` tokens, without secrets;
    /// `None` if the session works on nothing.
    pub fn hand_off(
        &self,
        session: &SessionRef,
        workflows: &Workflows,
        budget: usize,
    ) -> Result<Option<HandOff>> {
        let frame = self.read(|reading| {
            let frame = reading.session(session)?.and_then(|known| known.frame());
            Ok(match frame {
                Some(frame) => reading.whole_frame(&frame)?,
                None => None,
            })
        })?;
        let Some(frame) = frame else {
            return Ok(None);
        };
        let request = BriefRequest {
            session: Some(session.clone()),
            budget,
            ..BriefRequest::default()
        };
        let brief = self.brief(&request, workflows)?;
        let mut state = brief.text;
        if let Some(open) = self.resumption(session)? {
            state = format!("{}{state}", open.for_hand_off());
        }
        let mut hand_off = self.goal_of(&frame);
        hand_off.from = Some(session.clone());
        hand_off.frame = Some(frame.id);
        hand_off.state = self.redactor().redact(&state).into_owned();
        hand_off.described = hand_off.fingerprint();
        Ok(Some(hand_off))
    }

    /// Describes the goal of a frame, without secrets.
    fn goal_of(&self, frame: &Frame) -> HandOff {
        let clean = |text: &str| self.redactor().redact(text).into_owned();
        HandOff {
            title: clean(frame.title.as_str()),
            criteria: frame.criteria.as_ref().map(|text| clean(text.as_str())),
            ..HandOff::default()
        }
    }

    /// Takes over work in the acting session: goes on with the frame if it is one of this project, else
    /// opens one for it. A session of this project is linked to the one that takes over. Texts that were
    /// edited on the way become those of the frame.
    pub fn take_over(&self, actor: &Actor, hand_off: &HandOff) -> Result<TakenOver> {
        let known = self.read(|reading| {
            let frame = match &hand_off.frame {
                Some(frame) => reading.frame(frame)?.filter(|frame| frame.status.is_open()),
                None => None,
            };
            let from = match &hand_off.from {
                Some(from) => reading.session(from)?.map(|known| known.key),
                None => None,
            };
            Ok((frame, from))
        })?;
        let (frame, from) = known;
        let (frame, is_new) = match frame {
            Some(frame) => {
                let activate = Request::Activate(frame.id.to_string());
                self.commands().execute(actor, &activate)?;
                self.edit_for(actor, &frame.id, hand_off)?;
                (frame.id, false)
            }
            None => (self.open_for(actor, hand_off)?, true),
        };
        let from = from.filter(|from| *from != actor.session);
        if let Some(from) = &from {
            let link = Command::LinkSession {
                session: from.clone(),
                kind: LinkKind::HandOff,
                to: Some(actor.session.clone()),
                removed: false,
            };
            self.commands().run(actor, &link)?;
        }
        Ok(TakenOver {
            frame,
            is_new,
            is_linked: from.is_some(),
        })
    }

    /// Gives a frame the texts that were edited on the way.
    fn edit_for(&self, actor: &Actor, frame: &FrameId, hand_off: &HandOff) -> Result<()> {
        let Some(whole) = self.read(|reading| Ok(reading.whole_frame(frame)?))? else {
            return Ok(());
        };
        let known = HandOff::parse(&self.goal_of(&whole).to_markdown()).unwrap_or_default();
        let criteria = hand_off.criteria.as_deref().unwrap_or(&hand_off.title);
        let has_new_criteria = hand_off.criteria.is_some() && hand_off.criteria != known.criteria;
        let edit = EditInput {
            title: (hand_off.title != known.title).then(|| hand_off.title.clone()),
            criteria: (has_new_criteria || hand_off.is_edited()).then(|| {
                if hand_off.is_edited() {
                    hand_off.criteria_with_state(criteria)
                } else {
                    criteria.to_owned()
                }
            }),
            criteria_compacted: has_new_criteria.then(|| condense(criteria, 200)),
            ..EditInput::default()
        };
        if edit.title.is_none() && edit.criteria.is_none() {
            return Ok(());
        }
        let frame = Some(frame.to_string());
        self.commands()
            .execute(actor, &Request::Edit { frame, edit })?;
        Ok(())
    }

    /// Opens a frame for work that was handed off elsewhere.
    fn open_for(&self, actor: &Actor, hand_off: &HandOff) -> Result<FrameId> {
        let criteria = hand_off.criteria.as_deref().unwrap_or(&hand_off.title);
        let request = Request::Push {
            parent: ParentInput::Active,
            goal: GoalInput {
                title: hand_off.title.clone(),
                criteria: Some(hand_off.criteria_with_state(criteria)),
                criteria_compacted: Some(condense(criteria, 200)),
            },
        };
        let receipt = self.commands().execute(actor, &request)?;
        let opened = receipt.opened().copied();
        let active = || self.session(&actor.session).ok()??.active;
        // A push always opens a frame.
        opened
            .or_else(active)
            .ok_or_else(|| crate::EngineError::BadArguments {
                tool: "stack_session_migrate".to_owned(),
                problem: "no frame was opened".to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> HandOff {
        HandOff {
            from: Some("opencode:ses_1".parse().unwrap()),
            frame: Some("k3f9x2mq".parse().unwrap()),
            title: "Parse tokens".to_owned(),
            criteria: Some("cargo test passes\nand the docs say so".to_owned()),
            state: "## State\n\n- src/lex.rs is half done".to_owned(),
            described: Some(Fingerprint(0x2a)),
        }
    }

    #[test]
    fn a_hand_off_is_read_as_it_was_written() {
        assert_eq!(HandOff::parse(&example().to_markdown()), Some(example()));
        let bare = HandOff {
            title: "Only a title".to_owned(),
            ..HandOff::default()
        };
        assert_eq!(HandOff::parse(&bare.to_markdown()), Some(bare));
    }

    #[test]
    fn an_edited_or_foreign_text_is_one_too() {
        let read =
            HandOff::parse("\u{feff}\n# Fix the *build*\r\n\r\nIt fails on main.\n").unwrap();
        assert_eq!(read.title, "Fix the *build*");
        assert_eq!((read.from, read.criteria), (None, None));
        assert_eq!(read.state, "It fails on main.");
        assert_eq!(HandOff::parse(" \n\n"), None);
        assert_eq!(HandOff::parse("<!-- flamestack hand-off 1 -->"), None);
    }
}
