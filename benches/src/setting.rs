//! Options of a benchmark, and the folders that it may write to.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The arguments and places of one run.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Smaller histories, so that a run takes a minute instead of ten.
    pub quick: bool,
    /// Everything that is not a flag.
    pub words: Vec<String>,
    target: PathBuf,
}

impl Setting {
    /// The setting of this process; none when it is started by `cargo test`, which runs every
    /// target once and wants no figures.
    pub fn of_process() -> Result<Option<Self>> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
        if !has("--bench") {
            return Ok(None);
        }
        let quick = has("--quick") || std::env::var_os("FLAME_BENCH_QUICK").is_some();
        // A bench is `target/release/deps/NAME-HASH`.
        let executable = std::env::current_exe()?;
        let target = executable
            .ancestors()
            .nth(3)
            .map(Path::to_owned)
            .context("the benchmark is not in a target directory")?;
        Ok(Some(Self {
            quick,
            words: arguments
                .into_iter()
                .filter(|argument| !argument.starts_with("--"))
                .collect(),
            target,
        }))
    }

    /// Folder of the histories that are kept between runs.
    pub fn stores(&self) -> PathBuf {
        self.target.join("bench-stores")
    }

    /// The `flame` to measure: the one named by `FLAME_BIN`, else the release build.
    pub fn flame(&self) -> Result<PathBuf> {
        let named = std::env::var_os("FLAME_BIN").map(PathBuf::from);
        let flame = named.unwrap_or_else(|| self.target.join("release").join("flame"));
        fs_err::canonicalize(flame)
            .context("there is no release build of `flame`: `cargo build --release` makes one")
    }

    /// A directory on the same disk as the histories that vanishes with its value.
    pub fn scratch(&self) -> Result<tempfile::TempDir> {
        fs_err::create_dir_all(self.stores())?;
        Ok(tempfile::Builder::new()
            .prefix("scratch-")
            .tempdir_in(self.stores())?)
    }
}

/// Says what is in progress, where it does not mix with the figures.
pub fn say(what: &str) {
    eprintln!("{what}");
}
