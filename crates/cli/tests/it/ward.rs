//! A store that is damaged on purpose, and the promises that hold whatever the damage.

use std::path::{Path, PathBuf};
use std::time::Duration;

use flamestack_core::Author;
use flamestack_core::SessionRef;
use flamestack_core::command::Actor;
use flamestack_engine::clock::StoryClock;
use flamestack_engine::request::{GoalInput, NoteInput, ParentInput, PlanInput};
use flamestack_engine::{Engine, Home, Project, Request};

use crate::ground::{Output, TestProject};

/// A project whose store can be damaged and put back again and again.
pub(crate) struct Ward {
    pub(crate) project: TestProject,
    pub(crate) healthy: Files,
    pub(crate) events: Vec<String>,
}

/// The bytes of a store.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Files {
    pub(crate) journal: Vec<u8>,
    pub(crate) wal: Option<Vec<u8>>,
}

impl Files {
    fn of(dir: &Path) -> Self {
        Self {
            journal: fs_err::read(dir.join("journal.db")).unwrap(),
            wal: fs_err::read(dir.join("journal.db-wal"))
                .ok()
                .filter(|wal| !wal.is_empty()),
        }
    }
}

impl Ward {
    /// A store of some 60 pages, with everything in its main file.
    pub(crate) fn new() -> Self {
        let project = TestProject::new();
        fill(&project);
        Self::take(project)
    }

    /// A store with its last commands still beside it, as after a crash or while others work.
    pub(crate) fn with_wal() -> Self {
        let project = TestProject::new();
        fill(&project);
        // The last connection to close cleans up, so one stays open.
        let stays = rusqlite::Connection::open(project.file("journal.db")).unwrap();
        let count = "SELECT count(*) FROM events";
        stays
            .query_row(count, [], |row| row.get::<_, i64>(0))
            .unwrap();
        for n in 0..20 {
            project.ok(&["note", "decision", &format!("late decision {n}")]);
        }
        let mut ward = Self::take(project);
        ward.healthy = Files::of(&ward.project.state());
        assert!(ward.healthy.wal.as_ref().unwrap().len() > 10_000);
        drop(stays);
        ward
    }

    fn take(project: TestProject) -> Self {
        Self {
            healthy: Files::of(&project.state()),
            events: project
                .journal()
                .into_iter()
                .map(|(_, _, _, body)| body)
                .collect(),
            project,
        }
    }

