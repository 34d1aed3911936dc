//! Drawing the state into cells. Colours are those of the terminal, and none says anything alone.

use flamestack_core::Status;
use flamestack_core::frame::CLAIMED;
use flamestack_engine::views::canvas::shortened;
use flamestack_engine::views::work::{FlameBox, FlameGraph, Look, Measure, WorkRow};
use flamestack_engine::views::{grouped, icon};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::state::{Pane, ViewState};
use crate::picture::label;

/// Minimum number of columns for the tree and the details to be side by side.
const WIDE: u16 = 100;
/// Minimum number of columns for rows to have amounts.
const ROOMY: u16 = 60;

/// Colours, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// The 16 colours of the terminal.
    Colours,
    /// None, as `NO_COLOR` asks for.
    Plain,
}

impl Palette {
    fn colour(self, colour: Color) -> Style {
        match self {
            Self::Colours => Style::new().fg(colour),
            Self::Plain => Style::new(),
        }
    }

    fn dim(self) -> Style {
        match self {
            Self::Colours => Style::new().add_modifier(Modifier::DIM),
            Self::Plain => Style::new(),
        }
    }

    fn status(self, status: &str) -> Style {
        match Status::from_name(status) {
            Some(Status::InProgress) => self.colour(Color::Yellow),
            Some(Status::Completed) => self.colour(Color::Green),
            Some(Status::Failed | Status::Blocked) => self.colour(Color::Red),
            Some(Status::Planned | Status::Invalidated) | None => self.dim(),
        }
    }

