//! Briefs of file trees.

mod bugs;
mod conversations;
mod defects;
mod doubts;
mod finished;
mod frames;
mod generic;
mod habits;
mod hostile;
mod other_workflows;
mod specs;
mod tree;

use std::path::Path;
use std::time::Duration;

use flamestack_brief::{Brief, Heading};
use flamestack_engine::brief::{BriefRequest, gather_workflows};
use flamestack_engine::clock::StoryClock;
use flamestack_engine::{Engine, Home, Project};

pub(crate) use self::tree::SpecTree;

/// A project made of files.
pub(crate) struct Files {
    dir: tempfile::TempDir,
    home: Home,
    pub(crate) engine: Engine,
}

impl Files {
    /// Files drawn one below the other: `=== path`, then what is in it.
    pub(crate) fn drawn(drawing: impl AsRef<str>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        fs_err::create_dir(&root).unwrap();
        write(&root, drawing.as_ref());
        let home = Home {
            state: dir.path().join("state"),
            config: dir.path().join("config"),
        };
        let project = Project::at(&root, &home).unwrap();
        let clock = Box::new(StoryClock::starting_at(0));
        let engine = Engine::new(project, clock, Duration::from_secs(5));
        Self { dir, home, engine }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.engine.project().root
    }

    /// The folder that holds the project and the user's settings.
    pub(crate) fn around(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn brief(&self) -> Brief {
        self.asked(&BriefRequest::default())
    }

    pub(crate) fn asked(&self, asked: &BriefRequest) -> Brief {
        let workflows = gather_workflows(&self.home, self.engine.project());
        self.engine.brief(asked, &workflows).unwrap()
    }
}

pub(crate) fn write(root: &Path, drawing: &str) {
    for file in drawing.split("=== ").skip(1) {
        let (path, text) = file.split_once('\n').unwrap();
        let path = root.join(path.trim());
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }
}

/// The brief of a drawn project: the sections that say something.
pub(crate) fn said(drawing: impl AsRef<str>) -> String {
    let files = Files::drawn(drawing);
    let text = spoken(&files.brief());
    text.replace(&format!("{}/", files.root().display()), "")
}

/// The sections of a brief that say something, without the gate's fixed texts.
pub(crate) fn spoken(brief: &Brief) -> String {
    let mut text = String::new();
    for section in &brief.sections {
        let is_fixed = matches!(
            section.heading,
            Heading::SourceArtifacts
                | Heading::Gate
                | Heading::DoneCriteria
                | Heading::WorkflowType
        );
        if is_fixed || (section.lines.is_empty() && section.omitted == 0) {
            continue;
        }
        text.push_str(&format!("{}\n", section.heading.as_str()));
        for line in &section.lines {
            text.push_str(&format!("  {}  [{}]\n", line.text, line.source));
        }
        if section.omitted > 0 {
            text.push_str(&format!("  ({} more)\n", section.omitted));
        }
    }
    for note in &brief.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

/// Returns the lines of a brief under a heading.
pub(crate) fn under(brief: &Brief, heading: Heading) -> Vec<String> {
    let section = brief.section(heading).into_iter();
    section
        .flat_map(|section| &section.lines)
        .map(|line| line.text.clone())
        .collect()
}
