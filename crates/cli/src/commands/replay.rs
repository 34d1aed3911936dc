//! `flame replay`

use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use flamestack_core::transcript::{Entry, EntryKind};
use flamestack_engine::context::{ContextOptions, ContextTarget, Preferences};
use flamestack_engine::json::work_state;
use flamestack_engine::summaries::BESIDE_SUMMARY_TOKENS;
use flamestack_hosts::recordings::ctrace::Trace;
use flamestack_hosts::recordings::{RecordingFormat, find};
use serde::Deserialize;
use serde_json::{Value, json};

use super::temporary::TemporaryEngine;
use super::{existing, recordings};
use crate::failure::Failure;
use crate::output::Output;
use crate::parallel;

/// Play a recorded session up to a point and print what the model would be given there
///
/// The events before the cut go through the engine in a throw-away store; events after it are
/// ignored. Reads one recorded session of Claude Code, Codex, Gemini CLI or OpenCode, or the
/// neutral ctrace format, in which every event is numbered. With `--cuts` and `--out`, TRACE is a
/// folder of recordings in that format, and every cut of every recording is played.
#[derive(Args)]
pub(crate) struct Replay {
    /// A recorded session, or with `--cuts` a folder of them
    trace: PathBuf,
    /// Number of the first event after the cut, from 0 (default: after the last)
    #[arg(long, value_name = "I", conflicts_with = "cuts")]
    cut: Option<u64>,
    /// Maximum number of tokens
    #[arg(short, long, value_name = "N", default_value_t = 4000)]
    budget: usize,
    /// The text to print
    #[arg(long, value_enum, default_value_t = Mode::Brief)]
    mode: Mode,
    /// The tokenizer: `estimate` (four characters per token, as in the quality figures) or `o200k`
    #[arg(long, default_value = "estimate", value_parser = ["estimate", "o200k"])]
    tokenizer: String,
    /// If the host compacted, print its summary and what a brief adds to it
    #[arg(long)]
    beside_summary: bool,
    /// A JSON list of cuts: `file`, `mode`, `cut_i`, `budgets`
    #[arg(long, value_name = "FILE", requires = "out")]
    cuts: Option<PathBuf>,
    /// File to write the text of each cut to, one JSON object per line
    #[arg(long, value_name = "FILE", requires = "cuts")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// The brief for resuming the work
    Brief,
    /// The context of the active frame
    Context,
}

impl Replay {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        if let (Some(cuts), Some(out)) = (&self.cuts, &self.out) {
            return self.run_all(cuts, out, output);
        }
        let before = self.cut;
        let events = recorded(&self.trace, before.filter(|_| !self.beside_summary))?;
        let cut = Cut {
            place: before.unwrap_or(u64::MAX),
            mode: String::new(),
            budgets: vec![self.budget],
        };
        for given in self.play(&events, &[cut])? {
            if output.is_json() {
                return output.data(&json!({
                    "budget": given.budget,
                    "text": given.text,
                    "state": given.state,
                }));
            }
            output.raw(&given.text)?;
        }
        Ok(())
    }

    /// Plays all cuts of all recordings, several at a time.
    fn run_all(&self, cuts: &Path, out: &Path, output: &mut Output) -> Result<(), Failure> {
        let mut wanted: Vec<(String, Vec<Cut>)> = cuts_of(cuts)?.into_iter().collect();
        for (_, cuts) in &mut wanted {
            cuts.sort_by_key(|cut| cut.place);
        }
        let total = wanted.len();
        let results = parallel::map("replaying", &wanted, |(file, cuts)| self.lines(file, cuts));
        let mut file = std::io::BufWriter::new(fs_err::File::create(out)?);
        let mut count = 0;
        for lines in results {
            let lines = lines?;
            count += lines.lines().count();
            file.write_all(lines.as_bytes())?;
        }
        file.flush()?;
        output.notice(&format!("{count} texts of {total} recordings"))
    }

    fn lines(&self, file: &str, cuts: &[Cut]) -> Result<String, Failure> {
        let events = traced(&self.trace.join(file), None)?;
        let mut lines = String::new();
        for given in self.play(&events, cuts)? {
            let line = json!({
                "file": file,
                "mode": given.cut.mode,
                "cut_i": given.cut.place,
                "budget": given.budget,
                "text": given.text,
                "state": given.state,
            });
            lines.push_str(&line.to_string());
            lines.push('\n');
        }
        Ok(lines)
    }

    /// Returns the texts at each cut. Cuts are in order, so that events are fed once.
    fn play<'c>(&self, events: &[Event], cuts: &'c [Cut]) -> Result<Vec<Given<'c>>, Failure> {
        let stage = Stage::new(&self.tokenizer)?;
        let mut events = events.iter().peekable();
        let mut given = Vec::new();
        for cut in cuts {
            let mut entries: Vec<Entry> = Vec::new();
            while let Some((_, entry)) = events.next_if(|(ordinal, _)| *ordinal < cut.place) {
                entries.push(entry.clone());
            }
            stage.feed(&entries)?;
            let summary = events.peek().and_then(|(_, entry)| match &entry.kind {
                EntryKind::Compacted { summary, .. } => summary.as_deref(),
                _ => None,
            });
            if let Some(summary) = summary.filter(|_| self.beside_summary) {
                let added = stage.brief(BESIDE_SUMMARY_TOKENS, summary)?;
                let budget = summary.chars().count().div_ceil(4) + BESIDE_SUMMARY_TOKENS;
                given.push(Given {
                    cut,
                    budget,
                    text: format!("{summary}\n{added}"),
                    state: stage.state()?,
                });
                continue;
            }
            for budget in &cut.budgets {
                let text = match self.mode {
                    Mode::Brief => stage.brief(*budget, "")?,
                    Mode::Context => stage.context(*budget)?,
                };
                given.push(Given {
                    cut,
                    budget: *budget,
                    text,
                    state: stage.state()?,
                });
            }
        }
        Ok(given)
    }
}

