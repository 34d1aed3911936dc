//! What subagents were started for, in the journal's format.

use flamestack_core::id::{Mark, SessionRef};
use flamestack_core::subagent::Start;
use flamestack_core::text::Title;

use super::{StartRecord, session};

impl From<&Start> for StartRecord {
    fn from(start: &Start) -> Self {
        Self {
            session: start.session.to_string(),
            parent: start.parent.as_ref().map(SessionRef::to_string),
            goal: start.goal.as_str().to_owned(),
            agent: start.kind.as_ref().map(|kind| kind.as_str().to_owned()),
            task: start.task.map(|Mark(task)| format!("{task:016x}")),
        }
    }
}

impl TryFrom<StartRecord> for Start {
    type Error = String;

    fn try_from(record: StartRecord) -> Result<Self, String> {
        let task = |digits: String| {
            let task = u64::from_str_radix(&digits, 16).map(Mark);
            task.map_err(|_| format!("`{digits}` is not a mark"))
        };
        Ok(Self {
            session: session(&record.session)?,
            parent: record.parent.as_deref().map(session).transpose()?,
            goal: Title::recorded(record.goal),
            kind: record.agent.map(Title::recorded),
            task: record.task.map(task).transpose()?,
        })
    }
}
