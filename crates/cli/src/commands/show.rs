//! `flame show`

use clap::Args;
use flamestack_core::Refusal;
use flamestack_engine::json::{self, FrameJson};
use flamestack_engine::{EngineError, views};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Show everything about a frame, with what its children returned
#[derive(Args)]
pub(crate) struct Show {
    /// Which frame (default: the active one)
    frame: Option<String>,
}

impl Show {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let id = match &self.frame {
            Some(name) => place.engine.frame_named(name)?,
            None => active(place)?,
        };
        let details = place
            .engine
            .read(|reading| views::details::gather(reading, &id))?;
        let (_, log) = place.engine.frame_log(&id)?;
        if output.is_json() {
            let frame = FrameJson::from(&details.frame);
            let mut value = serde_json::to_value(&frame).map_err(std::io::Error::from)?;
            if let Value::Object(fields) = &mut value {
                fields.insert(
                    "path".to_owned(),
                    details.path.iter().map(json::head).collect(),
                );
                fields.insert(
                    "children".to_owned(),
                    details.children.iter().map(json::row).collect(),
                );
                fields.insert("childTotals".to_owned(), json::totals(&details.totals));
                let history = details.compactions.as_ref();
                if let Some(history) = history.filter(|history| !history.is_empty()) {
                    let history = views::compactions::json(history);
                    fields.insert("compactions".to_owned(), history);
                }
                if let Some(hosted) = &details.hosted {
                    fields.insert("host".to_owned(), hosted.value());
                }
                fields.insert("activeIn".to_owned(), json!(details.sessions));
                fields.insert("logPath".to_owned(), json!(log.display().to_string()));
            }
            return output.data(&value);
        }
        output.text(&views::details::plain(&details))?;
        output.line(format!("\nLog\n  {}", log.display()))
    }
}

/// The frame that the session works on.
fn active(place: &Workplace) -> Result<flamestack_core::FrameId, Failure> {
    let session = &place.actor.session;
    let known = place.engine.read(|reading| Ok(reading.session(session)?))?;
    let active = known.and_then(|known| known.active.or(known.own));
    active.ok_or_else(|| {
        EngineError::from(Refusal::NoActiveFrame {
            session: session.clone(),
        })
        .into()
    })
}
