//! `flame doctor`

mod hosts;

use std::path::Path;

use clap::Args;
use flamestack_core::id::Timestamp;
use flamestack_engine::EngineError;
use flamestack_engine::hints::Voice;
use flamestack_engine::maintenance::Examined;
use flamestack_engine::projects;
use flamestack_engine::settings::{self, Settings};
use flamestack_engine::views::{counted, grouped, printable, size, time};
use flamestack_store::{Finding, Recovered, Sizes};
use serde_json::{Value, json};

use crate::command_context::{CommandContext, home};
use crate::failure::Failure;
use crate::output::{BOLD, DIM, Output, Progress, painted};

/// Check the store and the agent programs, and report problems
///
/// Replays the journal and verifies that the projections agree with it. If the plugin is installed,
/// runs a test turn against a real sidecar and prints the counts of the hooks. Changes nothing,
/// except that an unreadable store is set aside, whole. All checks run even if one fails. Exits with
/// 1 if something needs attention.
#[derive(Args)]
pub(crate) struct Doctor {}

impl Doctor {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let examined = Progress::during("checking", |progress| {
            ctx.engine.maintenance().examine(progress)
        });
        let opencode = hosts::OpenCode::examine(ctx)?;
        let mut problems = in_settings(&ctx.settings);
        problems.extend(in_store(&examined));
        problems.extend(in_heuristics(ctx));
        problems.extend(opencode.problems());
        let well = problems.is_empty();
        let report = Report {
            ctx,
            sizes: flamestack_store::sizes(&ctx.engine.project().dir)?,
            orphans: projects::orphans(&home()?),
            examined,
            opencode,
            problems,
        };
        if output.is_json() {
            output.data(&report.json())?;
        } else {
            report.print(output)?;
        }
        if well {
            Ok(())
        } else {
            Err(Failure::Attention)
        }
    }
}

/// Reports heuristics that turned themselves off. A store that cannot be read, such as on a full disk,
/// is reported separately.
fn in_heuristics(ctx: &CommandContext) -> Vec<Trouble> {
    let off = ctx
        .engine
        .autonomy()
        .turned_off()
        .unwrap_or_default()
        .into_iter();
    let troubles = off.map(|(heuristic, tally)| Trouble {
        problem: format!(
            "the heuristic {} turned itself off: {} of its {} suggestions here were right",
            heuristic.as_str(),
            tally.right(),
            tally.cases()
        ),
        remedy: format!(
            "`flame autonomy stats --reset` gives it another chance, `flame autonomy --disable {}` \
             turns it off for good",
            heuristic.as_str()
        ),
    });
    troubles.collect()
}

/// The results of all checks.
struct Report<'c> {
    ctx: &'c CommandContext,
    sizes: Sizes,
    /// Number and size of the stores whose projects are gone.
    orphans: (u64, u64),
    examined: Examined,
    opencode: hosts::OpenCode,
    problems: Vec<Trouble>,
}

