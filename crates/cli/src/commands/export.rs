//! `flame export`

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use clap::Args;
use flamestack_core::FrameId;
use flamestack_core::frame::{Frame, LogEntry, Status};
use flamestack_engine::views::{self, counted};
use flamestack_hosts::legacy::{OnExisting, export, write_export};
use flamestack_ui::otlp::{self, Destination, FinishedSpans, OtlpError};
use serde_json::json;

use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::Output;

/// Write all frames as files that other tools read, or send them to an observability tool
///
/// Writes DIR/.opencode/stack/state.json, frames/ and the logs of finished frames as Markdown.
/// Fields unknown to those tools go into a separate object and raw text into raw/, so that `flame
/// import` restores every frame.
#[derive(Args)]
#[command(override_usage = "flame export [--force] <DIR>\n       flame export --otlp [OPTIONS]")]
#[expect(clippy::struct_excessive_bools, reason = "each one is a flag")]
pub(crate) struct Export {
    /// The folder to write into
    #[arg(value_name = "DIR", required_unless_present = "otlp")]
    to: Option<PathBuf>,
    /// Replace existing files
    #[arg(long, conflicts_with = "otlp")]
    force: bool,
    /// Send finished frames, subagents and model calls as OTLP spans (JSON over HTTP) to the collector
    /// that `OTEL_EXPORTER_OTLP_ENDPOINT` names; sending them again changes nothing
    #[arg(long, conflicts_with = "to")]
    otlp: bool,
    /// Send titles and results too
    #[arg(long, requires = "otlp")]
    content: bool,
    /// Send only what finishes from now on, until the input ends; the setting `export.otlp` starts this
    #[arg(long, requires = "otlp")]
    follow: bool,
}

/// Shortest time between two requests to a collector.
const INTERVAL: Duration = Duration::from_secs(5);
/// Maximum number of spans that wait for a collector that does not answer; the oldest are dropped, and
/// `flame export --otlp` sends them later.
const WAITING: usize = 10_000;

impl Export {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        match &self.to {
            Some(to) => self.write(to, ctx, output),
            None if self.follow => self.follow(ctx),
            None => self.send(ctx, output),
        }
    }

    /// Sends spans to a collector.
    fn send(&self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let destination = destination()?;
        let spans = ctx
            .engine
            .read(|reading| otlp::spans(reading, self.content))?;
        let sent = destination.send(&spans).map_err(|error| failed(&error))?;
        if output.is_json() {
            return output.data(&json!({ "spans": sent, "endpoint": destination.endpoint }));
        }
        if let Some(variable) = destination.disabled_by {
            return output.line(format!("Nothing was sent: {variable} is set."));
        }
        let sent = counted(sent as u64, "span", "spans");
        output.line(format!("Sent {sent} to {}.", destination.endpoint))
    }

    /// Sends what finishes until the input ends. A collector that does not answer is asked again.
    fn follow(&self, ctx: &CommandContext) -> Result<(), Failure> {
        let destination = destination()?;
        let mut finished = FinishedSpans::default();
        let mut next = || {
            ctx.engine
                .read(|reading| finished.next(reading, self.content))
        };
        next()?;
        let ended = input_end()?;
        let mut waiting = Vec::new();
        loop {
            let is_over = ended.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout);
            match next() {
                Ok(spans) => waiting.extend(spans),
                Err(error) => tracing::info!("nothing was exported: {error}"),
            }
            waiting.drain(..waiting.len().saturating_sub(WAITING));
            if !waiting.is_empty() {
                match destination.send(&waiting) {
                    Ok(_) => waiting.clear(),
                    Err(error) => tracing::info!("{error}"),
                }
            }
            if is_over {
                return Ok(());
            }
        }
    }

    fn write(&self, to: &Path, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let (frames, sessions, imports) = ctx.engine.read(|reading| {
            let mut ids = Vec::new();
            reading.all_rows(&mut |row| {
                ids.push(row.frame.id);
                Ok(())
            })?;
            let mut frames = Vec::with_capacity(ids.len());
            for id in ids {
                if let Some(mut frame) = reading.whole_frame(&id)? {
                    frame.notes.clear();
                    reading.visit_notes(&id, &mut |note| {
                        frame.notes.push(note);
                        Ok(true)
                    })?;
                    frames.push(frame);
                }
            }
            Ok((frames, reading.sessions(false)?, reading.imports()?))
        })?;
        let exported = export(
            &frames,
            &sessions,
            imports.last().map(String::as_str),
            &log_path,
        );
        let on_existing = if self.force {
            OnExisting::Replace
        } else {
            OnExisting::Refuse
        };
        let number = frames.len();
        let logged: Vec<FrameId> = frames
            .iter()
            .filter(|it| has_log(it))
            .map(|it| it.id)
            .collect();
        let raw: Vec<LogEntry> = frames.into_iter().flat_map(|frame| frame.log).collect();
        let dir = exported.write(to, on_existing)?;
        drop(exported);
        let logs = logged.len();
        write_logs(ctx, &logged, &dir)?;
        write_raw_texts(ctx, &raw, &dir)?;
        if output.is_json() {
            return output.data(&json!({
                "frames": number,
                "logs": logs,
                "to": dir.display().to_string(),
            }));
        }
        output.line(format!(
            "Exported {} and {} to {}.",
            counted(number as u64, "frame", "frames"),
            counted(logs as u64, "log", "logs"),
            dir.display()
        ))
    }
}

