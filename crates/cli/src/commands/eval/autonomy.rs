//! `flame eval autonomy`

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use flamestack_core::autonomy::{AdviceKind, Heuristic};
use flamestack_core::id::Timestamp;
use flamestack_engine::autonomy::AutonomyPolicy;
use flamestack_engine::autonomy::heuristics::{Basis, Calibration, RULES};
use flamestack_engine::views::counted;
use flamestack_eval::autonomy::{AdviceCounts, BASELINE_NAMES, HeldOut, Moments, Row, Windows};
use serde_json::{Value, json};

use super::sources;
use crate::commands::recordings::{Session, sessions};
use crate::failure::Failure;
use crate::output::{BOLD, Output, painted};
use crate::parallel;

/// Measure on your recorded sessions how often suggestions would have been right
///
/// Reads the same recordings as `flame eval`. Nothing is stored and no model is used: what followed in
/// the recording says whether a suggestion was right. A push is right if a subagent or an item of the
/// to-do list begins soon after, or the user turns to other files; a pop if an item or turn ends at
/// once, or the next two turns leave the work alone; advice about the window if a compaction follows.
///
/// fired: moments at which the heuristic was at least as sure as its threshold, or as it ever was;
/// precision: the share of those that was right; base rate: the same of all moments; recall: the share
/// of all such events that it announced. "held out" has each owner's recordings judged by rules that
/// were fitted to those of the others. "all together" is the advice if every heuristic were on.
#[derive(Args)]
pub(crate) struct EvalAutonomy {
    /// Recordings, or folders of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Also list each rule with its counts
    #[arg(long)]
    rules: bool,
}

/// The moments of one session, and the owner of its recording.
struct Judged {
    owner: String,
    moments: Moments,
}

/// Everything that was measured.
struct Measurement {
    sessions: usize,
    counts: AdviceCounts,
    held_out: Vec<HeldOut>,
    rules: Vec<(u32, u32)>,
}

impl EvalAutonomy {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let sources = sources(&self.paths)?;
        let found = parallel::map("reading", &sources, sessions);
        let mut all: Vec<Session> = Vec::new();
        for (source, found) in sources.iter().zip(found) {
            match found {
                Ok((sessions, _)) => all.extend(sessions),
                // An unreadable file does not stop the others.
                Err(error) => output.notice(&format!("{}: {error}", source.path.display()))?,
            }
        }
        let policy = AutonomyPolicy::default();
        let measured = measure(all);
        if output.is_json() {
            return output.data(&measured.json(&policy));
        }
        measured.print(&policy, self.rules, output)
    }
}

/// Returns the time of a session's first entry.
fn began(session: &Session) -> Option<Timestamp> {
    session.entries.iter().find_map(|entry| entry.at)
}

/// Returns the owner of a recording: the first part of `owner/repository`, or the folder.
pub(super) fn owner(session: &Session) -> String {
    let source = session.source.as_str();
    let is_folder = source.starts_with('/') || source.contains('\\');
    let first = source.split('/').next().filter(|_| !is_folder);
    first.unwrap_or(source).to_owned()
}

fn measure(mut all: Vec<Session>) -> Measurement {
    // Windows are learnt from earlier sessions only.
    all.sort_by_key(began);
    let mut windows = Windows::default();
    let known: Vec<(Session, Option<u64>)> = all
        .into_iter()
        .map(|session| {
            let window = windows.learn(&session.entries);
            (session, window)
        })
        .collect();
    let judged = parallel::map("judging", &known, |(session, window)| Judged {
        owner: owner(session),
        moments: Moments::of(&session.entries, *window),
    });
    let mut by_owner: BTreeMap<&str, Vec<(u32, u32)>> = BTreeMap::new();
    for one in &judged {
        let sums = by_owner.entry(&one.owner).or_default();
        add(sums, &one.moments.rule_counts());
    }
    // All of them: those that are on by default may be none.
    let uses = |_: Heuristic| true;
    let built_in = Calibration::default();
    let mut counts = AdviceCounts::default();
    let mut held_out: BTreeMap<&str, (Calibration, AdviceCounts)> = BTreeMap::new();
    for owner in by_owner.keys() {
        let mut others = Vec::new();
        for (_, rules) in by_owner.iter().filter(|(name, _)| *name != owner) {
            add(&mut others, rules);
        }
        held_out.insert(
            owner,
            (Calibration::fitted(&others), AdviceCounts::default()),
        );
    }
    for one in &judged {
        counts.join(&one.moments.count(&built_in, &uses));
        if let Some((fitted, sums)) = held_out.get_mut(one.owner.as_str()) {
            sums.join(&one.moments.count(fitted, &uses));
        }
    }
    let mut rules = Vec::new();
    for counts in by_owner.values() {
        add(&mut rules, counts);
    }
    Measurement {
        sessions: judged.len(),
        counts,
        held_out: held_out
            .into_iter()
            .map(|(owner, (_, counts))| HeldOut {
                owner: owner.to_owned(),
                counts,
            })
            .collect(),
        rules,
    }
}