impl Report<'_> {
    fn json(&self) -> Value {
        let project = self.ctx.engine.project();
        let settings = self.ctx.settings.problems().iter();
        let problems = self.problems.iter();
        let problems = problems.map(|it| json!({ "problem": it.problem, "remedy": it.remedy }));
        let set_aside = self.examined.set_aside.iter();
        let last = self.ctx.engine.maintenance().last_collection();
        let last = last.unwrap_or_default();
        json!({
            "well": self.problems.is_empty(),
            "project": project.name(),
            "identity": project.identity.display().to_string(),
            "worktree": project.worktree,
            "state": project.dir.display().to_string(),
            "diagnostics": project.diagnostics_file().display().to_string(),
            "events": self.examined.verified.events,
            "frames": self.examined.verified.frames,
            "bytes": {
                "journal": self.sizes.journal,
                "blobs": self.sizes.blobs,
                "index": self.sizes.index,
                "logs": self.sizes.logs,
            },
            "redaction": {
                "rules": self.ctx.settings.rules("redact.rules").len(),
                "exceptions": self.ctx.settings.rules("redact.allow").len(),
            },
            "settings": settings.map(|problem| problem.problem.clone()).collect::<Vec<_>>(),
            "hosts": [self.opencode.json()],
            "forgotten": self.examined.verified.forgotten.iter().map(|(at, places)| {
                json!({ "at": time::stamp(*at), "places": places })
            }).collect::<Vec<_>>(),
            "orphans": { "stores": self.orphans.0, "bytes": self.orphans.1 },
            "problems": problems.collect::<Vec<_>>(),
            "lastCollection": last.map(|last| json!({
                "at": time::stamp(Timestamp(last.at)),
                "before": last.before,
                "after": last.after,
            })),
            "setAside": set_aside.map(|path| path.display().to_string()).collect::<Vec<_>>(),
        })
    }

    fn facts(&self) -> Result<Vec<(&'static str, String)>, Failure> {
        let project = self.ctx.engine.project();
        let events = counted(self.examined.verified.events, "event", "events");
        let frames = counted(self.examined.verified.frames, "frame", "frames");
        let used = size(self.sizes.total());
        let limit = size(self.ctx.settings.size("gc.max_size")?);
        let identity = project.identity.display();
        let mut facts = vec![
            ("project", format!("{} ({identity})", project.name())),
            ("worktree", project.worktree.clone()),
            ("state", project.dir.display().to_string()),
            (
                "diagnostics",
                project.diagnostics_file().display().to_string(),
            ),
            ("journal", format!("{events}, {frames}")),
            ("size", format!("{used} (limit {limit})")),
        ];
        let rules = self.ctx.settings.rules("redact.rules").len() as u64;
        let exceptions = self.ctx.settings.rules("redact.allow").len() as u64;
        if rules + exceptions > 0 {
            let rules = counted(rules, "rule", "rules");
            let exceptions = counted(exceptions, "exception", "exceptions");
            let own = format!("built-in rules, {rules} and {exceptions} of your own");
            facts.push(("redaction", own));
        }
        if let Some(last) = self.ctx.engine.maintenance().last_collection()? {
            let freed = last.before.saturating_sub(last.after) / 1000;
            let at = time::minute(Timestamp(last.at));
            facts.push(("clean-up", format!("{at}, freed {} kB", grouped(freed))));
        }
        facts.extend(self.opencode.facts());
        Ok(facts)
    }

    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        for (name, value) in self.facts()? {
            // A folder name may contain anything.
            output.fact(name, &printable(&value))?;
        }
        output.line("")?;
        if self.problems.is_empty() {
            output.line("No problems found.")?;
        }
        for Trouble { problem, remedy } in &self.problems {
            let problem = problem.trim_end().replace('\n', "\n  ");
            output.line(format!("{} {problem}", painted(BOLD, "!")))?;
            output.line(format!("  {remedy}"))?;
        }
        // It breaks nothing, so it is only a note.
        let harmless = |problem: &&settings::Problem| problem.harmless;
        for unknown in self.ctx.settings.problems().iter().filter(harmless) {
            output.line(format!("{} {}", painted(DIM, "note:"), unknown.problem))?;
            output.line(format!("  {}", unknown.remedy))?;
        }
        for (at, places) in &self.examined.verified.forgotten {
            let places = counted(*places, "place", "places");
            let at = output.canvas().time(*at);
            output.line(format!(
                "{} text was forgotten in {places} ({at})",
                painted(DIM, "note:")
            ))?;
        }
        if let (stores @ 1.., bytes) = self.orphans {
            let gone = counted(
                stores,
                "project that is gone has",
                "projects that are gone have",
            );
            let size = size(bytes);
            output.line(format!(
                "{} {gone} {size} of frames: `flame projects` lists them",
                painted(DIM, "note:")
            ))?;
        }
        for note in self.opencode.notes() {
            output.line(format!("{} {note}", painted(DIM, "note:")))?;
        }
        Ok(())
    }
}

/// A problem and its remedy.
struct Trouble {
    problem: String,
    remedy: String,
}

impl Trouble {
    fn new(problem: String, remedy: impl Into<String>) -> Self {
        Self {
            problem,
            remedy: remedy.into(),
        }
    }
}

/// Returns the settings that stop every other command.
fn in_settings(settings: &Settings) -> Vec<Trouble> {
    let bad = settings.problems().iter().filter(|bad| !bad.harmless);
    bad.map(|bad| Trouble::new(bad.problem.clone(), &bad.remedy))
        .collect()
}

