//! Plans of `flame run`: a list in Markdown, TOML or JSON.

use std::collections::BTreeMap;
use std::path::Path;

use flamestack_core::FrameId;
use flamestack_core::command::PlanItem;
use flamestack_core::event::Goal;
use flamestack_core::{Text, Title};
use flamestack_engine::Clock;
use flamestack_engine::request::PlanInput;
use flamestack_orchestrator::{FrameOptions, FrameSetup, Limits, ModelName};
use serde::Deserialize;

use super::super::plan::outline;
use super::super::{existing, utf8};
use crate::failure::Failure;

/// Marks the frames that one waits for, in a list.
const AFTER: &str = "(after: ";

/// A plan.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    /// The goal.
    #[serde(default)]
    goal: String,
    /// Success criteria of the goal.
    criteria: Option<String>,
    /// Frames below the goal.
    #[serde(default)]
    frames: Vec<PlannedFrame>,
}

/// A frame of a plan.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlannedFrame {
    title: String,
    criteria: Option<String>,
    /// Titles of the frames that must be completed first.
    #[serde(default)]
    after: Vec<String>,
    model: Option<String>,
    agent: Option<String>,
    retries: Option<u32>,
    #[serde(default)]
    without_tools: Vec<String>,
    max_tokens: Option<u64>,
    max_cost: Option<f64>,
    max_turns: Option<u64>,
    max_depth: Option<u64>,
    max_frames: Option<u64>,
    max_minutes: Option<u64>,
    #[serde(default)]
    children: Vec<PlannedFrame>,
}

impl Plan {
    /// Reads a plan, or makes one of a goal alone.
    pub(super) fn read(goal: Option<&str>, file: Option<&Path>) -> Result<Self, Failure> {
        let mut plan = match file {
            Some(file) => Self::from_file(file)?,
            None => Self::default(),
        };
        if let Some(goal) = goal {
            goal.clone_into(&mut plan.goal);
        }
        if plan.goal.trim().is_empty() {
            return Err(Failure::usage(
                "the goal is empty",
                "name it: `flame run \"Build a REST API\"`",
            ));
        }
        Ok(plan)
    }

    fn from_file(file: &Path) -> Result<Self, Failure> {
        existing(file)?;
        let name = file.display().to_string();
        let text = utf8(&name, fs_err::read(file)?)?;
        let bad = |error: String| {
            let hint = "see `docs/run.md` for the fields of a plan";
            Failure::refused(format!("{name}: {error}"), hint)
        };
        let kind = file.extension().and_then(|end| end.to_str());
        let mut plan = match kind.unwrap_or_default() {
            "toml" => toml::from_str(&text).map_err(|error| bad(error.to_string()))?,
            "json" => serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?,
            _ => Self::from_list(&text)?,
        };
        if plan.goal.trim().is_empty() {
            let stem = file.file_stem().unwrap_or_default();
            plan.goal = stem.to_string_lossy().into_owned();
        }
        if plan.frames.is_empty() {
            return Err(bad("no frame is planned".to_owned()));
        }
        Ok(plan)
    }

    /// Reads a list; its first heading is the goal.
    fn from_list(text: &str) -> Result<Self, Failure> {
        let items = outline(text)?.items;
        let mut lines = text.lines();
        let heading = lines.find_map(|line| line.strip_prefix("# "));
        Ok(Self {
            goal: heading.unwrap_or_default().trim().to_owned(),
            criteria: None,
            frames: items.into_iter().map(PlannedFrame::listed).collect(),
        })
    }

    /// Draws ids and checks everything. Returns the goal's id, the plan and the frames' options.
    pub(super) fn draw(
        self,
        clock: &dyn Clock,
    ) -> Result<(FrameId, PlanItem, Vec<FrameSetup>), Failure> {
        let mut drawn = Drawn {
            clock,
            ids: BTreeMap::new(),
            setups: Vec::new(),
            titles: BTreeMap::new(),
        };
        let root = clock.draw_id();
        let children = drawn.all(&self.frames)?;
        let item = PlanItem {
            id: root,
            goal: goal(&self.goal, self.criteria.as_deref())?,
            children,
        };
        let setups = drawn.finish()?;
        Ok((root, item, setups))
    }
}

