//! `flame eval`

mod autonomy;
mod measured;
mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use flamestack_engine::views::counted;
use flamestack_eval::held_out::{MarksByTime, held_out};
use flamestack_hosts::recordings::{ReadReport, RecordingError, RecordingFile, find};
use serde_json::json;

use self::measured::Measured;
use super::{existing, recordings};
use crate::failure::Failure;
use crate::output::Output;
use crate::parallel;

/// Measure on your recorded sessions what compactions lost and what Flamestack would have kept
///
/// Reads what Claude Code, Codex, OpenCode and Gemini CLI record (transcripts, rollouts, the
/// database, chats), and the neutral ctrace format. Nothing is stored and no model is used: the
/// recorded work itself shows what was needed next.
///
/// Usual places are ~/.claude/projects, ~/.codex/sessions, ~/.gemini/tmp and
/// ~/.local/share/opencode/opencode.db.
///
/// Shares are between 0 and 1. names: the share of names (paths, identifiers, references …) used by
/// the next 40 calls, and not repeated by them, that the text contains; old ones: the same for names
/// unseen for 25 calls; words: the share of four-word sequences; H: the harmonic mean of the last two;
/// prompts: the share of the user's own words. Interruptions are inferred without the host's marks and
/// compared with them; a resumed turn counts as productive if it calls a tool or refers to the goal. Costs are relative to a host that compacts when its
/// window is full.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Eval {
    #[command(subcommand)]
    subject: Option<Subject>,
    /// Recordings, or folders of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Maximum length of a brief, in tokens of four characters
    #[arg(short, long, value_name = "N", default_value_t = 4000)]
    budget: usize,
}

/// Something else to measure.
#[derive(Subcommand)]
enum Subject {
    Autonomy(autonomy::EvalAutonomy),
}

/// A measured session, and where it comes from.
struct Evaluated {
    host: String,
    source: String,
    owner: String,
    measured: Measured,
    marks: MarksByTime,
}

impl Eval {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        if let Some(Subject::Autonomy(autonomy)) = self.subject {
            return autonomy.run(output);
        }
        let sources = sources(&self.paths)?;
        let evaluated = parallel::map("measuring", &sources, |source| self.evaluate(source));
        let mut all = Measured::default();
        let mut groups: BTreeMap<String, Measured> = BTreeMap::new();
        let mut owners: BTreeMap<String, MarksByTime> = BTreeMap::new();
        let mut report = ReadReport::default();
        for (source, found) in sources.iter().zip(evaluated) {
            // An unreadable file does not stop the others.
            let (sessions, unread) = match found {
                Ok(found) => found,
                Err(error) => {
                    output.notice(&format!("{}: {error}", source.path.display()))?;
                    continue;
                }
            };
            report.add(unread);
            for session in sessions {
                all.join(&session.measured);
                owners.entry(session.owner).or_default().add(&session.marks);
                let names = [session.host, session.source].into_iter();
                for group in names.filter(|name| !name.is_empty()) {
                    groups.entry(group).or_default().join(&session.measured);
                }
            }
        }
        let held_out = held_out(&owners);
        if output.is_json() {
            let groups = groups.iter().map(|(name, group)| (name, group.json()));
            return output.data(&json!({
                "all": all.json(),
                "groups": groups.collect::<BTreeMap<_, _>>(),
                "interruptionsHeldOut": held_out.as_ref().map(measured::held_out),
                "files": sources.len(),
                "bad": report.bad,
                "problems": report.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }));
        }
        table::print(&all, &groups, held_out.as_ref(), self.budget, output)?;
        if report.bad > 0 {
            let places = counted(report.bad, "place", "places");
            let first = report.problems.first();
            let first = first.map_or(String::new(), |first| format!("; the first: {first}"));
            output.notice(&format!("{places} could not be read{first}"))?;
        }
        Ok(())
    }

    fn evaluate(
        &self,
        source: &RecordingFile,
    ) -> Result<(Vec<Evaluated>, ReadReport), RecordingError> {
        let (sessions, report) = recordings::sessions(source)?;
        let measured = sessions
            .into_iter()
            .filter(|session| !session.entries.is_empty())
            .map(|session| Evaluated {
                measured: Measured::of(&session, self.budget),
                marks: MarksByTime::of(&session.entries),
                owner: autonomy::owner(&session),
                host: session.host,
                source: session.source,
            });
        Ok((measured.collect(), report))
    }
}

/// Finds the recordings below the given paths, in order.
fn sources(paths: &[PathBuf]) -> Result<Vec<RecordingFile>, Failure> {
    let mut sources = Vec::new();
    for path in paths {
        existing(path)?;
        sources.extend(find(path)?);
    }
    if sources.is_empty() {
        return Err(Failure::refused(
            "there are no recorded sessions there",
            "name files or folders of Claude Code, Codex, OpenCode or Gemini CLI, such as \
             ~/.claude/projects",
        ));
    }
    sources.sort();
    sources.dedup();
    Ok(sources)
}
