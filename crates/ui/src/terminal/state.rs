//! The state of the view: what is shown, and what has to be asked for.

use flamestack_core::FrameId;
use flamestack_engine::views::work::{FlameGraph, Measure, Opened, WorkRow};

use super::reader::{Question, ViewAnswer};

/// A part of the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pane {
    /// The tree.
    #[default]
    Tree,
    /// The chosen frame.
    Detail,
    /// The context of the chosen frame.
    Context,
    /// The flame graph.
    Flame,
}

impl Pane {
    pub(super) fn next(self) -> Self {
        match self {
            Self::Tree => Self::Detail,
            Self::Detail => Self::Context,
            Self::Context => Self::Flame,
            Self::Flame => Self::Tree,
        }
    }
}

/// Everything that is drawn.
#[derive(Debug, Default)]
pub struct ViewState {
    /// The user's own session.
    pub own: String,
    /// The pane with the focus.
    pub pane: Pane,
    /// The rows of the tree.
    pub rows: Vec<WorkRow>,
    /// One line about the whole project.
    pub summary: String,
    /// Number of events that were read, while not all are.
    pub loading: Option<i64>,
    /// The reason why something is not shown.
    pub problem: Option<String>,
    /// True while the help is shown.
    pub is_help: bool,
    pub(super) selected: usize,
    pub(super) offset: usize,
    pub(super) scroll: usize,
    pub(super) height: u16,
    pub(super) width: u16,
    pub(super) text: Vec<String>,
    pub(super) graph: Option<FlameGraph>,
    pub(super) chosen_box: usize,
    pub(super) measure: Measure,
    opened: Opened,
    asked: Vec<Question>,
    wanted: Option<(Pane, Option<FrameId>, u16)>,
}

impl ViewState {
    /// Returns the state before anything was read.
    pub fn new(own: String) -> Self {
        Self {
            own,
            loading: Some(0),
            asked: vec![Question::Rows(Opened::default())],
            ..Self::default()
        }
    }

    /// Takes an answer.
    pub fn hear(&mut self, answer: ViewAnswer) {
        match answer {
            ViewAnswer::Loading(read) => self.loading = Some(read),
            ViewAnswer::Changed => {
                self.asked.push(Question::Rows(self.opened.clone()));
                self.wanted = None;
            }
            ViewAnswer::Rows {
                rows,
                summary,
                is_counted,
            } => {
                if is_counted {
                    self.loading = None;
                }
                self.problem = None;
                let kept = self.chosen().map(|row| row.id.clone());
                self.rows = rows;
                self.summary = summary;
                let place = match kept {
                    Some(id) => self.rows.iter().position(|row| row.id == id),
                    None => self.at_work(),
                };
                self.selected = place.unwrap_or(self.selected).min(self.last());
            }
            ViewAnswer::Text(lines) => {
                self.text = lines;
                self.scroll = self.scroll.min(self.text.len());
            }
            ViewAnswer::Graph(graph) => {
                self.chosen_box = self.chosen_box.min(graph.boxes.len().saturating_sub(1));
                self.graph = Some(graph);
            }
            ViewAnswer::Problem(problem) => self.problem = Some(problem),
        }
    }

    /// Returns the questions that have come up.
    pub fn questions(&mut self) -> Vec<Question> {
        let frame = self.frame();
        let wanted = Some((self.pane, frame, self.width));
        let has_rows = self.loading.is_none() || !self.rows.is_empty();
        if self.width > 0 && has_rows && self.wanted != wanted {
            self.wanted = wanted;
            let question = match (self.pane, frame) {
                (Pane::Flame, _) => Some(Question::Graph(self.measure, u64::from(self.width))),
                (Pane::Context, Some(frame)) => {
                    Some(Question::Context(frame, usize::from(self.width)))
                }
                (Pane::Detail | Pane::Tree, Some(frame)) => {
                    Some(Question::Detail(frame, usize::from(self.width)))
                }
                _ => None,
            };
            self.asked.extend(question);
        }
        std::mem::take(&mut self.asked)
    }

    pub(super) fn chosen(&self) -> Option<&WorkRow> {
        self.rows.get(self.selected)
    }

    fn frame(&self) -> Option<FrameId> {
        let row = self.chosen().filter(|row| row.hidden == 0)?;
        row.id.parse().ok()
    }

    /// Returns the row that the user's own session works on, else the first that any session works on.
    fn at_work(&self) -> Option<usize> {
        let own = |row: &WorkRow| row.active_in.contains(&self.own);
        let any = |row: &WorkRow| !row.active_in.is_empty();
        let rows = &self.rows;
        rows.iter().position(own).or(rows.iter().position(any))
    }

