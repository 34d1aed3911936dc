//! Values that the shell completes by asking `flame`: frames, sessions, settings and tools.
//!
//! A shell that completes a word must not be disturbed: without a project, or with a store that
//! cannot be read, there is nothing to propose.

use std::path::PathBuf;

use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use flamestack_engine::views::tree::{self, TreeLine, TreeOptions};
use flamestack_engine::views::{icon, one_line};
use flamestack_engine::{settings, tools};

use crate::command_context::CommandContext;

/// Completes a frame: its id, described by its title.
pub(crate) fn frames() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let Some(ctx) = context() else {
            return Vec::new();
        };
        let options = TreeOptions::default();
        let Ok(view) = ctx.engine.read(|reading| tree::gather(reading, &options)) else {
            return Vec::new();
        };
        let frames = view.lines.iter().filter_map(|line| match line {
            TreeLine::Frame(line) => Some(&line.row.frame),
            TreeLine::Hidden { .. } => None,
        });
        let candidate = |(place, frame): (usize, &flamestack_core::Frame)| {
            let title = one_line(frame.title.as_str(), 60);
            CompletionCandidate::new(frame.id.as_str())
                .help(Some(format!("{} {title}", icon(frame.status)).into()))
                .display_order(Some(place))
        };
        frames.enumerate().map(candidate).collect()
    })
}

/// Completes a session.
pub(crate) fn sessions() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let sessions = context().and_then(|ctx| {
            let known = ctx.engine.read(|reading| Ok(reading.sessions(false)?));
            known.ok()
        });
        let sessions = sessions.into_iter().flatten();
        sessions
            .map(|session| CompletionCandidate::new(session.key.to_string()))
            .collect()
    })
}

/// Completes the key of a setting.
pub(crate) fn setting_keys() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let candidate = |setting: &settings::Setting| {
            CompletionCandidate::new(setting.key).help(Some(setting.about.into()))
        };
        settings::KNOWN.iter().map(candidate).collect()
    })
}

/// Completes the name of a tool.
pub(crate) fn tool_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let candidate = |tool: &tools::Tool| {
            CompletionCandidate::new(tool.name).help(Some(tool.description.into()))
        };
        tools::ALL.iter().map(candidate).collect()
    })
}

/// Opens the project of the command line that is being completed.
fn context() -> Option<CommandContext> {
    let mut words = std::env::args_os().skip_while(|word| word != "-C" && word != "--dir");
    let dir = words.nth(1).map(PathBuf::from);
    CommandContext::open(dir.as_deref(), None).ok()
}