    fn flame(self, look: Look) -> Style {
        let filled = |colour| match self {
            Self::Colours => Style::new().fg(Color::Black).bg(colour),
            Self::Plain => Style::new(),
        };
        match look {
            Look::Active | Look::Blocked => filled(Color::Yellow),
            Look::Completed => filled(Color::LightYellow),
            Look::Folded => filled(Color::Green),
            Look::Failed => filled(Color::LightRed),
            Look::All | Look::Planned | Look::Invalidated | Look::Outside | Look::Rest => {
                filled(Color::Gray)
            }
        }
    }
}

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, state: &mut ViewState, palette: &Palette) {
    let [head, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    state.height = body.height;
    header(frame, head, state, *palette);
    let is_wide = body.width >= WIDE && state.pane != Pane::Flame;
    if is_wide {
        let [left, line, right] = Layout::horizontal([
            Constraint::Percentage(55),
            Constraint::Length(2),
            Constraint::Min(1),
        ])
        .areas(body);
        tree(frame, left, state, *palette);
        let rule = vec![Line::styled("│", palette.dim()); usize::from(line.height)];
        frame.render_widget(Paragraph::new(rule), line);
        state.width = right.width;
        text(frame, right, state);
    } else {
        state.width = body.width;
        match state.pane {
            Pane::Tree => tree(frame, body, state, *palette),
            Pane::Detail | Pane::Context => text(frame, body, state),
            Pane::Flame => flame(frame, body, state, *palette),
        }
    }
    footer(frame, foot, state, *palette);
    if state.is_help {
        help(frame, body);
    }
}

fn header(frame: &mut Frame<'_>, area: Rect, state: &ViewState, palette: Palette) {
    let panes = [
        (Pane::Tree, "1 Tree"),
        (Pane::Detail, "2 Frame"),
        (Pane::Context, "3 Context"),
        (Pane::Flame, "4 Flame"),
    ];
    let mut spans = Vec::new();
    for (pane, name) in panes {
        let style = if pane == state.pane {
            Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
        } else {
            palette.dim()
        };
        spans.push(Span::styled(name, style));
        spans.push(Span::raw("  "));
    }
    let used: usize = panes.iter().map(|(_, name)| name.len() + 2).sum();
    let room = usize::from(area.width).saturating_sub(used);
    if room > 12 {
        spans.push(Span::styled(shortened(&state.summary, room), palette.dim()));
    }
    frame.render_widget(Paragraph::new(Line::from(spans)), area);
}

fn footer(frame: &mut Frame<'_>, area: Rect, state: &ViewState, palette: Palette) {
    let line = match (&state.problem, state.loading, state.pane) {
        (Some(problem), ..) => Line::styled(problem.clone(), palette.colour(Color::Red)),
        (None, Some(read), _) => {
            let read = grouped(read.unsigned_abs());
            Line::styled(format!("reading the journal: {read} events"), palette.dim())
        }
        (None, None, Pane::Flame) => Line::styled(
            hints(&["arrows move", "m measure", "enter frame"], area.width),
            palette.dim(),
        ),
        (None, None, _) => Line::styled(
            hints(
                &["j k move", "h l open", "enter show", "tab next"],
                area.width,
            ),
            palette.dim(),
        ),
    };
    frame.render_widget(Paragraph::new(line), area);
}

/// Returns the line of hints: the first of `keys` that there is room for, and how to get help and leave.
fn hints(keys: &[&str], width: u16) -> String {
    let always = "? help  q leave";
    let mut room = usize::from(width).saturating_sub(always.len());
    let fitting = keys.iter().take_while(|key| {
        let fits = key.len() + 2 <= room;
        room = room.saturating_sub(key.len() + 2);
        fits
    });
    let mut line: Vec<&str> = fitting.copied().collect();
    line.push(always);
    line.join("  ")
}

fn tree(frame: &mut Frame<'_>, area: Rect, state: &mut ViewState, palette: Palette) {
    let height = usize::from(area.height).max(1);
    if state.selected < state.offset {
        state.offset = state.selected;
    } else if state.selected >= state.offset + height {
        state.offset = state.selected + 1 - height;
    }
    if state.rows.is_empty() && state.loading.is_none() {
        let words = "No frames yet: `flame push TITLE` starts one.";
        frame.render_widget(Paragraph::new(words), area);
        return;
    }
    let rows = state.rows.iter().enumerate();
    let lines: Vec<Line<'_>> = rows
        .skip(state.offset)
        .take(height)
        .map(|(number, row)| {
            let line = row_line(row, area.width, palette);
            if number == state.selected {
                line.style(Style::new().add_modifier(Modifier::REVERSED))
            } else {
                line
            }
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
}

fn row_line(row: &WorkRow, width: u16, palette: Palette) -> Line<'static> {
    let width = usize::from(width);
    let amounts = if width >= usize::from(ROOMY) {
        let tokens = row.total.tokens();
        let tokens = if tokens == 0 {
            String::new()
        } else {
            grouped(tokens)
        };
        let cost = row.total.micro_dollars.filter(|micro| *micro > 0);
        let cost = cost.map(|micro| Measure::Cost.words(micro));
        format!(" {tokens:>12} {:>10}", cost.unwrap_or_default())
    } else {
        String::new()
    };
    let indent = "  ".repeat(row.depth.min(20));
    if row.hidden > 0 {
        let text = format!("{indent}  … {} more", grouped(row.hidden));
        return Line::styled(fitted(&text, width), palette.dim());
    }
    let twist = match (row.below > 0, row.is_open) {
        (true, true) => "▾ ",
        (true, false) => "▸ ",
        (false, _) => "  ",
    };
    let status = Status::from_name(row.status);
    let sign = status.map_or("?", icon);
    let mut text = row.title.clone();
    if row.is_folded {
        text.push_str(" · folded");
    }
    if row.is_claimed {
        text.push_str(&format!(" · {CLAIMED}"));
    }
    if row.is_dropped {
        text.push_str(" · text dropped");
    }
    if !row.active_in.is_empty() {
        text.push_str(&format!(" ◀ {}", row.active_in.join(", ")));
    }
    let before = indent.chars().count() + 4;
    let room = width.saturating_sub(before + amounts.chars().count());
    let text = fitted(&shortened(&text, room.max(1)), room);
    Line::from(vec![
        Span::raw(format!("{indent}{twist}")),
        Span::styled(format!("{sign} "), palette.status(row.status)),
        Span::raw(text),
        Span::styled(amounts, palette.dim()),
    ])
}

/// Pads a text to a width.
fn fitted(text: &str, width: usize) -> String {
    let used = flamestack_engine::views::canvas::columns(text);
    format!("{text}{}", " ".repeat(width.saturating_sub(used)))
}

fn text(frame: &mut Frame<'_>, area: Rect, state: &ViewState) {
    let lines = state.text.iter().skip(state.scroll);
    let lines: Vec<Line<'_>> = lines
        .take(usize::from(area.height))
        .map(|line| Line::raw(line.as_str()))
        .collect();
    let text = Paragraph::new(lines).wrap(Wrap { trim: false });
    frame.render_widget(text, area);
}

fn flame(frame: &mut Frame<'_>, area: Rect, state: &ViewState, palette: Palette) {
    let [about, boxes] = Layout::vertical([Constraint::Length(2), Constraint::Min(1)]).areas(area);
    let Some(graph) = &state.graph else {
        return;
    };
    let chosen = graph.boxes.get(state.chosen_box);
    let words = match chosen {
        _ if graph.total == 0 => format!("Nothing to show by {} yet", graph.measure.as_str()),
        Some(one) => box_words(graph, one),
        None => String::new(),
    };
    let title = format!(
        "by {}: {}",
        graph.measure.as_str(),
        graph.measure.words(graph.total)
    );
    let lines = vec![
        Line::styled(title, palette.dim()),
        Line::raw(shortened(&words, usize::from(area.width))),
    ];
    frame.render_widget(Paragraph::new(lines), about);
    let top = chosen
        .map_or(0, |one| one.level)
        .saturating_sub(usize::from(boxes.height) - 1);
    for (number, one) in graph.boxes.iter().enumerate() {
        let (Some(row), true) = (one.level.checked_sub(top), graph.total > 0) else {
            continue;
        };
        let Some(place) = cells(graph, one, boxes, row) else {
            continue;
        };
        let mut style = palette.flame(one.look);
        if number == state.chosen_box {
            style = style.add_modifier(Modifier::REVERSED | Modifier::BOLD);
        }
        let width = usize::from(place.width);
        // A bar at the left edge, so that neighbours differ without colours.
        let label = label(&one.title, one.look, one.marks);
        let label = format!("▏{}", shortened(&label, width.saturating_sub(1).max(1)));
        let label: String = if width < 3 { "▏".to_owned() } else { label };
        frame.render_widget(Paragraph::new(fitted(&label, width)).style(style), place);
    }
}

/// Says what a box is.
fn box_words(graph: &FlameGraph, one: &FlameBox) -> String {
    let amount = graph.measure.words(one.width);
    let percent = u128::from(one.width) * 100 / u128::from(graph.total.max(1));
    let own = match one.look {
        Look::All | Look::Rest | Look::Outside => String::new(),
        _ if one.own == one.width => String::new(),
        _ => format!(", {} of its own", graph.measure.words(one.own)),
    };
    let label = label(&one.title, one.look, one.marks);
    format!("{label}: {amount}, {percent} %{own}")
}

/// Returns the cells of a box.
fn cells(graph: &FlameGraph, one: &FlameBox, area: Rect, row: usize) -> Option<Rect> {
    let row = u16::try_from(row).ok().filter(|row| *row < area.height)?;
    let place = |amount: u64| -> u16 {
        let cells = u128::from(amount) * u128::from(area.width) / u128::from(graph.total.max(1));
        u16::try_from(cells).unwrap_or(area.width).min(area.width)
    };
    let (from, to) = (place(one.from), place(one.from + one.width));
    (to > from).then(|| Rect::new(area.x + from, area.y + row, to - from, 1))
}

/// Keys and their meanings.
const KEYS: [(&str, &str); 10] = [
    ("j k, arrows", "down and up"),
    ("h l, arrows", "close, open a branch"),
    ("enter", "show, or more rows"),
    ("1 2 3 4", "go to a pane"),
    ("tab, esc", "next pane, the tree"),
    ("g G", "first and last"),
    ("ctrl-d ctrl-u", "a page down, up"),
    ("m", "next measure of flame"),
    ("?", "this help"),
    ("q", "leave"),
];

fn help(frame: &mut Frame<'_>, area: Rect) {
    let width = 40.min(area.width);
    let height = u16::try_from(KEYS.len() + 2)
        .unwrap_or(u16::MAX)
        .min(area.height);
    let place = Rect::new(
        area.x + (area.width - width) / 2,
        area.y + (area.height - height) / 2,
        width,
        height,
    );
    let lines: Vec<Line<'_>> = KEYS
        .iter()
        .map(|(key, what)| Line::raw(format!(" {key:<14} {what}")))
        .collect();
    frame.render_widget(Clear, place);
    frame.render_widget(
        Paragraph::new(lines).block(Block::bordered().title("Keys")),
        place,
    );
}
