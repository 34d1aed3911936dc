//! `cargo xtask`: the project's development tasks.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for developers prints"
)]

mod bench;
mod eval;
mod generate;
mod layers;
mod page;
mod plugin;
mod quality;
mod recordings;
mod redaction;
mod source;
mod stats;
mod test;
mod tidy;
mod train;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
cargo xtask test              check and test everything, as CI does
cargo xtask test --fast       the same without npm and without a host
cargo xtask tidy              check the language of comments, strings, names and docs (--count [DIR]: a table)
cargo xtask stats [DIR]       print the size and shape of the Rust outside tests
cargo xtask generate          write the generated parts of the docs
cargo xtask generate --check  fail if they are stale
cargo xtask bench [NAME]      measure durable, writers, history, context, brief, cli, import, summary, opencode, run, ui or all (--quick: smaller)
cargo xtask hostile           measure time and memory of hostile requests to stores of 50 MB
cargo xtask loops             attack the store of a sidecar 200 times in each way, and count lost writes
cargo xtask crashes [RUNS]    kill `flame run` and the real OpenCode at every step of 2 (or RUNS) runs, and print the table
cargo xtask eval [NAME]       compare briefs with recorded work: stage (specs), quality (sessions), or both
cargo xtask redaction         print how many made-up secrets are found, and false alarms
cargo xtask train [--without OWNER]  fit the weights of names and phrases to recorded sessions
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["test"] => test::run(),
        ["test", "--fast"] => test::run_fast(),
        ["tidy"] => tidy::check(&root()?),
        ["tidy", "--count"] => tidy::count(&root()?),
        ["tidy", "--count", dir] => tidy::count(Path::new(dir)),
        ["stats"] => stats::run(&root()?),
        ["stats", dir] => stats::run(Path::new(dir)),
        ["generate"] => generate::write(),
        ["generate", "--check"] => generate::check(),
        ["redaction"] => redaction::run(&root()?),
        ["train"] => train::run(None),
        ["train", "--without", owner] => train::run(Some(owner)),
        ["bench", rest @ ..] => bench::run(rest),
        ["hostile"] => test::hostile(),
        ["loops"] => test::loops(),
        ["crashes"] => plugin::crashes("2"),
        ["crashes", runs] => plugin::crashes(runs),
        ["eval", rest @ ..] => eval::run(rest),
        _ => bail!("unknown command\n\n{USAGE}"),
    }
}

/// The root of the workspace.
fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .map(Path::to_owned)
        .context("xtask lives in the workspace")
}

/// Runs a cargo command in the workspace and waits for it to succeed.
fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    println!("\n$ cargo {}", arguments.join(" "));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root()?)
        .status()
        .context("cargo could not be started")?;
    if status.success() {
        Ok(())
    } else {
        bail!("`cargo {}` failed", arguments.join(" "))
    }
}