/// Returns the problems of the store.
fn in_store(examined: &Examined) -> Vec<Trouble> {
    let mut troubles: Vec<Trouble> = examined.stopped.iter().map(stopped).collect();
    troubles.extend(damage(&examined.verified.findings));
    troubles.extend(examined.not_writable.as_ref().map(not_writable));
    troubles.extend(examined.missing_journal.map(missing_journal));
    troubles.extend(abandoned_texts(examined.abandoned_texts));
    troubles.extend(examined.exposed.iter().map(|path| exposed(path)));
    troubles.extend(examined.damaged_index.as_deref().map(damaged_index));
    troubles.extend(examined.lost_texts.iter().map(|hash| lost_text(hash)));
    troubles.extend(set_aside(examined));
    let in_part = examined.recovered_in_part.iter();
    troubles.extend(in_part.map(|(path, recovered)| recovered_in_part(path, recovered)));
    troubles
}

fn stopped(error: &EngineError) -> Trouble {
    Trouble::new(
        error.to_string(),
        error.hint(Voice::Cli).unwrap_or_default(),
    )
}

/// Returns what is wrong with the journal and the projections.
fn damage(findings: &[Finding]) -> impl Iterator<Item = Trouble> {
    // Rebuilding the projections needs a whole journal, so that comes first.
    let whole = |finding: &Finding| {
        matches!(
            finding,
            Finding::Disagrees { .. } | Finding::ReadOnly { .. }
        )
    };
    let remedy_for_damage = if findings.iter().all(whole) {
        "`flame rebuild` rebuilds the projections"
    } else {
        "`flame rebuild --recover` keeps everything that can be read"
    };
    findings.iter().map(move |finding| {
        let remedy = match finding {
            Finding::ReadOnly { .. } => {
                "check the owner and the permissions of the file and its directory"
            }
            _ => remedy_for_damage,
        };
        Trouble::new(finding.to_string(), remedy)
    })
}

fn not_writable(error: &EngineError) -> Trouble {
    let remedy = error.hint(Voice::Cli).unwrap_or_default();
    let problem = format!("the next command that records something would fail: {error}");
    Trouble::new(problem, remedy)
}

fn missing_journal(events: u64) -> Trouble {
    let had = match events {
        0 => String::new(),
        events => format!(", with {}", counted(events, "event", "events")),
    };
    Trouble::new(
        format!("the journal of this project is missing{had}"),
        "put `journal.db` back from a copy if there is one; otherwise the next command starts with an \
         empty store",
    )
}

fn abandoned_texts(count: u64) -> Option<Trouble> {
    let texts = counted(count, "raw text belongs", "raw texts belong");
    let problem = format!("{texts} to a journal that is missing");
    let remedy = "put that journal into a folder and run `flame rebuild --from FOLDER`, or delete the \
                  texts with `flame gc --orphans`";
    (count > 0).then(|| Trouble::new(problem, remedy))
}

fn exposed(path: &Path) -> Trouble {
    let problem = format!("{} can be read by others", path.display());
    Trouble::new(problem, "`chmod go-rwx` closes it")
}

fn damaged_index(damage: &str) -> Trouble {
    Trouble::new(
        format!("the search index is damaged: {damage}"),
        "`flame rebuild` deletes it, and the next search makes it again",
    )
}

fn lost_text(hash: &str) -> Trouble {
    let problem = format!("the raw text {hash} is missing or damaged");
    Trouble::new(problem, "everything else is intact")
}

/// Returns the stores that were set aside, except those that this command moved: their error says so.
fn set_aside(examined: &Examined) -> impl Iterator<Item = Trouble> {
    let just_now = |place: &Path| {
        examined.stopped.iter().any(
            |error| matches!(error, EngineError::SetAside { place: here, .. } if here == place),
        )
    };
    let older = examined
        .set_aside
        .iter()
        .filter(move |path| !just_now(path));
    older.map(|path| {
        let problem = format!("an unreadable store is in {}", path.display());
        Trouble::new(problem, "`flame rebuild` recovers what can be read of it")
    })
}

fn recovered_in_part(path: &Path, recovered: &Recovered) -> Trouble {
    let what = match (recovered.events, recovered.lost) {
        (0, _) => "no event".to_owned(),
        (events, 0) => format!("only the first {}", counted(events, "event", "events")),
        (events, lost) => {
            let all = counted(events.saturating_add(lost), "event", "events");
            format!("not all of {all} ({} missing)", grouped(lost))
        }
    };
    let problem = format!("{what} came back from the store in {}", path.display());
    let remedy = "nothing more can be read of it; delete that folder to stop this message";
    Trouble::new(problem, remedy)
}
