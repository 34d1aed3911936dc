//! Worktrees in a simulated run with the real git: the calls of git are steps like others.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use crate::sim::{Death, SimPrompt, SimReply, Simulation, Victim};
use flamestack_orchestrator::{InterruptedPolicy, RunEnding, RunOptions, Strategy, Worktrees};

/// Runs git and returns its output; a merge with conflicts is not a failure here.
fn git(place: &Path, words: &[&str]) -> String {
    let name = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let mut command = Command::new("git");
    let output = command.args(name).args(words).current_dir(place).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

fn write(place: &Path, text: &str) {
    fs_err::write(place.join("page.txt"), text).unwrap();
}

/// The work of two frames that change one file, and of the one that brings both together.
fn work(project: &Path, prompt: &SimPrompt) -> SimReply {
    let place = prompt.directory.as_deref().unwrap_or(project);
    match prompt.title.as_str() {
        "Left" | "Right" => write(place, &format!("{}\n", prompt.title)),
        title if title.starts_with("Merge the work of: ") => {
            let branch = prompt.history.iter().find_map(|text| {
                let (_, rest) = text.split_once("`git merge ")?;
                rest.split_once('`').map(|(branch, _)| branch.to_owned())
            });
            git(project, &["merge", &branch.unwrap()]);
            write(project, "Left and Right\n");
            git(project, &["commit", "--quiet", "--all", "-m", "Both"]);
        }
        _ => {}
    }
    SimReply::text(&format!("FRAME_COMPLETE: {} is done", prompt.title))
}

/// A run in a repository of its own.
struct Story {
    _dir: tempfile::TempDir,
    project: PathBuf,
    run: Simulation,
}

impl Story {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        fs_err::create_dir(&project).unwrap();
        git(&project, &["init", "--quiet", "--initial-branch=main"]);
        write(&project, "empty\n");
        git(&project, &["add", "."]);
        git(&project, &["commit", "--quiet", "-m", "Begin"]);
        let place = project.clone();
        let mut run = Simulation::new("Page", Rc::new(move |prompt| work(&place, prompt)));
        run.worktrees = Worktrees::new(&project, &dir.path().join("trees"));
        run.options = RunOptions {
            strategy: Strategy::Parallel,
            jobs: 2,
            worktrees: true,
            interrupted: InterruptedPolicy::Continue,
            ..RunOptions::default()
        };
        let root = run.root();
        run.plan(root, "Left");
        run.plan(root, "Right");
        Self {
            _dir: dir,
            project,
            run,
        }
    }

    /// Plays it with deaths. Returns the prompts that were sent.
    fn play(mut self, deaths: &[Death]) -> (Vec<String>, Vec<(u64, String)>) {
        assert_eq!(self.run.run(deaths).unwrap(), RunEnding::Completed);
        let place = &self.project;
        let text = fs_err::read_to_string(place.join("page.txt")).unwrap();
        assert_eq!(text, "Left and Right\n");
        assert_eq!(git(place, &["status", "--porcelain"]), "");
        assert_eq!(git(place, &["branch", "--list"]), "* main\n");
        assert_eq!(git(place, &["worktree", "list"]).lines().count(), 1);
        let world = self.run.world.borrow();
        let frames = world.frames();
        assert_eq!(frames.len(), 4, "{frames:?}");
        assert!(frames.values().all(|(status, _)| status == "completed"));
        let points = (1..).zip(&world.points);
        let points = points.map(|(number, (name, _))| (number, name.clone()));
        (world.prompts(), points.collect())
    }
}

#[test]
fn crash_matrix_of_worktrees() {
    let (calm, points) = Story::new().play(&[]);
    let of_git = |name: &str| name.ends_with("worktree") || name.ends_with("merge");
    let points: Vec<u64> = points
        .into_iter()
        .filter_map(|(number, name)| of_git(&name).then_some(number))
        .collect();
    // Two worktrees and three merges, each announced and recorded, each with three moments.
    assert_eq!(points.len(), 30);
    for point in points {
        for victim in [Victim::Driver, Victim::Both] {
            let (prompts, _) = Story::new().play(&[Death { point, victim }]);
            let cut = |line: &&String| line.contains("interrupted by a crash");
            let prompts: Vec<&String> = prompts.iter().filter(|line| !cut(line)).collect();
            assert_eq!(
                prompts,
                calm.iter().collect::<Vec<_>>(),
                "{victim:?} at {point}"
            );
        }
    }
}
