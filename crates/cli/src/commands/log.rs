//! `flame log`

use clap::Args;
use flamestack_core::frame::Status;
use flamestack_engine::views::icon;
use flamestack_engine::{EngineError, json};
use serde_json::{Value, json};

use crate::command_context::CommandContext;
use crate::complete;
use crate::failure::Failure;
use crate::output::{DIM, ID, Output, colour, painted};

/// Print a frame's log as Markdown, or list the frames that have one
///
/// `flame log ID` prints a frame's goal, timeline, decisions, results and children.
/// `flame log ID#2` prints the second piece of raw text stored with it, `ID#log2` for `flame recall`.
#[derive(Args)]
pub(crate) struct Log {
    /// The frame, or a piece of its raw text
    #[arg(value_name = "FRAME[#N]", add = complete::frames())]
    frame: Option<String>,
    /// Print only the path of the log file
    #[arg(long, requires = "frame")]
    path: bool,
}

impl Log {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let Some(name) = &self.frame else {
            return list(ctx, output);
        };
        if let Some((name, number)) = name.rsplit_once('#') {
            let id = ctx.engine.frame_named(name)?;
            // `flame recall` names raw text this way, where a bare number is an entry of the session.
            let number = number.strip_prefix("log").unwrap_or(number);
            let Ok(number) = number.parse() else {
                return Err(Failure::usage(
                    format!("`{number}` is not the number of a raw text"),
                    &format!("`flame log {id}` lists what it has: {id}#1 is the first"),
                ));
            };
            let text = ctx.engine.logs().raw_text(&id, number)?;
            if output.is_json() {
                return output
                    .data(&json!({ "frame": id.as_str(), "number": number, "text": text }));
            }
            return output.raw(&text);
        }
        // A deleted frame still has a history.
        let id = match ctx.engine.frame_named(name) {
            Err(EngineError::GoneFrame(id)) => id,
            other => other?,
        };
        // The file and what programs read are in UTC.
        let now = (!output.is_json()).then(|| output.canvas().now).flatten();
        let (text, path) = ctx.engine.logs().render(&id, now.as_ref())?;
        match (self.path, output.is_json()) {
            (true, false) => output.raw(&format!("{}\n", path.display())),
            (_, true) => output.data(&json!({
                "frame": id.as_str(),
                "logPath": path.display().to_string(),
                "markdown": text,
            })),
            (false, false) => output.text(&text),
        }
    }
}

/// Lists finished frames, whose logs are complete, newest last.
fn list(ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
    let mut rows = Vec::new();
    ctx.engine.read(|reading| {
        reading.all_rows(&mut |row| {
            if matches!(row.frame.status, Status::Completed | Status::Failed) {
                rows.push(row);
            }
            Ok(())
        })?;
        Ok(())
    })?;
    rows.sort_by_key(|row| row.frame.closed);
    if output.is_json() {
        return output.data(&Value::Array(rows.iter().map(json::row).collect()));
    }
    if rows.is_empty() {
        return output
            .line("No frame is finished yet; `flame log ID` shows any frame's log so far.");
    }
    let canvas = output.canvas();
    for row in &rows {
        let frame = &row.frame;
        let claimed = if row.standing().is_claimed {
            " · claimed"
        } else {
            ""
        };
        output.line(format!(
            "{} {}  {}  {}",
            painted(colour(frame.status), icon(frame.status)),
            painted(ID, frame.id),
            painted(DIM, canvas.time(frame.updated_at)),
            canvas.title(frame.title.as_str(), 36) + claimed
        ))?;
    }
    Ok(())
}