impl PlannedFrame {
    /// Makes a frame of an item of a list.
    fn listed(item: PlanInput) -> Self {
        let (title, mut after) = waits_for(&item.goal.title);
        let criteria = item.goal.criteria.as_deref().map(waits_for);
        let criteria = criteria.map(|(criteria, more)| {
            after.extend(more);
            criteria
        });
        Self {
            title,
            criteria: criteria.filter(|text| !text.is_empty()),
            after,
            children: item.children.into_iter().map(Self::listed).collect(),
            ..Self::default()
        }
    }
}

/// Takes `(after: a, b)` from the end of a text.
fn waits_for(text: &str) -> (String, Vec<String>) {
    let text = text.trim();
    let found = text
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once(AFTER));
    match found {
        Some((rest, names)) => {
            let names = names.split(',').map(|name| name.trim().to_owned());
            (rest.trim().to_owned(), names.collect())
        }
        None => (text.to_owned(), Vec::new()),
    }
}

/// Frames of a plan that have their ids.
struct Drawn<'c> {
    clock: &'c dyn Clock,
    ids: BTreeMap<String, FrameId>,
    setups: Vec<(FrameId, Vec<String>, FrameOptions)>,
    titles: BTreeMap<FrameId, String>,
}

impl Drawn<'_> {
    fn all(&mut self, frames: &[PlannedFrame]) -> Result<Vec<PlanItem>, Failure> {
        frames.iter().map(|frame| self.one(frame)).collect()
    }

    fn one(&mut self, frame: &PlannedFrame) -> Result<PlanItem, Failure> {
        let id = self.clock.draw_id();
        self.ids
            .entry(frame.title.trim().to_lowercase())
            .or_insert(id);
        self.titles.insert(id, frame.title.trim().to_owned());
        let model = frame.model.as_deref().map(str::parse::<ModelName>);
        let model = model.transpose().map_err(|problem| {
            Failure::refused(problem, "such as `anthropic/claude-sonnet-4-5`")
        })?;
        let options = FrameOptions {
            after: Vec::new(),
            limits: Limits {
                tokens: frame.max_tokens,
                cost: frame.max_cost,
                turns: frame.max_turns,
                depth: frame.max_depth,
                frames: frame.max_frames,
                wall_ms: frame
                    .max_minutes
                    .map(|minutes| minutes.saturating_mul(60_000)),
            },
            retries: frame.retries,
            model,
            agent: frame.agent.clone(),
            without_tools: frame.without_tools.clone(),
        };
        self.setups.push((id, frame.after.clone(), options));
        Ok(PlanItem {
            id,
            goal: goal(&frame.title, frame.criteria.as_deref())?,
            children: self.all(&frame.children)?,
        })
    }

    /// Resolves the titles that frames wait for, and keeps the options that say anything.
    fn finish(self) -> Result<Vec<FrameSetup>, Failure> {
        let mut all = Vec::new();
        for (frame, after, mut options) in self.setups {
            for title in after {
                let found = self.ids.get(&title.trim().to_lowercase());
                let found = found.filter(|found| **found != frame).ok_or_else(|| {
                    Failure::refused(
                        format!("no other frame of the plan is called `{title}`"),
                        "name a frame by its title",
                    )
                })?;
                options.after.push(*found);
            }
            if options != FrameOptions::default() {
                all.push(FrameSetup { frame, options });
            }
        }
        if let Some(stuck) = circle(&all) {
            let title = |id: &FrameId| self.titles.get(id).map_or("", String::as_str);
            let titles: Vec<String> = stuck.iter().map(|id| format!("“{}”", title(id))).collect();
            return Err(Failure::refused(
                format!(
                    "frames of the plan wait for each other: {}",
                    titles.join(" → ")
                ),
                "remove one `after` of them",
            ));
        }
        Ok(all)
    }
}

