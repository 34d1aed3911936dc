//! Everything that has to hold before a change lands.

use std::process::{Command, Stdio};

use anyhow::Result;

use crate::{cargo, generate, layers, plugin, tidy};

/// Tests that take longer than all others together; names that begin with one of these are left out
/// of the fast run.
const SLOW: [&str; 3] = ["damage::", "hostile::", "large::"];

/// Snapshots are compared, never written. Property tests draw the same cases in every run, so that a
/// result can be repeated; `PROPTEST_CASES=5000 cargo test laws` looks for new counterexamples.
const ENVIRONMENT: &[(&str, &str)] = &[("INSTA_UPDATE", "no"), ("PROPTEST_RNG_SEED", "1")];

/// Checks and tests everything.
pub(crate) fn run() -> Result<()> {
    check()?;
    cargo(
        &["doc", "--workspace", "--no-deps"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )?;
    cargo(&["test", "--workspace"], ENVIRONMENT)?;
    plugin::test()
}

/// Checks and tests what needs neither npm nor a host, without the slowest tests.
pub(crate) fn run_fast() -> Result<()> {
    check()?;
    if has_nextest() {
        let slow = SLOW.map(|name| format!("test(/^{name}/)")).join(" | ");
        let fast = format!("not ({slow})");
        cargo(&["nextest", "run", "--workspace", "-E", &fast], ENVIRONMENT)
    } else {
        let skip = SLOW.iter().flat_map(|name| ["--skip", name]);
        let arguments = ["test", "--workspace", "--"].into_iter().chain(skip);
        cargo(&arguments.collect::<Vec<_>>(), ENVIRONMENT)
    }
}

/// Measures hostile pairs of store and request at full size.
pub(crate) fn hostile() -> Result<()> {
    let test = [
        "test",
        "--release",
        "--package",
        "flamestack-cli",
        "--test",
        "it",
    ];
    let one = ["hostile::", "--", "--nocapture"];
    cargo(
        &[&test[..], &one[..]].concat(),
        &[("FLAME_HOSTILE", "full")],
    )
}

/// Checks what needs no run of the program.
fn check() -> Result<()> {
    cargo(&["fmt", "--all", "--check"], &[])?;
    layers::check()?;
    tidy::check(&crate::root()?)?;
    generate::check()?;
    cargo(
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        &[],
    )
}

fn has_nextest() -> bool {
    let mut nextest = Command::new("cargo-nextest");
    let found = nextest.arg("--version").stdout(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}
