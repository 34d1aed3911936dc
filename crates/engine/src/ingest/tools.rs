//! Answers of tools: changed files, commands that ran, attempts that fail again and again.
//!
//! [`flamestack_extract::shell`] reads command lines. Kept are commands that say something about the
//! work: tests, builds, linters, commits and the like, and other commands that failed, except for
//! looking around. The same command with the same outcome is kept once until its outcome changes,
//! and a frame with a hundred of them keeps only failures.

use flamestack_core::decide::DecideResult;
use flamestack_core::id::Fingerprint;
use flamestack_core::text::condense;
use flamestack_core::transcript::{Answer, Call, CallKind};
use flamestack_core::{Evidence, Note, TreeQuery};
use flamestack_extract::failure::{error_line, normalised};
use flamestack_extract::shell::{CommandKind, FileChanges, command_kind, commits, file_changes};

use super::recorder::EntryRecorder;
use super::words::prose;

/// Maximum length of a command line, in bytes.
const COMMAND_LENGTH: usize = 1000;
/// Number of runs of commands after which a frame keeps only failures.
const RUNS: u64 = 100;
/// Maximum number of runs that a frame keeps.
const MAX_RUNS: u64 = 300;
/// Maximum length of an error, in characters.
const ERROR_LENGTH: usize = 300;

impl<N: TreeQuery + ?Sized> EntryRecorder<'_, '_, N> {
    pub(super) fn answered(&mut self, call: &Call, answer: &Answer) -> DecideResult<(), N> {
        let failed = !answer.ok || answer.exit_code.is_some_and(|code| code != 0);
        match call.kind {
            CallKind::Edit | CallKind::Write if answer.ok => self.produced(&call.paths)?,
            CallKind::Execute => {
                if let Some(command) = &call.command {
                    if !failed {
                        self.changed(command, &answer.text)?;
                    }
                    self.ran(command, answer)?;
                }
            }
            _ => {}
        }
        if failed && call.kind != CallKind::Stack {
            self.failed(call, answer)?;
        }
        Ok(())
    }

    /// Records files that were made or changed.
    pub(super) fn produced(&mut self, paths: &[String]) -> DecideResult<(), N> {
        if paths.is_empty() {
            return Ok(());
        }
        let here = self.here()?.id;
        for path in paths.iter().filter_map(|path| prose(path, usize::MAX)) {
            self.note(&here, Note::Artifact(path))?;
        }
        for mark in self.changing() {
            if !self.is_known(mark)? {
                self.noticed.push(mark);
            }
        }
        Ok(())
    }

    /// Returns the fingerprints that say that this session, or the one that started it, changes files.
    fn changing(&self) -> impl Iterator<Item = Fingerprint> + use<N> {
        let sessions = [Some(self.session()), self.parent.clone()];
        let sessions = sessions.into_iter().flatten();
        sessions.map(|session| Fingerprint::of(&session, "changes files", ""))
    }

    fn is_known(&self, mark: Fingerprint) -> DecideResult<bool, N> {
        Ok(self.recent.contains(&mark) || self.decider.tree.is_seen(mark)?)
    }

    /// Records files that a command changed, and those that git lists as different if this session
    /// changes files.
    fn changed(&mut self, command: &str, output: &str) -> DecideResult<(), N> {
        let FileChanges { made, differing } = file_changes(command, output);
        self.produced(&made)?;
        let mut ours = !made.is_empty();
        for mark in self.changing() {
            ours |= self.is_known(mark)?;
        }
        if ours {
            self.produced(&differing)?;
        }
        Ok(())
    }

    fn ran(&mut self, command: &str, answer: &Answer) -> DecideResult<(), N> {
        if answer.ok {
            let commits = commits(command, &answer.text, answer.exit_code);
            for commit in commits
                .iter()
                .filter_map(|commit| prose(commit, usize::MAX))
            {
                let here = self.here()?.id;
                self.note(&here, Note::Evidence(Evidence::Commit(commit)))?;
            }
        }
        let Some(exit_code) = answer.exit_code else {
            return Ok(());
        };
        let kept = match command_kind(command) {
            CommandKind::Check => true,
            CommandKind::Other => exit_code != 0,
            CommandKind::Look => false,
        };
        let Some(command) = prose(command, COMMAND_LENGTH).filter(|_| kept) else {
            return Ok(());
        };
        let here = self.here()?.id;
        let (last, runs) = self.decider.tree.command_runs(&here, &command)?;
        let room = if exit_code == 0 { RUNS } else { MAX_RUNS };
        if last != Some(exit_code) && runs < room {
            self.note(
                &here,
                Note::Evidence(Evidence::Command { command, exit_code }),
            )?;
        }
        Ok(())
    }

    /// Records a failure. Once is an accident; the same failure of the same call again is an attempt
    /// that does not work.
    fn failed(&mut self, call: &Call, answer: &Answer) -> DecideResult<(), N> {
        let attempt = call.command.as_deref().unwrap_or(&call.arguments);
        if call.kind == CallKind::Execute && command_kind(attempt) == CommandKind::Look {
            return Ok(());
        }
        let error = error_line(&answer.text);
        let name = format!(
            "{}\n{}\n{}",
            call.tool,
            normalised(attempt),
            normalised(&error)
        );
        let mark = Fingerprint::of(&self.session(), "failure", &name);
        if !self.is_known(mark)? {
            self.noticed.push(mark);
            return Ok(());
        }
        let text = match (&call.command, call.paths.is_empty()) {
            (Some(command), _) => format!("`{}`", condense(command, COMMAND_LENGTH)),
            (None, false) => format!("{} {}", call.tool, call.paths.join(", ")),
            (None, true) => format!("{} {}", call.tool, condense(attempt, ERROR_LENGTH)),
        };
        if let Some(text) = prose(&text, COMMAND_LENGTH) {
            let here = self.here()?.id;
            let why = prose(&condense(&error, ERROR_LENGTH), usize::MAX);
            self.note(&here, Note::FailedAttempt { text, why })?;
        }
        Ok(())
    }
}
