//! `flame eval`

mod measured;
mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use flamestack_engine::views::counted;
use flamestack_hosts::transcript::{ReadError, Report, Source, find};
use serde_json::{Value, json};

use self::measured::Measured;
use super::{existing, recordings};
use crate::failure::Failure;
use crate::output::{Output, Progress};

/// Ask your recorded sessions what compactions lost and what Flamestack would have kept
///
/// Reads what Claude Code, Codex, OpenCode and Gemini CLI record (transcripts, rollouts, the
/// database, chats), and the neutral ctrace format. Nothing is stored, and no model is asked:
/// recorded work shows what was needed next.
///
/// Usual places are ~/.claude/projects, ~/.codex/sessions, ~/.gemini/tmp and
/// ~/.local/share/opencode/opencode.db.
///
/// Shares are between 0 and 1. names: of the names (paths, identifiers, references …) that the next
/// 40 calls used and nothing told again, those that were there; old ones: those not met for 25
/// calls; words: of the wording, by four words; H: the harmonic mean of the last two; prompts: of
/// what the user had said. Costs are relative to a host that compacts when its window is full.
#[derive(Args)]
pub(crate) struct Eval {
    /// Recordings, or folders of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// How long a brief may be, in tokens of four characters
    #[arg(short, long, value_name = "N", default_value_t = 4000)]
    budget: usize,
}

/// What a file came to: its sessions by host and source, and what could not be read.
type Evaluated = (Vec<(String, String, Measured)>, Report);

impl Eval {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let sources = self.sources()?;
        let next = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        let progress = Progress::new("measuring");
        let evaluated: Mutex<Vec<(usize, Result<Evaluated, ReadError>)>> = Mutex::default();
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..workers.min(sources.len()) {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(source) = sources.get(number) else {
                            return;
                        };
                        let found = self.evaluate(source);
                        evaluated
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push((number, found));
                        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                        progress.at(done as u64, sources.len() as u64);
                    }
                });
            }
        });
        drop(progress);
        let mut evaluated = evaluated
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        evaluated.sort_by_key(|(number, _)| *number);
        let mut all = Measured::default();
        let mut groups: BTreeMap<String, Measured> = BTreeMap::new();
        let mut report = Report::default();
        for (number, found) in evaluated {
            // One file that cannot be read does not keep the others out.
            let (sessions, unread) = match found {
                Ok(found) => found,
                Err(error) => {
                    let path = sources.get(number).map(|source| source.path.display());
                    let path = path.map_or(String::new(), |path| path.to_string());
                    output.notice(&format!("{path}: {error}"))?;
                    continue;
                }
            };
            report.add(unread);
            for (host, source, session) in sessions {
                all.join(&session);
                for group in [host, source].into_iter().filter(|name| !name.is_empty()) {
                    groups.entry(group).or_default().join(&session);
                }
            }
        }
        if output.is_json() {
            let groups: BTreeMap<&String, Value> = groups
                .iter()
                .map(|(name, group)| (name, group.json()))
                .collect();
            return output.data(&json!({
                "all": all.json(),
                "groups": groups,
                "files": sources.len(),
                "bad": report.bad,
                "problems": report.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }));
        }
        table::tell(&all, &groups, self.budget, output)?;
        if report.bad > 0 {
            let places = counted(report.bad, "place", "places");
            let first = report.problems.first().map(ToString::to_string);
            let first = first.map_or(String::new(), |first| format!("; the first: {first}"));
            output.notice(&format!("{places} could not be read{first}"))?;
        }
        Ok(())
    }

    fn evaluate(&self, source: &Source) -> Result<Evaluated, ReadError> {
        let (sessions, report) = recordings::sessions(source)?;
        let measured = sessions
            .into_iter()
            .filter(|session| !session.entries.is_empty())
            .map(|session| {
                let measured = Measured::of(&session, self.budget);
                (session.host, session.source, measured)
            });
        Ok((measured.collect(), report))
    }

    /// The recordings that paths name, in order.
    fn sources(&self) -> Result<Vec<Source>, Failure> {
        let mut sources = Vec::new();
        for path in &self.paths {
            existing(path)?;
            sources.extend(find(path)?);
        }
        if sources.is_empty() {
            return Err(Failure::Told {
                usage: false,
                message: "there are no recorded sessions there".to_owned(),
                hint: Some(
                    "name files or folders of Claude Code, Codex, OpenCode or Gemini CLI, such as \
                     ~/.claude/projects"
                        .to_owned(),
                ),
            });
        }
        sources.sort();
        sources.dedup();
        Ok(sources)
    }
}
