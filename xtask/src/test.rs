//! Everything that has to hold before a change lands.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::{cargo, generate, layers, page, plugin, tidy};

/// Tests that take longer than all others together; names that begin with one of these are left out
/// of the fast run.
const SLOW: [&str; 3] = ["damage::", "hostile::", "large::"];

/// Snapshots are compared, never written. Property tests draw the same cases in every run, so that a
/// result can be repeated; `PROPTEST_CASES=5000 cargo test laws` looks for new counterexamples.
const ENVIRONMENT: &[(&str, &str)] = &[("INSTA_UPDATE", "no"), ("PROPTEST_RNG_SEED", "1")];

/// Checks and tests everything.
pub(crate) fn run() -> Result<()> {
    let mut steps = Steps::default();
    check(&mut steps)?;
    steps.take("docs", || {
        cargo(
            &["doc", "--workspace", "--no-deps"],
            &[("RUSTDOCFLAGS", "-D warnings")],
        )
    })?;
    steps.take("tests", || cargo(&["test", "--workspace"], ENVIRONMENT))?;
    plugin::test(&mut steps)?;
    page::test(&mut steps)?;
    steps.finish();
    Ok(())
}

/// The steps of a run and their durations.
#[derive(Default)]
pub(crate) struct Steps(Vec<(&'static str, Duration)>);

impl Steps {
    /// Takes a step; the run ends with the first that fails.
    pub(crate) fn take(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let begun = Instant::now();
        work().with_context(|| format!("the step `{name}` failed"))?;
        self.0.push((name, begun.elapsed()));
        Ok(())
    }

    /// Prints the steps, and that all of them succeeded.
    fn finish(self) {
        println!();
        for (name, took) in &self.0 {
            println!("{name:<22} {:>6.1} s", took.as_secs_f64());
        }
        let all: Duration = self.0.iter().map(|(_, took)| *took).sum();
        println!(
            "All is well: {} steps passed in {:.0} s.",
            self.0.len(),
            all.as_secs_f64()
        );
    }
}

/// Checks and tests what needs neither npm nor a host, without the slowest tests.
pub(crate) fn run_fast() -> Result<()> {
    let mut steps = Steps::default();
    check(&mut steps)?;
    steps.take("fast tests", || {
        if has_nextest() {
            let slow = SLOW.map(|name| format!("test(/^{name}/)")).join(" | ");
            let fast = format!("not ({slow})");
            cargo(&["nextest", "run", "--workspace", "-E", &fast], ENVIRONMENT)
        } else {
            let skip = SLOW.iter().flat_map(|name| ["--skip", name]);
            let arguments = ["test", "--workspace", "--"].into_iter().chain(skip);
            cargo(&arguments.collect::<Vec<_>>(), ENVIRONMENT)
        }
    })?;
    steps.finish();
    Ok(())
}

/// Measures hostile pairs of store and request at full size.
pub(crate) fn hostile() -> Result<()> {
    in_release("hostile::", ("FLAME_HOSTILE", "full"))
}

/// Attacks the store of a sidecar 200 times in each way.
pub(crate) fn loops() -> Result<()> {
    in_release("loops::", ("FLAME_LOOPS", "200"))
}

/// Runs some tests of the program in a release build and shows what they print.
fn in_release(tests: &str, size: (&str, &str)) -> Result<()> {
    let test = ["test", "--release", "--package", "flamestack-cli"];
    let one = ["--test", "it", tests, "--", "--nocapture"];
    cargo(&[&test[..], &one[..]].concat(), &[size])
}

/// Checks what needs no run of the program.
fn check(steps: &mut Steps) -> Result<()> {
    steps.take("format", || cargo(&["fmt", "--all", "--check"], &[]))?;
    steps.take("layers", layers::check)?;
    steps.take("language", || tidy::check(&crate::root()?))?;
    steps.take("generated files", generate::check)?;
    let lints = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    steps.take("lints", || cargo(&lints, &[]))
}

fn has_nextest() -> bool {
    let mut nextest = Command::new("cargo-nextest");
    let found = nextest.arg("--version").stdout(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}
