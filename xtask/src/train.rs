//! `cargo xtask train`: fits the weights of names and phrases to the development set.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use flamestack_core::anchor::worth;
use flamestack_core::summary::phrase;
use flamestack_eval::train::{Examples, Lesson};

use crate::recordings::{Recorded, development_set, in_parallel};
use crate::root;

/// Where the weights are kept.
const WEIGHTS: &str = "crates/core/src/anchor/weights.rs";

/// Fits the weights and writes them down.
pub(crate) fn run() -> Result<()> {
    let sessions = development_set()?;
    let mut owners: Vec<String> = sessions.iter().map(Recorded::owner).collect();
    owners.sort();
    owners.dedup();
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
    let mut file = String::from(
        "//! How much each feature of a name or a phrase counts. Written by `cargo xtask train`, which fits\n\
         //! them to recorded sessions (docs/quality.md); not to be edited by hand.\n",
    );
    let tables = [
        Table {
            constant: "NAMES",
            says: "How likely a name is needed again in the same conversation.",
            size: "super::worth::FEATURES",
            features: &worth::FEATURE_NAMES,
            examples: &lesson.names,
        },
        Table {
            constant: "PHRASES",
            says: "How likely a phrase is needed again in the same conversation.",
            size: "crate::summary::phrase::FEATURES",
            features: &phrase::FEATURE_NAMES,
            examples: &lesson.phrases,
        },
        Table {
            constant: "RESULTS",
            says: "How likely a parent needs a name that a finished frame brought.",
            size: "super::worth::FEATURES",
            features: &worth::FEATURE_NAMES,
            examples: &lesson.results,
        },
    ];
    for table in &tables {
        table.fit(&owners, &mut file)?;
    }
    fs_err::write(root()?.join(WEIGHTS), file).context("the weights could not be written")?;
    println!("\nwrote {WEIGHTS}");
    Ok(())
}

struct Table<'a> {
    constant: &'static str,
    says: &'static str,
    size: &'static str,
    features: &'a [&'static str],
    examples: &'a Examples,
}

impl Table<'_> {
    fn fit(&self, owners: &[String], file: &mut String) -> Result<()> {
        let (count, needed) = self.examples.size();
        let weights = self.examples.fit(None);
        let all = self.examples.separation(&weights, None);
        println!("\n{}: {count} examples, {needed} needed", self.constant);
        println!("  separation {all:.3}");
        // What the weights are worth on sessions of owners that they were not fitted to.
        for (group, owner) in owners.iter().enumerate() {
            let others = self.examples.fit(Some(group));
            let unseen = self.examples.separation(&others, Some(group));
            if unseen.is_finite() {
                println!("  {unseen:.3} on {owner}, fitted without it");
            }
        }
        writeln!(file, "\n/// {}", self.says)?;
        writeln!(
            file,
            "pub const {}: [f32; {}] = [",
            self.constant, self.size
        )?;
        for (weight, feature) in weights.iter().zip(self.features) {
            writeln!(file, "    {weight:?}, // {feature}")?;
        }
        writeln!(file, "];")?;
        Ok(())
    }
}
