//! The measurements as a table for people.

use std::collections::BTreeMap;

use flamestack_engine::summaries::{BESIDE_SUMMARY_TOKENS, RESULT_TOKENS};
use flamestack_engine::views::{counted, grouped};
use flamestack_eval::cost::Policy;
use flamestack_eval::held_out::Marks;
use flamestack_eval::report::Means;

use super::measured::{Measured, share};
use crate::failure::Failure;
use crate::output::{BOLD, Output, painted};

/// Number of re-read files to name.
const NAMED: usize = 10;

/// Prints the measurements as answers to questions.
pub(super) fn print(
    all: &Measured,
    groups: &BTreeMap<String, Measured>,
    held_out: Option<&(Marks, Vec<i64>)>,
    budget: usize,
    output: &mut Output,
) -> Result<(), Failure> {
    output.line(format!(
        "{} with {}",
        counted(all.sessions as u64, "session", "sessions"),
        counted(all.calls as u64, "tool call", "tool calls"),
    ))?;
    lost(all, output)?;
    kept(all, groups, budget, output)?;
    stops(all, groups, held_out, output)?;
    cost(all, output)
}

fn title(text: &str, output: &mut Output) -> Result<(), Failure> {
    output.line(format!("\n{}", painted(BOLD, text)))
}

fn lost(all: &Measured, output: &mut Output) -> Result<(), Failure> {
    title("What did compactions lose?", output)?;
    if all.compactions == 0 {
        return output
            .line("No compaction left a summary and was followed by enough work to measure.");
    }
    let means = all.summaries.means();
    let percent = |share: Option<f64>| {
        share.map_or("–".to_owned(), |share| format!("{:.0}%", 100.0 * share))
    };
    output.line(format!(
        "{}. Of the names that the next {} used, the host's summaries had {}; of those not met for \
         a while {}; of the wording {}.",
        counted(all.compactions as u64, "compaction", "compactions"),
        counted(all.calls_after as u64, "call", "calls"),
        percent(means.names),
        percent(means.old_names),
        percent(means.phrases),
    ))?;
    output.line(format!(
        "{} known before came back from tools, and {} again{}",
        counted(all.found_again as u64, "name", "names"),
        counted(
            all.read_again.len() as u64,
            "file was read",
            "files were read"
        ),
        if all.read_again.is_empty() { "." } else { ":" },
    ))?;
    let mut most: Vec<_> = all.read_again.iter().collect();
    most.sort_by_key(|(path, count)| (std::cmp::Reverse(**count), *path));
    for (path, count) in most.iter().take(NAMED) {
        let path = flamestack_engine::views::printable(path);
        output.line(format!("  {count:3}×  {path}"))?;
    }
    if most.len() > NAMED {
        let more = most.len() - NAMED;
        output.dim(format!("  and {more} more; `--json` has all"))?;
    }
    Ok(())
}

fn kept(
    all: &Measured,
    groups: &BTreeMap<String, Measured>,
    budget: usize,
    output: &mut Output,
) -> Result<(), Failure> {
    title("What would Flamestack have kept?", output)?;
    if all.briefs.means().cuts + all.compactions == 0 {
        output.line("No session is long enough to measure (60 tool calls).")?;
    } else {
        output.dim(format!(
            "{:34} {:>5} {:>6} {:>8} {:>6} {:>6} {:>8}",
            "of what the next 40 calls used", "cuts", "names", "old ones", "words", "H", "prompts"
        ))?;
        output.line(row(
            &format!("brief of {budget} tokens"),
            &all.briefs.means(),
        ))?;
        for (name, group) in groups.iter().filter(|_| groups.len() > 1) {
            let means = group.briefs.means();
            if means.cuts > 0 {
                let name = flamestack_engine::views::printable(name);
                output.dim(row(&format!("  {}", short(&name)), &means))?;
            }
        }
        if all.compactions > 0 {
            output.line(row("host's summaries", &all.summaries.means()))?;
            let both = format!("  with a brief of {BESIDE_SUMMARY_TOKENS} added");
            output.line(row(&both, &all.beside.means()))?;
        }
    }
    if let Some(names) = all.pops.means().names {
        output.line(format!(
            "Of the names that parents used of {}, results of {RESULT_TOKENS} tokens have {:.0}%.",
            counted(
                all.pop_count as u64,
                "finished subagent",
                "finished subagents"
            ),
            100.0 * names
        ))?;
    }
    if let Some(ranking) = all.ranking() {
        output.line(format!(
            "Finished prompts are ranked for {} at nDCG@5 {ranking:.2} (1 is best).",
            counted(all.rankings.1 as u64, "later one", "later ones"),
        ))?;
    }
    let [host, recorder] = all.changed;
    for (found, whose) in [(host, "the host"), (recorder, "the recorder")] {
        if let Some(recall) = share(found.right, found.changed) {
            output.line(format!(
                "Of {} that {whose} saw change, {:.0}% are found without its help.",
                counted(found.changed as u64, "file", "files"),
                100.0 * recall
            ))?;
        }
    }
    Ok(())
}