fn add(sums: &mut Vec<(u32, u32)>, counts: &[(u32, u32)]) {
    sums.resize(sums.len().max(counts.len()), (0, 0));
    for (sum, (right, cases)) in sums.iter_mut().zip(counts) {
        sum.0 += right;
        sum.1 += cases;
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "counts of moments")]
    let share = part as f64 / whole as f64;
    (whole > 0).then_some(share)
}

/// The figures of one row.
struct Figures {
    speaks_at: u8,
    fired: u64,
    right: u64,
    precision: Option<f64>,
    recall: Option<f64>,
    base_rate: Option<f64>,
}

impl Figures {
    fn of(row: &Row, threshold: u8) -> Self {
        let speaks_at = row.speaks_at(threshold);
        let (fired, right) = row.fired(speaks_at);
        Self {
            speaks_at,
            fired,
            right,
            precision: share(right, fired),
            recall: row.recall(speaks_at),
            base_rate: row.base_rate(),
        }
    }

    fn json(&self, row: &Row) -> Value {
        let bins = row.bins().into_iter().map(|bin| {
            json!({
                "from": bin.from,
                "to": bin.to,
                "count": bin.given,
                "right": bin.right,
                "expected": share(bin.expected, bin.given * 100),
                "observed": share(bin.right, bin.given),
            })
        });
        json!({
            "firesAt": self.speaks_at,
            "fired": self.fired,
            "right": self.right,
            "precision": self.precision,
            "recall": self.recall,
            "baseRate": self.base_rate,
            "reliability": bins.collect::<Vec<_>>(),
        })
    }

    /// Returns the line of the table; `held_out` are the counts on owners that were left out.
    fn line(&self, name: &str, enabled: &str, held_out: Option<(u64, u64)>) -> String {
        let number = |share: Option<f64>| share.map_or("–".to_owned(), |it| format!("{it:.2}"));
        let held_out = held_out.map_or(String::new(), |(fired, right)| {
            format!("  {} ({right} of {fired})", number(share(right, fired)))
        });
        format!(
            "{name:30} {enabled:>4} {:>4} {:>6} {:>6} {:>9} {:>7} {:>9}{held_out}",
            self.speaks_at,
            self.fired,
            self.right,
            number(self.precision),
            number(self.recall),
            number(self.base_rate),
        )
    }
}

fn merged(mut value: Value, more: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut value, more) {
        fields.extend(more);
    }
    value
}

fn of_heuristic(counts: &AdviceCounts, heuristic: Heuristic) -> Option<&Row> {
    let mut rows = counts.heuristics();
    rows.find_map(|(one, row)| (one == heuristic).then_some(row))
}

fn of_kind(counts: &AdviceCounts, kind: AdviceKind) -> Option<&Row> {
    let mut rows = counts.together();
    rows.find_map(|(one, row)| (one == kind).then_some(row))
}

fn held_out_json(all: Option<(u64, u64)>) -> Value {
    json!({
        "heldOutFired": all.map(|(fired, _)| fired),
        "heldOutRight": all.map(|(_, right)| right),
        "heldOutPrecision": all.and_then(|(fired, right)| share(right, fired)),
    })
}