    fn last(&self) -> usize {
        self.rows.len().saturating_sub(1)
    }

    pub(super) fn turn_to(&mut self, pane: Pane) {
        self.pane = pane;
        self.scroll = 0;
    }

    pub(super) fn select(&mut self, row: usize) {
        self.selected = row.min(self.last());
        self.scroll = 0;
    }

    pub(super) fn step(&mut self, by: i64) {
        let moved = |place: usize, last: usize| {
            let place = i64::try_from(place).unwrap_or(i64::MAX).saturating_add(by);
            usize::try_from(place.max(0)).unwrap_or(0).min(last)
        };
        match self.pane {
            Pane::Tree => self.select(moved(self.selected, self.last())),
            Pane::Detail | Pane::Context => {
                self.scroll = moved(self.scroll, self.text.len().saturating_sub(1));
            }
            Pane::Flame => self.climb(by > 0),
        }
    }

    /// Goes into a branch or out of it; in the flame graph, to a neighbour.
    pub(super) fn inward(&mut self, inward: bool) {
        match self.pane {
            Pane::Tree => self.branch(inward),
            Pane::Flame => self.beside(inward),
            Pane::Detail | Pane::Context if !inward => self.turn_to(Pane::Tree),
            Pane::Detail | Pane::Context => {}
        }
    }

    fn branch(&mut self, open: bool) {
        let Some(row) = self.chosen() else {
            return;
        };
        let (depth, is_open, below) = (row.depth, row.is_open, row.below);
        let Ok(id) = row.id.parse::<FrameId>() else {
            return;
        };
        match (open, is_open) {
            (true, false) if below > 0 => {
                self.opened.open.insert(id);
                self.opened.closed.remove(&id);
            }
            (true, true) => return self.select(self.selected + 1),
            (false, true) => {
                self.opened.closed.insert(id);
                self.opened.open.remove(&id);
            }
            (false, false) => {
                let before = self.rows.get(..self.selected).unwrap_or_default();
                if let Some(above) = before.iter().rposition(|row| row.depth < depth) {
                    self.select(above);
                }
                return;
            }
            (true, false) => return,
        }
        self.asked.push(Question::Rows(self.opened.clone()));
    }

    pub(super) fn enter(&mut self) {
        let hidden = self.chosen().filter(|row| row.hidden > 0);
        if let (Pane::Tree, Some(row)) = (self.pane, hidden) {
            let key = row.id.parse::<FrameId>().ok();
            *self.opened.more.entry(key).or_insert(40) += 200;
            self.asked.push(Question::Rows(self.opened.clone()));
            return;
        }
        match self.pane {
            Pane::Tree => self.turn_to(Pane::Detail),
            Pane::Flame => self.show_box(),
            Pane::Detail | Pane::Context => {}
        }
    }

    pub(super) fn next_measure(&mut self) {
        let place = Measure::ALL.iter().position(|it| *it == self.measure);
        let next = place.map_or(0, |place| (place + 1) % Measure::ALL.len());
        self.measure = Measure::ALL.get(next).copied().unwrap_or_default();
        self.wanted = None;
        self.turn_to(Pane::Flame);
    }

    /// Goes from a box to one below or above it.
    fn climb(&mut self, down: bool) {
        let Some(graph) = &self.graph else {
            return;
        };
        let Some(here) = graph.boxes.get(self.chosen_box) else {
            return;
        };
        let found = graph.boxes.iter().position(|other| {
            let (outer, inner) = if down { (here, other) } else { (other, here) };
            outer.level + 1 == inner.level
                && inner.from >= outer.from
                && inner.from < outer.from + outer.width
        });
        self.chosen_box = found.unwrap_or(self.chosen_box);
    }

    fn beside(&mut self, right: bool) {
        let Some(graph) = &self.graph else {
            return;
        };
        let next = if right {
            self.chosen_box.checked_add(1)
        } else {
            self.chosen_box.checked_sub(1)
        };
        let level = |place: usize| graph.boxes.get(place).map(|it| it.level);
        if let Some(next) = next
            && level(next).is_some()
            && level(next) == level(self.chosen_box)
        {
            self.chosen_box = next;
        }
    }

    /// Shows the frame of the chosen box in the tree.
    fn show_box(&mut self) {
        let chosen = self
            .graph
            .as_ref()
            .and_then(|it| it.boxes.get(self.chosen_box));
        let frame = chosen.and_then(|it| it.frame).map(|id| id.to_string());
        let place = frame.and_then(|id| self.rows.iter().position(|row| row.id == id));
        if let Some(place) = place {
            self.select(place);
            self.turn_to(Pane::Detail);
        }
    }
}