/// A numbered event of a recording.
type Event = (u64, Entry);

/// The text that a model is given at a cut.
struct Given<'c> {
    cut: &'c Cut,
    /// Maximum number of tokens of the text.
    budget: usize,
    text: String,
    /// The state of the work, as JSON.
    state: Option<Value>,
}

/// A position at which a recording is cut.
#[derive(Deserialize)]
struct Cut {
    #[serde(rename = "cut_i")]
    place: u64,
    /// The kind of cut, handed on to the output.
    #[serde(default)]
    mode: String,
    #[serde(default)]
    budgets: Vec<usize>,
}

/// A session that is played in a temporary store.
struct Stage(TemporaryEngine);

impl Stage {
    fn new(tokenizer: &str) -> Result<Self, Failure> {
        let preferences = Preferences {
            tokenizer: tokenizer.to_owned(),
            ..Preferences::default()
        };
        TemporaryEngine::new("project", "replay:session", 0, preferences).map(Self)
    }

    fn feed(&self, entries: &[Entry]) -> Result<(), Failure> {
        self.0.engine.ingest(&self.0.actor, entries)?;
        Ok(())
    }

    fn brief(&self, budget: usize, already: &str) -> Result<String, Failure> {
        let summaries = self.0.engine.summaries();
        let brief = summaries.resume_brief(&self.0.actor.session, budget, already)?;
        Ok(brief.unwrap_or_default())
    }

    fn state(&self) -> Result<Option<Value>, Failure> {
        let state = self.0.engine.summaries().state(&self.0.actor.session)?;
        Ok(state.as_ref().map(work_state))
    }

    fn context(&self, budget: usize) -> Result<String, Failure> {
        let wanted = ContextOptions {
            budget: Some(budget),
            usable_window: None,
        };
        let whose = ContextTarget::Session(self.0.actor.session.clone());
        let context = self.0.engine.contexts().context(&whose, &wanted)?;
        Ok(context
            .map(|context| context.text.clone())
            .unwrap_or_default())
    }
}

/// Returns the events of a recorded session before a number, in any format.
fn recorded(path: &Path, before: Option<u64>) -> Result<Vec<Event>, Failure> {
    existing(path)?;
    if path.is_dir() {
        return Err(Failure::refused(
            format!(
                "{} is a folder, but `replay` plays one recorded session",
                path.display()
            ),
            "name a file in it, or play all of them with `--cuts FILE --out FILE`; `flame eval` \
             measures a whole folder",
        ));
    }
    let source = find(path)?
        .into_iter()
        .find(|it| it.format != RecordingFormat::Ctrace);
    let Some(source) = source else {
        return traced(path, before);
    };
    let (mut sessions, _) = recordings::sessions(&source).map_err(|error| unread(path, &error))?;
    sessions.retain(|session| !session.entries.is_empty());
    let several = sessions.len();
    match sessions.pop() {
        Some(session) if several == 1 => {
            let numbered = (0..).zip(session.entries);
            let known = numbered.take_while(|(at, _)| before.is_none_or(|before| *at < before));
            Ok(known.collect())
        }
        Some(_) => Err(Failure::refused(
            format!(
                "{} contains {several} sessions, but `replay` plays one",
                path.display()
            ),
            "`flame import` imports all of them, `flame eval` measures them",
        )),
        None => Err(nothing_in(path)),
    }
}

/// Returns the events before a number of a session in the neutral format.
fn traced(path: &Path, before: Option<u64>) -> Result<Vec<Event>, Failure> {
    // Opening a pipe would block until another process writes to it.
    if !fs_err::metadata(path)?.is_file() {
        return Err(nothing_in(path));
    }
    let file = BufReader::new(fs_err::File::open(path)?);
    let trace = Trace::read(file, before).map_err(|error| unread(path, &error))?;
    // A cut before the first event leaves nothing, which is not the file's fault.
    if trace.events.is_empty() && before != Some(0) {
        return Err(nothing_in(path));
    }
    Ok(trace.events)
}

fn unread(path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::refused(
        format!(
            "{} cannot be read as a recorded session: {error}",
            path.display()
        ),
        "`flame import --help` lists the formats",
    )
}

fn nothing_in(path: &Path) -> Failure {
    Failure::refused(
        format!(
            "{} contains no events of a recorded session",
            path.display()
        ),
        "it takes what Claude Code, Codex, Gemini CLI or OpenCode record, or the neutral \
             format: one JSON object a line, a header first",
    )
}

/// Reads a file of cuts, by recording.
fn cuts_of(path: &Path) -> Result<BTreeMap<String, Vec<Cut>>, Failure> {
    #[derive(Deserialize)]
    struct Line {
        file: String,
        #[serde(flatten)]
        cut: Cut,
    }
    let text = fs_err::read_to_string(path)?;
    let lines: Vec<Line> = serde_json::from_str(&text).map_err(|error| {
        Failure::refused(
            format!("{} is not a list of cuts: {error}", path.display()),
            "expected a JSON list of objects with file, mode, cut_i and budgets",
        )
    })?;
    let mut cuts: BTreeMap<String, Vec<Cut>> = BTreeMap::new();
    for Line { file, cut } in lines {
        cuts.entry(file).or_default().push(cut);
    }
    Ok(cuts)
}