/// Returns the collector that the environment names.
fn destination() -> Result<Destination, Failure> {
    let destination = Destination::from_environment(&|name| std::env::var(name).ok());
    destination.map_err(|error| failed(&error))
}

fn failed(error: &OtlpError) -> Failure {
    let hint = match error {
        OtlpError::Variable { .. } => "set it to that, or unset it",
        OtlpError::Engine(_) | OtlpError::Refused { .. } => {
            "`OTEL_EXPORTER_OTLP_ENDPOINT` names the collector, `OTEL_EXPORTER_OTLP_HEADERS` its keys"
        }
    };
    Failure::refused(error.to_string(), hint)
}

/// Returns a channel that closes when the input ends.
fn input_end() -> Result<Receiver<()>, Failure> {
    let (open, ended) = channel();
    std::thread::Builder::new()
        .name("input".to_owned())
        .spawn(move || {
            let read = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            tracing::debug!("the input ended: {read:?}");
            drop(open);
        })?;
    Ok(ended)
}

/// Returns the path of a finished frame's log relative to `state.json`. Imported frames keep the
/// path that they came with, if any.
fn log_path(frame: &Frame) -> Option<String> {
    (has_log(frame) && frame.foreign.is_none()).then(|| format!("{LOGS}/{}", log_name(&frame.id)))
}

fn has_log(frame: &Frame) -> bool {
    matches!(frame.status, Status::Completed | Status::Failed)
}

fn log_name(frame: &FrameId) -> String {
    format!("{frame}.md")
}

/// Writes the raw text of all frames next to the exported state.
fn write_raw_texts(ctx: &CommandContext, raw: &[LogEntry], dir: &Path) -> Result<(), Failure> {
    let blobs = ctx.engine.blobs();
    for entry in raw {
        if let Some(text) = blobs.get(&entry.blob)? {
            write_export(dir, RAW, &raw_name(entry), &text)?;
        } else if ctx
            .engine
            .read(|reading| Ok(reading.dropped(entry.blob.as_str())?))?
            .is_some()
        {
            let name = Path::new(&raw_name(entry)).with_extension(DROPPED);
            write_export(dir, RAW, &name.to_string_lossy(), "")?;
        }
    }
    Ok(())
}

/// Name of the folder of logs in an export.
const LOGS: &str = "logs";
/// Name of the folder of raw text in an export.
pub(super) const RAW: &str = "raw";

/// Extension of an empty file in place of a text that `flame gc` had dropped.
pub(super) const DROPPED: &str = "dropped";

/// Returns the file name of a piece of raw text in an export.
pub(super) fn raw_name(entry: &LogEntry) -> String {
    format!("{}.txt", entry.blob)
}

/// Writes the logs of finished frames next to the exported state.
fn write_logs(ctx: &CommandContext, frames: &[FrameId], dir: &Path) -> Result<(), Failure> {
    for frame in frames {
        let log = ctx
            .engine
            .read(|reading| views::log::gather(reading, frame))?;
        let log = views::log::markdown(&log, None);
        write_export(dir, LOGS, &log_name(frame), &log)?;
    }
    Ok(())
}