fn stops(
    all: &Measured,
    groups: &BTreeMap<String, Measured>,
    held_out: Option<&(Marks, Vec<i64>)>,
    output: &mut Output,
) -> Result<(), Failure> {
    title(
        "Which turns were interrupted, and did the next one work?",
        output,
    )?;
    if all.interruptions.turns == 0 {
        return output.line("No prompt follows another one.");
    }
    output.dim(format!(
        "{:26} {:>6} {:>7} {:>9} {:>10} {:>7} {:>8} {:>9} {:>8}",
        "inferred, against marks",
        "turns",
        "marked",
        "inferred",
        "precision",
        "recall",
        "resumes",
        "working",
        "share"
    ))?;
    output.line(stops_row("all", all))?;
    for (name, group) in groups.iter().filter(|_| groups.len() > 1) {
        if group.interruptions.marked + group.interruptions.inferred > 0 {
            let name = flamestack_engine::views::printable(name);
            output.dim(stops_row(&format!("  {}", short(&name)), group))?;
        }
    }
    if let Some((marks, times)) = held_out {
        let decimal =
            |part, whole| share(part, whole).map_or("–".to_owned(), |s| format!("{s:.2}"));
        let times: Vec<String> = times.iter().map(ToString::to_string).collect();
        output.line(format!(
            "With each owner held out: precision {}, recall {} (prompts delivered within {} ms).",
            decimal(marks.right, marks.inferred),
            decimal(marks.right, marks.marked),
            times.join(", ")
        ))?;
    }
    let paused = all.interruptions.after_pause;
    if let Some(share) = share(paused.working, paused.count) {
        output.line(format!(
            "After a pause of an hour or longer, {} of {} worked on the task ({:.0}%).",
            paused.working,
            counted(paused.count as u64, "turn", "turns"),
            100.0 * share
        ))?;
    }
    if all.interruptions.unfinished > 0 {
        output.line(format!(
            "{} inside a turn.",
            counted(
                all.interruptions.unfinished as u64,
                "recording ends",
                "recordings end"
            )
        ))?;
    }
    Ok(())
}

fn stops_row(name: &str, measured: &Measured) -> String {
    let counts = &measured.interruptions;
    let resumes = counts.after_stop;
    let decimal = |part, whole| share(part, whole).map_or("–".to_owned(), |s| format!("{s:.2}"));
    format!(
        "{name:26} {:>6} {:>7} {:>9} {:>10} {:>7} {:>8} {:>9} {:>8}",
        counts.turns,
        counts.marked,
        counts.inferred,
        decimal(counts.right, counts.inferred),
        decimal(counts.right, counts.marked),
        resumes.count,
        resumes.working,
        decimal(resumes.working, resumes.count),
    )
}

fn cost(all: &Measured, output: &mut Output) -> Result<(), Failure> {
    title("What would folding have cost or saved?", output)?;
    if all.bills.iter().all(|bill| bill.calls == 0) {
        return output.line("No session is long enough to measure (60 tool calls).");
    }
    output.dim(format!(
        "{:30} {:>16} {:>7} {:>12} {:>9}",
        "all prompts together", "tokens", "cached", "longest", "cost"
    ))?;
    for (policy, bill, ratio) in all.costs() {
        output.line(format!(
            "{:30} {:>16} {:>6.1}% {:>12} {:>8.0}%",
            policy.as_str(),
            grouped(bill.prompt),
            100.0 * bill.stable_prefix(),
            grouped(bill.longest),
            100.0 * ratio
        ))?;
    }
    let fold = all.costs().find(|(policy, _, _)| *policy == Policy::Fold);
    if let Some((_, _, ratio)) = fold {
        let percent = 100.0 * (ratio - 1.0).abs();
        let word = if ratio <= 1.0 { "saves" } else { "adds" };
        output.line(format!(
            "Folding finished prompts {word} {percent:.0}% of what prompts cost where the host compacts."
        ))?;
    }
    Ok(())
}

fn row(name: &str, means: &Means) -> String {
    let share = |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{share:.2}"));
    format!(
        "{name:34} {:>5} {:>6} {:>8} {:>6} {:>6} {:>8}",
        means.cuts,
        share(means.names),
        share(means.old_names),
        share(means.phrases),
        share(means.harmonic()),
        share(means.prompts)
    )
}

/// Returns the end of a long name.
fn short(name: &str) -> String {
    const LONGEST: usize = 32;
    let length = name.chars().count();
    if length <= LONGEST {
        return name.to_owned();
    }
    let end: String = name.chars().skip(length - LONGEST + 1).collect();
    format!("…{end}")
}
