//! Cost of whole calls, compared with Taskwarrior and with `flame --version`.
//!
//! Each call is a process of its own in a home of its own. CPU time and peak memory are the
//! kernel's figures for that one process; calls that are compared take turns.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use flamestack_bench::{
    Cost, History, Series, Setting, Shape, Table, TreeQuery, frame_id, print, ratio, say,
    stands_here,
};
use flamestack_engine::{Home, Project};
use wait4::Wait4 as _;

/// Largest accepted ratio of `flame status` to `flame --version`.
const STATUS_TARGET: f64 = 3.0;
const STATUS_FRAMES: u64 = 100_000;
const SIZES: [u64; 3] = [0, 1_000, 10_000];
const WARM_UP: usize = 3;

fn main() -> Result<()> {
    let Some(setting) = Setting::of_process()? else {
        return Ok(());
    };
    if let [seed, dir, shape, frames, stand] = setting.words.as_slice()
        && seed == "seed"
    {
        let shape = Shape::from_name(shape).context("no such shape")?;
        let stand = Stand::ALL.into_iter().find(|known| known.name() == stand);
        return seed_here(&setting, Path::new(dir), shape, frames.parse()?, stand);
    }
    let rounds = if setting.quick { 30 } else { 60 };
    let flame = setting.flame()?;
    floor(&setting, &flame, rounds)?;
    status(&setting, &flame, rounds)?;
    if let Some(task) = taskwarrior() {
        for size in SIZES {
            side_by_side(&setting, &flame, &task, size, rounds)?;
        }
    }
    Ok(())
}

/// The active frame of the shell within a history.
#[derive(Clone, Copy)]
enum Stand {
    TreeQuery,
    Parent,
    Child,
}

impl Stand {
    const ALL: [Self; 3] = [Self::TreeQuery, Self::Parent, Self::Child];

    fn name(self) -> &'static str {
        match self {
            Self::TreeQuery => "in an ordinary neighbourhood",
            Self::Parent => "on the parent of all",
            Self::Child => "on the last child of that parent",
        }
    }
}

