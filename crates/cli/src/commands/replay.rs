//! `flame replay`

use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::{Args, ValueEnum};
use flamestack_core::command::Actor;
use flamestack_core::id::SessionRef;
use flamestack_core::transcript::{Entry, What};
use flamestack_engine::clock::StoryClock;
use flamestack_engine::context::{Preferences, Wanted, Whose};
use flamestack_engine::resume::BESIDE_SUMMARY_TOKENS;
use flamestack_engine::{Engine, EngineError, Home, Project};
use flamestack_hosts::transcript::ctrace::Trace;
use flamestack_hosts::transcript::{Format, find};
use serde_json::{Value, json};

use super::{existing, recordings};
use crate::failure::Failure;
use crate::output::{Output, Progress};

/// Play a recorded session up to a point and print what the model would be given there
///
/// The events before the cut go through the engine in a throw-away store; nothing behind the cut
/// is looked at. Reads one recorded session of Claude Code, Codex, Gemini CLI or OpenCode, or the
/// neutral ctrace format, in which every event has its number. With `--cuts` and `--out`, TRACE is a
/// folder of recordings in that format, and all cuts of all of them are played.
#[derive(Args)]
pub(crate) struct Replay {
    /// A recorded session, or with `--cuts` a folder of them
    trace: PathBuf,
    /// The number of the first event that is not known, from 0 (default: behind the last)
    #[arg(long, value_name = "I", conflicts_with = "cuts")]
    cut: Option<u64>,
    /// At most so many tokens
    #[arg(short, long, value_name = "N", default_value_t = 4000)]
    budget: usize,
    /// What the model is given
    #[arg(long, value_enum, default_value_t = Mode::Brief)]
    mode: Mode,
    /// How tokens are counted: `estimate` (four characters, as the judge of quality does) or `o200k`
    #[arg(long, default_value = "estimate", value_parser = ["estimate", "o200k"])]
    tokenizer: String,
    /// Where the host compacted, print its summary and what a brief adds to it
    #[arg(long)]
    beside_summary: bool,
    /// A JSON list of cuts: `file`, `mode`, `cut_i`, `budgets`
    #[arg(long, value_name = "FILE", requires = "out")]
    cuts: Option<PathBuf>,
    /// Where to write what the model is given at each cut, a JSON object a line
    #[arg(long, value_name = "FILE", requires = "cuts")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// The brief from which work is taken up again
    Brief,
    /// The context of the frame that is worked on
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
            kind: String::new(),
            budgets: vec![self.budget],
        };
        for given in self.play(&events, &[cut])? {
            if output.is_json() {
                return output.data(&json!({ "budget": given.budget, "text": given.text }));
            }
            output.raw(&given.text)?;
        }
        Ok(())
    }

    /// All cuts of all recordings, several at a time.
    fn run_all(&self, cuts: &Path, out: &Path, output: &mut Output) -> Result<(), Failure> {
        let mut wanted: Vec<(String, Vec<Cut>)> = cuts_of(cuts)?.into_iter().collect();
        for (_, cuts) in &mut wanted {
            cuts.sort_by_key(|cut| cut.place);
        }
        let total = wanted.len();
        let next = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        let progress = Progress::new("replaying");
        let results: Mutex<Vec<(usize, Result<String, Failure>)>> = Mutex::new(Vec::new());
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..workers.min(total) {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some((file, cuts)) = wanted.get(number) else {
                            return;
                        };
                        let lines = self.lines(file, cuts);
                        results
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push((number, lines));
                        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                        progress.at(done as u64, total as u64);
                    }
                });
            }
        });
        drop(progress);
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(number, _)| *number);
        let mut file = std::io::BufWriter::new(fs_err::File::create(out)?);
        let mut count = 0;
        for (_, lines) in results {
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
                "mode": given.kind,
                "cut_i": given.place,
                "budget": given.budget,
                "text": given.text,
            });
            lines.push_str(&line.to_string());
            lines.push('\n');
        }
        Ok(lines)
    }

    /// What the model is given at each cut. Cuts are in order, so that events are fed once.
    fn play(&self, events: &[Event], cuts: &[Cut]) -> Result<Vec<Given>, Failure> {
        let stage = Stage::new(&self.tokenizer)?;
        let mut events = events.iter().peekable();
        let mut given = Vec::new();
        for cut in cuts {
            let mut entries: Vec<Entry> = Vec::new();
            while let Some((_, entry)) = events.next_if(|(ordinal, _)| *ordinal < cut.place) {
                entries.push(entry.clone());
            }
            stage.feed(&entries)?;
            let summary = events.peek().and_then(|(_, entry)| match &entry.what {
                What::Compacted { summary, .. } => summary.as_deref(),
                _ => None,
            });
            match summary.filter(|_| self.beside_summary) {
                Some(summary) => {
                    let added = stage.brief(BESIDE_SUMMARY_TOKENS, summary)?;
                    let length = summary.chars().count().div_ceil(4);
                    given.push(Given {
                        place: cut.place,
                        kind: cut.kind.clone(),
                        budget: length + BESIDE_SUMMARY_TOKENS,
                        text: format!("{summary}\n{added}"),
                    });
                }
                None => {
                    for budget in &cut.budgets {
                        given.push(Given {
                            place: cut.place,
                            kind: cut.kind.clone(),
                            budget: *budget,
                            text: match self.mode {
                                Mode::Brief => stage.brief(*budget, "")?,
                                Mode::Context => stage.context(*budget)?,
                            },
                        });
                    }
                }
            }
        }
        Ok(given)
    }
}

