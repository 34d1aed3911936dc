//! Trees in which contexts are made: ordinary neighbourhoods, and crowds of one kind of relative.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use flamestack_bench::{History, actor};
use flamestack_core::Author;
use flamestack_core::decide::Decided;
use flamestack_core::event::{Closing, Event, Goal, Results};
use flamestack_core::frame::{Origin, Rank};
use flamestack_core::id::FrameId;
use flamestack_core::note::Note;
use flamestack_core::text::{Text, Title};
use flamestack_engine::{Clock as _, Project, SystemClock};
use flamestack_store::{OpenOptions, SqliteStore, Store as _};

/// A frame whose context is wanted.
pub(crate) struct Place {
    pub(crate) focus: FrameId,
}

/// The kind of relative that a frame has very many of.
#[derive(Clone, Copy)]
pub(crate) enum Crowd {
    Siblings,
    Levels,
    Planned,
}

impl Crowd {
    pub(crate) const ALL: [Self; 3] = [Self::Siblings, Self::Levels, Self::Planned];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Siblings => "siblings",
            Self::Levels => "levels",
            Self::Planned => "planned children",
        }
    }

    /// A store in which a frame has that many of them, and otherwise an ordinary `tree_query`.
    pub(crate) fn built(self, dir: &Path, size: usize) -> Result<Place> {
        let mut store = OpenOptions::default().open(dir)?;
        let (levels, siblings, planned) = match self {
            Self::Siblings => (5, size, 3),
            Self::Levels => (size, 20, 3),
            Self::Planned => (5, 20, size),
        };
        Place::built(&mut store, None, levels, siblings, planned)
    }
}

impl Place {
    /// A tree of its own: five frames above, twenty finished ones beside, three planned ones below.
    pub(crate) fn ordinary(history: &mut History) -> Result<Self> {
        Self::built(&mut history.store, None, 5, 20, 3)
    }

    /// The same as part of the history: what hangs above and beside that is there too.
    pub(crate) fn inside(history: &mut History) -> Result<Self> {
        let anchor = history.anchor;
        Self::built(&mut history.store, Some(anchor), 5, 20, 3)
    }

    fn built(
        store: &mut SqliteStore,
        above: Option<FrameId>,
        levels: usize,
        siblings: usize,
        planned: usize,
    ) -> Result<Self> {
        let mut plot = Story {
            events: Vec::new(),
            // After all frames that are there, including those of an earlier run.
            rank: SystemClock.now().0 % (1 << 30),
        };
        let mut parent = above;
        for level in 0..levels {
            let title = format!("Level {level}: orders and payments of the web shop");
            parent = Some(plot.open(parent, &title, false)?);
            plot.note(parent.as_ref(), level)?;
        }
        for number in 0..siblings {
            let title = format!("Add endpoint {number} to src/api/orders_{}.rs", number % 40);
            let sibling = plot.open(parent, &title, false)?;
            plot.close(sibling, number)?;
        }
        let focus = plot.open(parent, "Refund orders in src/api/orders_7.rs", false)?;
        for number in 0..planned {
            let title = format!("Step {number}: cover refunds of kind {number} by a test");
            plot.open(Some(focus), &title, true)?;
        }
        plot.record(store)?;
        Ok(Self { focus })
    }
}

/// Events that build a place.
struct Story {
    events: Vec<Event>,
    rank: i64,
}

impl Story {
    fn open(&mut self, parent: Option<FrameId>, title: &str, planned: bool) -> Result<FrameId> {
        let frame = SystemClock.draw_id();
        self.rank += 1;
        self.events.push(Event::FrameOpened {
            frame,
            parent,
            rank: Rank(self.rank << 32),
            planned,
            origin: Origin::Asked,
            goal: Goal {
                title: Title::new(title)?,
                criteria: Some(Text::new(
                    "A test that failed before passes, the documentation names the new \
                     behaviour, and callers need no change.",
                )?),
                criteria_compacted: None,
            },
        });
        Ok(frame)
    }

    fn note(&mut self, frame: Option<&FrameId>, level: usize) -> Result<()> {
        if let Some(frame) = frame {
            self.events.push(Event::Noted {
                frame: *frame,
                note: Note::Decision {
                    text: Text::new(&format!("Money is counted in cents, rule {level}"))?,
                    why: Some(Text::new("rounding errors cost us a day")?),
                    by: Author::Agent,
                },
            });
        }
        Ok(())
    }

    fn close(&mut self, frame: FrameId, number: usize) -> Result<()> {
        let file = format!("src/api/orders_{}.rs", number % 40);
        self.events.push(Event::Noted {
            frame,
            note: Note::Artifact(Text::new(&file)?),
        });
        let results = format!(
            "POST /orders/{number} answers 201 with the id of the order; `OrderStore::insert` in \
             {file} checks the cart first. Tests in tests/orders_{number}.rs cover an empty \
             cart, an unknown article and a double submit; the error type is `OrderError`."
        );
        self.events.push(Event::FrameClosed {
            frame,
            outcome: Closing::Completed,
            results: Results {
                full: Text::new(&results)?,
                compacted: None,
            },
            cascaded: Vec::new(),
        });
        Ok(())
    }

    fn record(self, store: &mut SqliteStore) -> Result<()> {
        let mut events = Some(self.events);
        let decide = &mut |_: &dyn flamestack_store::Reading| {
            Ok(Decided {
                events: events.take().unwrap_or_default(),
                remarks: Vec::new(),
            })
        };
        store
            .commit(SystemClock.now(), &actor("bench:seed")?, decide)
            .map_err(|rejected| anyhow!("{rejected}"))?;
        Ok(())
    }
}

/// A project whose state is in a directory.
pub(crate) fn project(dir: &Path) -> Project {
    Project {
        root: dir.to_owned(),
        identity: dir.to_owned(),
        worktree: "main".to_owned(),
        dir: dir.to_owned(),
        found: flamestack_engine::project::Found::Here,
    }
}

/// Returns the current and the peak memory of this process, in megabytes.
pub(crate) fn memory() -> Result<(f64, f64)> {
    let status = fs_err::read_to_string("/proc/self/status")?;
    let of = |name: &str| -> Result<f64> {
        let line = status.lines().find(|line| line.starts_with(name));
        let line = line.with_context(|| format!("the kernel does not tell {name}"))?;
        let number = line.split_whitespace().nth(1).context("no number")?;
        Ok(number.parse::<f64>()? * 1024.0 / 1e6)
    };
    Ok((of("VmRSS:")?, of("VmHWM:")?))
}
