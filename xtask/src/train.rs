//! `cargo xtask train`: fits the weights of names and phrases to the development set.

mod examples;
mod lesson;

use std::fmt::Write as _;

use anyhow::{Context, Result};

use crate::recordings::{Recorded, development_set, in_parallel};
use crate::root;
use examples::Examples;
use lesson::Lesson;

/// The file of the weights.
const WEIGHTS: &str = "crates/extract/data/weights.toml";
/// A line that ends the header of the file.
const FIRST_SECTION: &str = "\n# A name of a session";

/// Fits the weights and writes them to their file; without the sessions of one owner, so that briefs of
/// these can be measured with weights that never saw them.
pub(crate) fn run(without: Option<&str>) -> Result<()> {
    let sessions = development_set()?;
    let mut owners: Vec<String> = sessions.iter().map(Recorded::owner).collect();
    owners.sort();
    owners.dedup();
    let without = match without {
        Some(owner) => {
            let place = owners.iter().position(|known| known == owner);
            let unknown = || format!("no session is of {owner}; owners: {}", owners.join(", "));
            Some(place.with_context(unknown)?)
        }
        None => None,
    };
    let lessons = in_parallel(&sessions, |session| {
        let owner = session.owner();
        let group = owners.iter().position(|known| *known == owner);
        let entries = session.entries()?;
        Ok(Lesson::of(&entries, group.unwrap_or_default()))
    })?;
    let mut lesson = Lesson::default();
    for other in lessons {
        lesson.join(other);
    }
    let path = root()?.join(WEIGHTS);
    let old = fs_err::read_to_string(&path)?;
    let (header, _) = old
        .split_once(FIRST_SECTION)
        .context("the file of the weights has no header")?;
    let mut file = header.to_owned();
    for (section, meaning, examples) in [
        (
            "names",
            "A name of a session is needed again in that session.",
            &lesson.names,
        ),
        (
            "phrases",
            "A phrase of a session is needed again in that session.",
            &lesson.phrases,
        ),
        (
            "results",
            "A name from a finished frame is needed by its parent.",
            &lesson.results,
        ),
    ] {
        println!("\n{section}:");
        writeln!(file, "\n# {meaning}\n[{section}]")?;
        for (weight, feature) in fit(examples, &owners, without)
            .iter()
            .zip(examples.feature_names())
        {
            writeln!(file, "{feature} = {weight:?}")?;
        }
    }
    fs_err::write(&path, file).context("the weights could not be written")?;
    println!("\nwrote {WEIGHTS}");
    Ok(())
}

/// Fits weights, and prints how well they separate.
fn fit(examples: &Examples, owners: &[String], without: Option<usize>) -> Vec<f32> {
    let (count, needed) = examples.size();
    let weights = examples.fit(without);
    if without.is_some() {
        println!(
            "  {:.3} on the owner left out",
            examples.separation(&weights, without)
        );
        return weights;
    }
    let all = examples.separation(&weights, None);
    println!("  {count} examples, {needed} needed, separation {all:.3}");
    // The honest figure: sessions of owners that the weights were not fitted to.
    for (group, owner) in owners.iter().enumerate() {
        let others = examples.fit(Some(group));
        let unseen = examples.separation(&others, Some(group));
        if unseen.is_finite() {
            println!("  {unseen:.3} on {owner}, fitted without it");
        }
    }
    weights
}