/// A home in which both programs find nothing of the user's.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new(setting: &Setting) -> Result<Self> {
        let dir = setting.scratch()?;
        for name in ["home", "project/.git", "state", "tasks"] {
            fs_err::create_dir_all(dir.path().join(name))?;
        }
        let place = Self { dir };
        let taskrc = format!(
            "data.location={}\nconfirmation=no\nnews.version=2.6.0\n",
            place.path("tasks").display()
        );
        fs_err::write(place.path("home/taskrc"), taskrc)?;
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("home/config"))
            .env("XDG_DATA_HOME", self.path("home/data"))
            .env("XDG_STATE_HOME", self.path("home/state"))
            .env("TASKRC", self.path("home/taskrc"))
            .env("TASKDATA", self.path("tasks"))
            .env("FLAME_STATE_DIR", self.path("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Runs a program to its end and returns its cost.
    fn run(&self, program: &Path, arguments: &[&str]) -> Result<Cost> {
        let mut command = self.command(program, arguments);
        let begun = Instant::now();
        let child = command.spawn()?;
        let used = child.wait4()?;
        let wall = begun.elapsed();
        ensure!(
            used.status.success(),
            "`{} {}` failed",
            program.display(),
            arguments.join(" ")
        );
        Ok(Cost {
            wall,
            cpu: used.rusage.utime + used.rusage.stime,
            memory: used.rusage.maxrss,
        })
    }

    /// Fills the project with frames, in a process of its own: Linux counts the memory of the
    /// process that starts a program towards that program's peak, so this one must stay small.
    fn seed(&self, shape: Shape, frames: u64, stand: Option<Stand>) -> Result<()> {
        let status = Command::new(std::env::current_exe()?)
            .args(["--bench", "seed"])
            .arg(self.dir.path())
            .args([shape.name(), &frames.to_string()])
            .arg(stand.map_or("nowhere", Stand::name))
            .status()?;
        if status.success() {
            Ok(())
        } else {
            bail!("the project could not be filled")
        }
    }
}

/// The other end of [`Place::seed`].
fn seed_here(
    setting: &Setting,
    dir: &Path,
    shape: Shape,
    frames: u64,
    stand: Option<Stand>,
) -> Result<()> {
    let home = Home {
        state: dir.join("state"),
        config: dir.join("home/config/flamestack"),
    };
    let project = Project::at(&dir.join("project"), &home)?;
    let mut history = History::copy_to(&project.dir, setting, shape, frames)?;
    let frame = match stand {
        None => return Ok(()),
        Some(Stand::TreeQuery) => TreeQuery::below(&mut history)?.focus,
        Some(Stand::Parent) => frame_id(0),
        Some(Stand::Child) => frame_id(frames - 1),
    };
    stands_here(&mut history, &frame)
}

/// Measures the start of a process.
fn floor(setting: &Setting, flame: &Path, rounds: usize) -> Result<()> {
    let place = Place::new(setting)?;
    let (mut nothing, mut version) = (Series::default(), Series::default());
    for round in 0..WARM_UP + rounds {
        let costs = [
            place.run(Path::new("/bin/true"), &[])?,
            place.run(flame, &["--version"])?,
        ];
        if round >= WARM_UP {
            nothing.add(costs[0]);
            version.add(costs[1]);
        }
    }
    let mut table = Table::new(["", "wall ms", "CPU ms", "peak MB"]);
    for (name, series) in [("/bin/true", &nothing), ("flame --version", &version)] {
        table.row([
            name.to_owned(),
            format!("{:.2}", series.wall() / 1e3),
            format!("{:.2}", series.cpu() / 1e3),
            format!("{:.1}", series.memory()),
        ]);
    }
    print("Starting a process", &table, "");
    Ok(())
}

/// `flame status` in a large project against `flame --version`.
fn status(setting: &Setting, flame: &Path, rounds: usize) -> Result<()> {
    let mut table = Table::new([
        "100,000 frames",
        "status wall ms",
        "CPU ms",
        "peak MB",
        "--version wall ms",
        "CPU ms",
        "wall ratio",
        "CPU ratio",
    ]);
    let near = Shape::ALL.map(|shape| (shape, Stand::TreeQuery));
    let crowded = [Stand::Parent, Stand::Child].map(|stand| (Shape::Wide, stand));
    for (shape, stand) in near.into_iter().chain(crowded) {
        let place = Place::new(setting)?;
        place.seed(shape, STATUS_FRAMES, Some(stand))?;
        let (mut status, mut version) = (Series::default(), Series::default());
        for round in 0..WARM_UP + rounds {
            let costs = [
                place.run(flame, &["status"])?,
                place.run(flame, &["--version"])?,
            ];
            if round >= WARM_UP {
                status.add(costs[0]);
                version.add(costs[1]);
            }
        }
        table.row([
            format!("{}, {}", shape.name(), stand.name()),
            format!("{:.2}", status.wall() / 1e3),
            format!("{:.2}", status.cpu() / 1e3),
            format!("{:.1}", status.memory()),
            format!("{:.2}", version.wall() / 1e3),
            format!("{:.2}", version.cpu() / 1e3),
            ratio(status.wall(), version.wall(), Some(STATUS_TARGET)),
            ratio(status.cpu(), version.cpu(), Some(STATUS_TARGET)),
        ]);
    }
    print("A cold `flame status`", &table, "");
    Ok(())
}

/// Path of Taskwarrior, if it is installed. Everything else is measured without it too.
fn taskwarrior() -> Option<PathBuf> {
    let task = PathBuf::from("/usr/bin/task");
    if !task.exists() {
        // Works for root; for other users it fails immediately and changes nothing.
        say("installing Taskwarrior to compare with …");
        let installed = Command::new("apt-get")
            .args(["install", "-y", "taskwarrior"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !installed.is_ok_and(|status| status.success()) {
            say("Taskwarrior is not here, so nothing is compared with it: \
                 `sudo apt-get install taskwarrior` installs it.");
        }
    }
    task.exists().then_some(task)
}

/// The same three things in both programs, at one size.
fn side_by_side(
    setting: &Setting,
    flame: &Path,
    task: &Path,
    items: u64,
    rounds: usize,
) -> Result<()> {
    let place = Place::new(setting)?;
    say(&format!("measuring against Taskwarrior at {items} items …"));
    place.seed(Shape::Wide, items + 1, None)?;
    fill_taskwarrior(&place, task, items)?;
    let root = frame_id(0).to_string();
    let shown = frame_id(items.div_ceil(2)).to_string();
    let task_shown = items.div_ceil(2).max(1).to_string();
    let pairs: [(&str, Vec<&str>, Vec<&str>); 4] = [
        (
            "push / add",
            vec!["push", "--parent", &root, "Add the refresh endpoint"],
            vec!["add", "Add the refresh endpoint"],
        ),
        (
            "show / info",
            vec!["show", &shown],
            vec![&task_shown, "info"],
        ),
        (
            "tree --depth 2 / list",
            vec!["tree", "--depth", "2"],
            vec!["list"],
        ),
        (
            "tree --depth 2 --all / list",
            vec!["tree", "--depth", "2", "--all"],
            vec!["list"],
        ),
    ];
    let mut costs: Vec<(Series, Series)> = vec![Default::default(); pairs.len()];
    for round in 0..WARM_UP + rounds {
        for ((_, ours, theirs), (our_series, their_series)) in pairs.iter().zip(&mut costs) {
            let (our_cost, their_cost) = (place.run(flame, ours)?, place.run(task, theirs)?);
            if round >= WARM_UP {
                our_series.add(our_cost);
                their_series.add(their_cost);
            }
        }
    }
    let mut table = Table::new([
        &format!("{items} items: flame / task"),
        "flame wall ms",
        "CPU ms",
        "peak MB",
        "task wall ms",
        "CPU ms",
        "peak MB",
        "CPU ratio",
        "memory ratio",
    ]);
    for ((name, ..), (ours, theirs)) in pairs.iter().zip(&costs) {
        table.row([
            (*name).to_owned(),
            format!("{:.2}", ours.wall() / 1e3),
            format!("{:.2}", ours.cpu() / 1e3),
            format!("{:.1}", ours.memory()),
            format!("{:.2}", theirs.wall() / 1e3),
            format!("{:.2}", theirs.cpu() / 1e3),
            format!("{:.1}", theirs.memory()),
            ratio(ours.cpu(), theirs.cpu(), Some(1.0)),
            ratio(ours.memory(), theirs.memory(), Some(1.0)),
        ]);
    }
    print(&format!("Against Taskwarrior, {items} items"), &table, "");
    Ok(())
}

/// Gives Taskwarrior as many tasks, through its own `import`.
fn fill_taskwarrior(place: &Place, task: &Path, items: u64) -> Result<()> {
    if items > 0 {
        let mut tasks = String::from("[");
        for n in 0..items {
            let comma = if n == 0 { "" } else { "," };
            write!(
                tasks,
                "{comma}\n{{\"description\":\"One of very many frames {n}\",\
                 \"entry\":\"20260101T000000Z\",\"status\":\"pending\"}}"
            )?;
        }
        tasks.push_str("\n]\n");
        let file = place.path("tasks.json");
        fs_err::write(&file, tasks)?;
        place.run(task, &["import", &file.to_string_lossy()])?;
    }
    // Numbers tasks, as it would on the next call.
    place.run(task, &["add", "The first one"])?;
    Ok(())
}