    /// Puts these files in place of whatever is there.
    pub(crate) fn put(&self, files: &Files) {
        let state = self.project.state();
        for entry in fs_err::read_dir(&state).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                fs_err::remove_dir_all(path).unwrap();
            } else {
                fs_err::remove_file(path).unwrap();
            }
        }
        fs_err::write(state.join("journal.db"), &files.journal).unwrap();
        if let Some(wal) = &files.wal {
            fs_err::write(state.join("journal.db-wal"), wal).unwrap();
        }
        self.close_to_others();
    }

    fn close_to_others(&self) {
        #[cfg(unix)]
        for entry in fs_err::read_dir(self.project.state()).unwrap() {
            use std::os::unix::fs::PermissionsExt;
            let private = std::fs::Permissions::from_mode(0o600);
            fs_err::set_permissions(entry.unwrap().path(), private).unwrap();
        }
    }

    /// Runs a command on damaged files. It works, or it is refused with a way on; where the store
    /// was set aside, it is there byte for byte.
    #[track_caller]
    pub(crate) fn attempt(
        &self,
        what: &str,
        damaged: &Files,
        line: &[&str],
    ) -> (Output, Option<PathBuf>) {
        self.put(damaged);
        let output = self.project.flame(line);
        let place = self.judge(what, &output);
        if let Some(place) = &place {
            assert!(
                Files::of(place) == *damaged,
                "{what}: the bytes are kept as they were"
            );
            assert!(!self.project.file("journal.db").exists(), "{what}");
        }
        (output, place)
    }

    /// Asserts that a command worked or said what to do, and returns where it moved the store.
    #[track_caller]
    pub(crate) fn judge(&self, what: &str, output: &Output) -> Option<PathBuf> {
        match output.code {
            Some(0) => None,
            Some(1) if output.stderr.is_empty() => {
                assert!(output.stdout.contains("`flame rebuild"), "{what}: {output}");
                None
            }
            Some(1) => {
                assert!(output.stderr.contains("`flame rebuild"), "{what}: {output}");
                let (_, place) = output.stderr.split_once("It was moved to ")?;
                let place = PathBuf::from(place.lines().next().unwrap());
                assert!(place.is_dir(), "{what}: {output}");
                Some(place)
            }
            _ => panic!("{what}: {output}"),
        }
    }

    /// Recovers what can be recovered; afterwards all that is there is well, what is known to be
    /// missing is said, nothing is there that never was, and the damaged files are still what they
    /// were. Returns how many events came back.
    #[track_caller]
    fn recover(&self, what: &str, place: Option<&Path>) -> usize {
        let before = place.map(Files::of);
        let line: &[&str] = if place.is_some() {
            &["rebuild"]
        } else {
            &["rebuild", "--recover"]
        };
        let output = self.project.flame(line);
        let in_part = ["could not be read", "could be read", "The end of that file"]
            .iter()
            .any(|loss| output.stdout.contains(loss));
        assert_eq!(output.code, Some(i32::from(in_part)), "{what}: {output}");
        assert!(
            place.map(Files::of) == before,
            "{what}: what was set aside is left alone"
        );
        self.well_but_for_losses(what, in_part);
        self.project.ok(&["tree", "--all"]);
        let now = self.project.journal();
        for (_, _, _, body) in &now {
            assert!(
                self.events.contains(body),
                "{what}: {body} was never written"
            );
        }
        now.len()
    }

    /// Asserts that nothing is wrong but that events are missing, if they are, and that this is no
    /// longer said once the damaged store is gone.
    #[track_caller]
    pub(crate) fn well_but_for_losses(&self, what: &str, in_part: bool) {
        if in_part {
            let doctor = self.project.flame(&["doctor"]);
            assert_eq!(doctor.code, Some(1), "{what}: {doctor}");
            let said = " came back from the store in ";
            assert!(doctor.stdout.contains(said), "{what}: {doctor}");
            fs_err::remove_dir_all(self.project.file("set-aside")).unwrap();
        }
        self.project.well();
    }

    /// Damages the store in one way and lets every kind of command meet it.
    #[track_caller]
    pub(crate) fn survive(&self, what: &str, damaged: &Files) -> usize {
        for line in [
            &["status"][..],
            &["note", "decision", "late decision 0"],
            &["tree", "--all"],
            &["doctor"],
        ] {
            let (output, place) = self.attempt(what, damaged, line);
            match (place, output.code) {
                (Some(place), _) => return self.recover(what, Some(&place)),
                (None, Some(1)) => return self.recover(what, None),
                _ => {}
            }
        }
        self.events.len()
    }
}

/// Fills a project's store. Ids and times come from a story, so that the same bytes are hit by the
/// same damage in every run.
fn fill(project: &TestProject) {
    let home = Home {
        state: project.dir().join("state"),
        config: project.dir().join("config"),
    };
    let here = Project::at(project.root(), &home).unwrap();
    let clock = Box::new(StoryClock::starting_at(1_767_603_600_000));
    let engine = Engine::new(here, clock, Duration::from_secs(5));
    let actor = Actor {
        session: SessionRef::shell("main"),
        worktree: Some("main".to_owned()),
        message: None,
        by: Author::User,
    };
    let execute = |request: Request| engine.commands().execute(&actor, &request).unwrap();
    execute(Request::Push {
        parent: ParentInput::Root,
        goal: GoalInput::titled("Root"),
    });
    let part = |n: usize| PlanInput {
        goal: GoalInput {
            title: format!("Part {n}"),
            criteria: Some(format!("Criteria of part {n}. ").repeat(8)),
            criteria_compacted: None,
        },
        children: Vec::new(),
    };
    execute(Request::Plan {
        parent: ParentInput::Active,
        items: (0..300).map(part).collect(),
    });
    let decide = |text: String, why: Option<String>| {
        execute(Request::Note {
            frame: None,
            note: NoteInput::Decision(text, why),
        });
    };
    for n in 0..12 {
        decide(format!("Decision {n}"), Some("because ".repeat(40)));
    }
    decide("late decision 0".to_owned(), None);
}
