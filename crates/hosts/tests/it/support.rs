//! A project in memory that imports and exports, and the files for it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use flamestack_core::event::Recorded;
use flamestack_core::id::{Seq, SessionRef, Timestamp};
use flamestack_core::{Actor, Author, Command, Frame, FrameId, Session, TreeQuery, decide};
use flamestack_engine::Redactor;
use flamestack_hosts::legacy::{
    ExportFiles, ImportTarget, Layout, LegacyReadError, LegacyStack, PreparedImport, export,
};
use flamestack_testkit::Tree;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

pub(crate) fn read(dir: &Path) -> LegacyStack {
    Layout::find(dir)
        .unwrap()
        .read(&Redactor::default())
        .unwrap()
}

/// A directory with a `state.json` in it.
pub(crate) fn dir_with(state: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs_err::write(dir.path().join("state.json"), state).unwrap();
    dir
}

pub(crate) fn read_text(state: &str) -> Result<LegacyStack, LegacyReadError> {
    Layout::find(dir_with(state).path())?.read(&Redactor::default())
}

/// Writes an export and reads it again.
pub(crate) fn reread(export: &ExportFiles) -> LegacyStack {
    reread_state(&export.state_json())
}

/// Writes a state and reads it.
pub(crate) fn reread_state(state: &str) -> LegacyStack {
    let dir = tempfile::tempdir().unwrap();
    let stack = dir.path().join("stack");
    fs_err::create_dir(&stack).unwrap();
    fs_err::write(stack.join("state.json"), state).unwrap();
    read(&stack)
}

/// Parses a state and removes the `flamestack` objects.
pub(crate) fn without_ours(json: &str) -> Value {
    let mut document: Value = serde_json::from_str(json).unwrap();
    let frames = document["frames"].as_object_mut().unwrap();
    for (_, frame) in frames {
        assert!(
            frame
                .as_object_mut()
                .unwrap()
                .remove("flamestack")
                .is_some()
        );
    }
    assert!(
        document
            .as_object_mut()
            .unwrap()
            .remove("flamestack")
            .is_some()
    );
    document
}

/// A project whose tree applies the real rules.
#[derive(Default)]
pub(crate) struct Project {
    pub(crate) tree: Tree,
    drawn: u64,
    foreign: Option<String>,
}

impl Project {
    pub(crate) fn prepare(&mut self, stack: &LegacyStack) -> PreparedImport {
        let tree = &self.tree;
        let known = |name: &str| {
            let by_id = name
                .parse::<FrameId>()
                .ok()
                .filter(|id| tree.frames().contains_key(id));
            let by_session = name.parse::<SessionRef>().ok();
            let by_session = by_session.and_then(|key| tree.session(&key).unwrap()?.own);
            by_id.or_else(|| tree.alias(name).unwrap()).or(by_session)
        };
        let drawn = &mut self.drawn;
        let mut fresh = || {
            *drawn += 1;
            FrameId::from_entropy(drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        };
        let last_rank = |parent: Option<&FrameId>| tree.last_rank(parent).unwrap();
        stack
            .import(&mut ImportTarget {
                fresh: &mut fresh,
                known: &known,
                last_rank: &last_rank,
            })
            .unwrap()
    }

    /// Reads a stack and imports it.
    pub(crate) fn import(&mut self, stack: &LegacyStack) -> PreparedImport {
        let prepared = self.prepare(stack);
        let import = prepared.import.clone();
        self.foreign = Some(import.foreign.clone());
        self.run("shell:here", &Command::Import(Box::new(import)));
        prepared
    }

    pub(crate) fn run(&mut self, session: &str, command: &Command) {
        let actor = Actor {
            session: session.parse().unwrap(),
            worktree: None,
            message: None,
            by: Author::User,
        };
        let decision = decide(&self.tree, &actor, command).unwrap();
        let batch = Seq(i64::try_from(self.tree.journal().len()).unwrap() + 1);
        for (seq, event) in (batch.0..).zip(decision.events) {
            let recorded = Recorded {
                seq: Seq(seq),
                batch,
                at: Timestamp(1_800_000_000_000 + batch.0),
                session: actor.session.clone(),
                message: None,
                by: actor.by,
                event,
            };
            self.tree.apply(recorded);
        }
    }

    pub(crate) fn frames(&self) -> Vec<Frame> {
        self.tree.frames().values().cloned().collect()
    }

    pub(crate) fn sessions(&self) -> Vec<Session> {
        self.tree.sessions().values().cloned().collect()
    }

    pub(crate) fn export(&self) -> ExportFiles {
        export(
            &self.frames(),
            &self.sessions(),
            self.foreign.as_deref(),
            &|_| None,
        )
    }

    /// Returns the frame with a former name.
    pub(crate) fn frame(&self, name: &str) -> &Frame {
        let id = self.tree.alias(name).unwrap();
        &self.tree.frames()[&id.unwrap_or_else(|| name.parse().unwrap())]
    }

    /// Renders the tree as titles, children after their parents.
    pub(crate) fn outline(&self) -> String {
        fn below(tree: &Tree, parent: Option<&FrameId>, depth: usize, lines: &mut String) {
            for frame in tree.children(parent) {
                let title: String = frame.title.as_str().chars().take(40).collect();
                let status = frame.status.as_str();
                let indent = "  ".repeat(depth);
                writeln!(lines, "{indent}{title} [{status}]").unwrap();
                below(tree, Some(&frame.id), depth + 1, lines);
            }
        }
        let mut lines = String::new();
        below(&self.tree, None, 0, &mut lines);
        lines
    }
}
