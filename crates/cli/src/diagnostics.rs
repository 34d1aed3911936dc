//! The diagnostics file: one line per internal event, for looking into a problem.
//!
//! Lines are stamped, prefixed with `[stack]` and redacted, and go to a file in the project's state
//! directory, never to a terminal. A large file is rotated.

use std::io::Write as _;
use std::path::PathBuf;

use flamestack_engine::settings::Settings;
use flamestack_engine::{Clock, Project, SystemClock, views};
use flamestack_redact::Redactor;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;

use crate::failure::Failure;

/// Sends diagnostics to the project's file from now on.
pub(crate) fn begin(project: &Project, settings: &Settings) -> Result<(), Failure> {
    let level = match settings.get("diagnostics.level")?.text.trim() {
        "off" => LevelFilter::OFF,
        "debug" => LevelFilter::DEBUG,
        _ => LevelFilter::INFO,
    };
    let file = DiagnosticsFile {
        path: project.diagnostics_file(),
        limit: settings.size("diagnostics.max_size")?,
        redactor: settings.redactor()?,
    };
    let subscriber = Registry::default().with(file.with_filter(level));
    // A second call in one process keeps the first file; a process serves one project.
    drop(tracing::subscriber::set_global_default(subscriber));
    Ok(())
}

struct DiagnosticsFile {
    path: PathBuf,
    limit: u64,
    redactor: Redactor,
}

impl<S: tracing::Subscriber> Layer<S> for DiagnosticsFile {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let mut words = Words::default();
        event.record(&mut words);
        let stamp = views::time::stamp(SystemClock.now());
        let mut line = format!("[{stamp}] [stack] {}", words.message);
        if !words.fields.is_empty() {
            line.push_str(&format!(" {{ {} }}", words.fields.join(", ")));
        }
        let line = self.redactor.redact(&line).replace('\n', " ");
        // Diagnostics that cannot be written must not get in the way of the work.
        drop(self.append(&line));
    }
}

impl DiagnosticsFile {
    fn append(&self, line: &str) -> std::io::Result<()> {
        // A project without state has nothing to diagnose, and reading must not create one.
        if !self.path.parent().is_some_and(std::path::Path::exists) {
            return Ok(());
        }
        let mut file = flamestack_store::private_file(&self.path)?;
        if file.metadata()?.len() > self.limit {
            let mut old = self.path.clone().into_os_string();
            old.push(".1");
            fs_err::rename(&self.path, PathBuf::from(old))?;
            file = flamestack_store::private_file(&self.path)?;
        }
        // One write per line: lines of several processes do not mix.
        file.write_all(format!("{line}\n").as_bytes())
    }
}

#[derive(Default)]
struct Words {
    message: String,
    fields: Vec<String>,
}

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            self.fields.push(format!("{}: {value:?}", field.name()));
        }
    }
}