impl Measurement {
    /// Returns how often a heuristic, or all of a kind together, spoke on owners that the rules were not fitted
    /// to, and how often that was right; none without a second owner.
    fn held_out(
        &self,
        threshold: u8,
        row: impl Fn(&AdviceCounts) -> Option<&Row>,
    ) -> Option<(u64, u64)> {
        if self.held_out.len() < 2 {
            return None;
        }
        let of_owner = |held: &HeldOut| {
            row(&held.counts).map_or((0, 0), |row| row.fired(row.speaks_at(threshold)))
        };
        let sums = self.held_out.iter().map(of_owner);
        Some(sums.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1)))
    }

    fn json(&self, policy: &AutonomyPolicy) -> Value {
        let heuristics = self.counts.heuristics().map(|(heuristic, row)| {
            let threshold = policy.threshold(heuristic.kind());
            let held_out = self.held_out.iter().map(|held| {
                let row = of_heuristic(&held.counts, heuristic);
                let figures = row.map(|row| Figures::of(row, threshold));
                json!({
                    "owner": held.owner,
                    "fired": figures.as_ref().map(|it| it.fired),
                    "right": figures.as_ref().map(|it| it.right),
                    "precision": figures.as_ref().and_then(|it| it.precision),
                })
            });
            let all = self.held_out(threshold, |counts| of_heuristic(counts, heuristic));
            let about = json!({
                "name": heuristic.as_str(),
                "kind": heuristic.kind().as_str(),
                "enabled": policy.speaks(heuristic),
                "heldOut": held_out.collect::<Vec<_>>(),
            });
            let about = merged(about, held_out_json(all));
            merged(about, Figures::of(row, threshold).json(row))
        });
        let together = self.counts.together().map(|(kind, row)| {
            let threshold = policy.threshold(kind);
            let all = self.held_out(threshold, |counts| of_kind(counts, kind));
            let about = json!({ "name": "together", "kind": kind.as_str() });
            let about = merged(about, held_out_json(all));
            merged(about, Figures::of(row, threshold).json(row))
        });
        let baselines = self.counts.baselines.iter().zip(BASELINE_NAMES);
        let baselines = baselines.map(|(row, (name, kind))| {
            let about = json!({ "name": name, "kind": kind.as_str() });
            merged(about, Figures::of(row, 100).json(row))
        });
        let rules = RULES.iter().zip(&self.rules).map(|(rule, (right, cases))| {
            json!({
                "name": rule.name,
                "heuristic": rule.heuristic.as_str(),
                "score": rule.basis.percent(),
                "measured": matches!(rule.basis, Basis::Measured { .. }),
                "right": right,
                "cases": cases,
            })
        });
        json!({
            "sessions": self.sessions,
            "heuristics": heuristics.collect::<Vec<_>>(),
            "together": together.collect::<Vec<_>>(),
            "baselines": baselines.collect::<Vec<_>>(),
            "rules": rules.collect::<Vec<_>>(),
        })
    }

    fn print(
        &self,
        policy: &AutonomyPolicy,
        rules: bool,
        output: &mut Output,
    ) -> Result<(), Failure> {
        output.line(counted(self.sessions as u64, "session", "sessions"))?;
        let heading = |output: &mut Output, text: &str| {
            output.line(format!("\n{}", painted(BOLD, text)))?;
            output.dim(format!(
                "{:30} {:>4} {:>4} {:>6} {:>6} {:>9} {:>7} {:>9}  {}",
                "", "on", "from", "fired", "right", "precision", "recall", "base rate", "held out"
            ))
        };
        heading(output, "How often is each heuristic right?")?;
        for (heuristic, row) in self.counts.heuristics() {
            let threshold = policy.threshold(heuristic.kind());
            let figures = Figures::of(row, threshold);
            let held_out = self.held_out(threshold, |counts| of_heuristic(counts, heuristic));
            let on = if policy.speaks(heuristic) {
                "on"
            } else {
                "off"
            };
            output.line(figures.line(heuristic.as_str(), on, held_out))?;
        }
        for (kind, row) in self.counts.together() {
            let threshold = policy.threshold(kind);
            let figures = Figures::of(row, threshold);
            let held_out = self.held_out(threshold, |counts| of_kind(counts, kind));
            let name = format!("all together: {}", kind.as_str());
            output.line(figures.line(&name, "", held_out))?;
        }
        for (row, (name, kind)) in self.counts.baselines.iter().zip(BASELINE_NAMES) {
            let figures = Figures::of(row, 100);
            output.dim(figures.line(&format!("{name}: {}", kind.as_str()), "", None))?;
        }
        if self.held_out.len() > 1 {
            heading(
                output,
                "And on owners that the rules were not fitted to (held out)?",
            )?;
            for heuristic in Heuristic::ALL {
                self.print_held_out(heuristic, policy.threshold(heuristic.kind()), output)?;
            }
        }
        self.print_bins(output)?;
        if rules {
            self.print_rules(output)?;
        }
        Ok(())
    }

    fn print_held_out(
        &self,
        heuristic: Heuristic,
        threshold: u8,
        output: &mut Output,
    ) -> Result<(), Failure> {
        output.line(heuristic.as_str())?;
        for held in &self.held_out {
            if let Some(row) = of_heuristic(&held.counts, heuristic) {
                let figures = Figures::of(row, threshold);
                output.dim(figures.line(&format!("  {}", held.owner), "", None))?;
            }
        }
        Ok(())
    }

    fn print_bins(&self, output: &mut Output) -> Result<(), Failure> {
        output.line(format!(
            "\n{}",
            painted(BOLD, "Is a score a probability? (expected → observed)")
        ))?;
        let number = |share: Option<f64>| share.map_or("–".to_owned(), |it| format!("{it:.2}"));
        let heuristics = self.counts.heuristics();
        let heuristics = heuristics.map(|(heuristic, row)| (heuristic.as_str().to_owned(), row));
        let together = self.counts.together();
        let together =
            together.map(|(kind, row)| (format!("all together: {}", kind.as_str()), row));
        for (name, row) in heuristics.chain(together) {
            let bins = row.bins().into_iter().map(|bin| {
                format!(
                    "{} → {} ({})",
                    number(share(bin.expected, bin.given * 100)),
                    number(share(bin.right, bin.given)),
                    bin.given
                )
            });
            let bins = bins.collect::<Vec<_>>().join(", ");
            output.line(format!("{name:30} {bins}"))?;
        }
        Ok(())
    }

    fn print_rules(&self, output: &mut Output) -> Result<(), Failure> {
        output.line(format!("\n{}", painted(BOLD, "Rules")))?;
        for (rule, (right, cases)) in RULES.iter().zip(&self.rules) {
            output.line(format!(
                "{:18} {:44} {:>3}%  {right} of {cases}",
                rule.heuristic.as_str(),
                rule.name,
                rule.basis.percent(),
            ))?;
        }
        Ok(())
    }
}