/// Returns frames of which each waits for the next, from one to itself.
fn circle(setups: &[FrameSetup]) -> Option<Vec<FrameId>> {
    let after: BTreeMap<FrameId, &Vec<FrameId>> = setups
        .iter()
        .map(|setup| (setup.frame, &setup.options.after))
        .collect();
    setups.iter().find_map(|setup| {
        let start = &setup.frame;
        let mut seen = Vec::new();
        let mut next = vec![vec![*start]];
        while let Some(path) = next.pop() {
            for id in path
                .last()
                .and_then(|last| after.get(last))
                .into_iter()
                .flat_map(|ids| ids.iter())
            {
                let longer = [path.as_slice(), &[*id]].concat();
                if id == start {
                    return Some(longer);
                }
                if !seen.contains(id) {
                    seen.push(*id);
                    next.push(longer);
                }
            }
        }
        None
    })
}

fn goal(title: &str, criteria: Option<&str>) -> Result<Goal, Failure> {
    let bad = |problem: flamestack_core::text::TextProblem| {
        Failure::refused(format!("`{title}` {problem}"), "shorten it, or fill it in")
    };
    Ok(Goal {
        title: Title::new(title).map_err(bad)?,
        criteria: criteria
            .filter(|text| !text.trim().is_empty())
            .map(Text::new)
            .transpose()
            .map_err(bad)?,
        criteria_compacted: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flamestack_engine::clock::StoryClock;

    fn read(name: &str, text: &str) -> Result<(PlanItem, Vec<FrameSetup>), String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(name);
        fs_err::write(&file, text).unwrap();
        let plan = Plan::read(None, Some(&file)).map_err(|error| format!("{error:?}"))?;
        let clock = StoryClock::starting_at(0);
        let (_, item, setups) = plan.draw(&clock).map_err(|error| format!("{error:?}"))?;
        Ok((item, setups))
    }

    #[test]
    fn the_three_formats_say_the_same() {
        let list = "# Shop\n\n- Schema | tables exist\n- API (after: Schema)\n  - Auth\n";
        let toml = "goal = \"Shop\"\n[[frames]]\ntitle = \"Schema\"\ncriteria = \"tables exist\"\n[[frames]]\ntitle = \"API\"\nafter = [\"schema\"]\n[[frames.children]]\ntitle = \"Auth\"\n";
        let json = r#"{"goal": "Shop", "frames": [{"title": "Schema", "criteria": "tables exist"}, {"title": "API", "after": ["Schema"], "children": [{"title": "Auth"}]}]}"#;
        let list = read("plan.md", list).unwrap();
        assert_eq!(list, read("plan.toml", toml).unwrap());
        assert_eq!(list, read("plan.json", json).unwrap());
        assert_eq!(list.0.goal.title.as_str(), "Shop");
        assert_eq!(list.1[0].options.after, [list.0.children[0].id]);
    }

    #[test]
    fn each_frame_has_its_options() {
        let toml = "[[frames]]\ntitle = \"a\"\nmodel = \"p/m\"\nagent = \"plan\"\nretries = 3\nwithout_tools = [\"bash\"]\nmax_tokens = 1\nmax_cost = 2.5\nmax_turns = 3\nmax_depth = 4\nmax_frames = 5\nmax_minutes = 6\n";
        let (item, setups) = read("the-plan.toml", toml).unwrap();
        assert_eq!(item.goal.title.as_str(), "the-plan");
        let options = &setups[0].options;
        assert_eq!(options.model, Some("p/m".parse().unwrap()));
        assert_eq!(
            (options.agent.as_deref(), options.retries),
            (Some("plan"), Some(3))
        );
        assert_eq!(options.without_tools, ["bash"]);
        let limits = Limits {
            tokens: Some(1),
            cost: Some(2.5),
            turns: Some(3),
            depth: Some(4),
            frames: Some(5),
            wall_ms: Some(360_000),
        };
        assert_eq!(options.limits, limits);
    }

    #[test]
    fn bad_plans_are_refused() {
        for (name, text, part) in [
            ("a.toml", "frames = 1", "a.toml"),
            ("a.json", "{\"frames\": [{\"titel\": \"x\"}]}", "titel"),
            ("a.md", "", "no frame"),
            ("a.md", "- a (after: b)", "called `b`"),
            (
                "a.md",
                "- a (after: b)\n- b (after: a)",
                "wait for each other: “a” → “b” → “a”",
            ),
            (
                "a.toml",
                "[[frames]]\ntitle = \"x\"\nmodel = \"y\"",
                "not a model",
            ),
        ] {
            let error = read(name, text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
