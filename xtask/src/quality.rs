//! `cargo xtask eval quality`: the recorded sessions of the development set, by the judge.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::recordings::{shared, unpacked};
use crate::{cargo, root};

/// Replays all cuts with the release build and lets the judge score them.
pub(crate) fn run() -> Result<()> {
    let shared = shared()?;
    let sessions = unpacked()?;
    let target = root()?.join("target");
    let python = python(&target.join("quality/venv"))?;
    cargo(&["build", "--release", "--package", "flamestack-cli"], &[])?;
    let flame = target.join("release/flame");
    let cuts = shared.join("traces/dev_cuts.json");
    for (what, flags) in [
        ("briefs", &[][..]),
        (
            "briefs beside the host's summary",
            &["--beside-summary"][..],
        ),
    ] {
        println!("\n== {what}");
        let out = target.join("quality/contexts.jsonl");
        succeed(
            Command::new(&flame)
                .arg("replay")
                .arg(&sessions)
                .arg("--cuts")
                .arg(&cuts)
                .arg("--out")
                .arg(&out)
                .args(flags),
        )?;
        succeed(
            Command::new(&python)
                .arg(shared.join("quality/score_external.py"))
                .arg(&sessions)
                .arg(&out),
        )?;
    }
    println!("\n== cost, by the judge's own model of folding");
    succeed(
        Command::new(&python)
            .arg(shared.join("quality/eval_cost.py"))
            .arg(&sessions)
            .arg(target.join("quality/cost.json")),
    )?;
    println!("\n== the same and more by `flame eval`");
    succeed(Command::new(&flame).arg("eval").arg(&sessions))
}

/// A Python that has what the judge needs, in an environment of its own.
fn python(venv: &Path) -> Result<std::path::PathBuf> {
    let python = venv.join("bin/python");
    if !python.exists() {
        succeed(Command::new("python3").args(["-m", "venv"]).arg(venv))?;
        let packages = ["-m", "pip", "install", "--quiet", "zstandard", "numpy"];
        succeed(Command::new(&python).args(packages))?;
    }
    Ok(python)
}

fn succeed(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("{name} could not be started"))?;
    if status.success() {
        Ok(())
    } else {
        bail!("{name} failed")
    }
}