/// An event of a recording, with its number.
type Event = (u64, Entry);

/// A place at which a recording is cut.
struct Cut {
    place: u64,
    kind: String,
    budgets: Vec<usize>,
}

/// What a model is given at a cut.
struct Given {
    place: u64,
    kind: String,
    budget: usize,
    text: String,
}

/// An engine on a throw-away store.
struct Stage {
    engine: Engine,
    actor: Actor,
    // Deleted with the stage.
    _dir: tempfile::TempDir,
}

impl Stage {
    fn new(tokenizer: &str) -> Result<Self, Failure> {
        let dir = tempfile::tempdir()?;
        let home = Home {
            state: dir.path().join("state"),
            config: dir.path().join("config"),
        };
        let folder = dir.path().join("project");
        fs_err::create_dir_all(&folder)?;
        let project = Project::at(&folder, &home)?;
        let clock = Box::new(StoryClock::starting_at(0));
        let preferences = Preferences {
            tokenizer: tokenizer.to_owned(),
            ..Preferences::default()
        };
        let engine =
            Engine::new(project, clock, Duration::from_secs(30)).with_contexts(preferences);
        let session: SessionRef = "replay:session".parse().map_err(EngineError::BadSession)?;
        let actor = Actor {
            session,
            worktree: None,
            message: None,
        };
        Ok(Self {
            engine,
            actor,
            _dir: dir,
        })
    }

    fn feed(&self, entries: &[Entry]) -> Result<(), Failure> {
        self.engine.witness(&self.actor, entries)?;
        Ok(())
    }

    fn brief(&self, budget: usize, already: &str) -> Result<String, Failure> {
        let brief = self
            .engine
            .resume_brief(&self.actor.session, budget, already)?;
        Ok(brief.unwrap_or_default())
    }

    fn context(&self, budget: usize) -> Result<String, Failure> {
        let wanted = Wanted {
            budget: Some(budget),
            usable_window: None,
        };
        let whose = Whose::Session(self.actor.session.clone());
        let context = self.engine.context(&whose, &wanted)?;
        Ok(context
            .map(|context| context.text.clone())
            .unwrap_or_default())
    }
}

/// The events of a recorded session before a number, whoever recorded it.
fn recorded(path: &Path, before: Option<u64>) -> Result<Vec<Event>, Failure> {
    existing(path)?;
    if path.is_dir() {
        return Err(Failure::refused(
            format!(
                "{} is a folder, and one recorded session is played",
                path.display()
            ),
            "name a file in it, or play all of them with `--cuts FILE --out FILE`; `flame eval` \
             measures a whole folder",
        ));
    }
    let source = find(path)?
        .into_iter()
        .find(|it| it.format != Format::Ctrace);
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
                "{} holds {several} sessions, and one is played",
                path.display()
            ),
            "`flame import` brings all of them in, `flame eval` measures them",
        )),
        None => Err(nothing_in(path)),
    }
}

/// The events before a number of a session in the neutral format.
fn traced(path: &Path, before: Option<u64>) -> Result<Vec<Event>, Failure> {
    let file = BufReader::new(fs_err::File::open(path)?);
    let trace = Trace::read(file, before).map_err(|error| unread(path, &error))?;
    // A cut before the first event leaves nothing, and that is no mistake of the file.
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
        "`flame import --help` names what is read",
    )
}

fn nothing_in(path: &Path) -> Failure {
    Failure::refused(
        format!("{} holds no events of a recorded session", path.display()),
        "it takes what Claude Code, Codex, Gemini CLI or OpenCode record, or the neutral \
             format: one JSON object a line, a header first",
    )
}

/// The cuts that a file names, by recording.
fn cuts_of(path: &Path) -> Result<BTreeMap<String, Vec<Cut>>, Failure> {
    let bad = |problem: &str| {
        Failure::refused(
            format!("{} is no list of cuts: {problem}", path.display()),
            "it is a JSON list of objects with file, mode, cut_i and budgets",
        )
    };
    let text = fs_err::read_to_string(path)?;
    let list: Value = serde_json::from_str(&text).map_err(|error| bad(&error.to_string()))?;
    let mut cuts: BTreeMap<String, Vec<Cut>> = BTreeMap::new();
    for item in list.as_array().ok_or_else(|| bad("it is not a list"))? {
        let text = |name: &str| item.get(name).and_then(Value::as_str);
        let file = text("file").ok_or_else(|| bad("a cut names no file"))?;
        let place = item.get("cut_i").and_then(Value::as_u64);
        let budgets = item.get("budgets").and_then(Value::as_array);
        let budgets = budgets.into_iter().flatten().filter_map(Value::as_u64);
        cuts.entry(file.to_owned()).or_default().push(Cut {
            place: place.ok_or_else(|| bad("a cut has no cut_i"))?,
            kind: text("mode").unwrap_or_default().to_owned(),
            budgets: budgets
                .filter_map(|budget| usize::try_from(budget).ok())
                .collect(),
        });
    }
    Ok(cuts)
}
