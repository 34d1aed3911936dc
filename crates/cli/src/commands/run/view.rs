//! The live view of a run: its tree with activity, tokens and cost, as lines of a terminal.

use flamestack_core::Status;
use flamestack_core::frame::CLAIMED;
use flamestack_engine::views::canvas::{columns, shortened};
use flamestack_engine::views::printable;
use flamestack_orchestrator::{FrameCost, RunSummary, Spending};

use super::words::{mark, plural};
use crate::output::{DIM, colour, painted};

/// Width from which ids, costs and the footer's hints are shown.
const WIDE: usize = 60;
/// Columns of a number of tokens.
const TOKENS: usize = 7;
/// Columns of a cost.
const COST: usize = 9;
/// Columns below which a title is not shortened for the activity beside it.
const TITLE: usize = 12;
/// Columns below which an activity is not shown.
const ACTIVITY: usize = 4;
/// Text between a title and an activity.
const SEPARATOR: &str = " · ";

/// Returns the lines of a run: at most `room` frames, a heading above and a sum below them.
pub(super) fn lines(summary: &RunSummary, width: usize, room: usize) -> Vec<String> {
    let layout = Layout::new(summary, width);
    let chosen = chosen(&summary.frames, room);
    let mut lines = vec![layout.heading()];
    lines.extend(chosen.iter().map(|frame| layout.frame(frame)));
    lines.push(layout.footer(summary, chosen.len()));
    lines
}

/// Returns the lines of all frames, with a heading above them.
pub(super) fn table(summary: &RunSummary, width: usize) -> Vec<String> {
    let layout = Layout::new(summary, width);
    let frames = summary.frames.iter().map(|frame| layout.frame(frame));
    std::iter::once(layout.heading()).chain(frames).collect()
}

/// Returns the frames that are shown, in order: what runs and everything above it comes first, then other
/// open work, plans, and what is finished.
fn chosen(frames: &[FrameCost], room: usize) -> Vec<&FrameCost> {
    let mut ranks: Vec<usize> = frames.iter().map(rank).collect();
    for (place, frame) in frames.iter().enumerate().filter(|(_, frame)| frame.running) {
        let mut below = frame.depth;
        for (above, rank) in frames.iter().zip(&mut ranks).take(place).rev() {
            if above.depth < below {
                *rank = 0;
                below = above.depth;
            }
        }
    }
    let mut order: Vec<usize> = (0..frames.len()).collect();
    order.sort_by_key(|place| (ranks.get(*place).copied(), *place));
    order.truncate(room);
    order.sort_unstable();
    order
        .iter()
        .filter_map(|place| frames.get(*place))
        .collect()
}

fn rank(frame: &FrameCost) -> usize {
    match frame.status {
        _ if frame.running || frame.depth == 0 => 0,
        Status::InProgress | Status::Blocked => 1,
        Status::Planned => 2,
        Status::Completed | Status::Failed | Status::Invalidated => 3,
    }
}

/// Columns of the view.
struct Layout {
    width: usize,
    is_wide: bool,
    has_cost: bool,
}

impl Layout {
    fn new(summary: &RunSummary, width: usize) -> Self {
        let is_wide = width >= WIDE;
        Self {
            width,
            is_wide,
            has_cost: is_wide && summary.total().cost > 0.0,
        }
    }

    /// Returns the columns of the figures, of a frame's own and of its total.
    fn figures(&self) -> usize {
        2 * (TOKENS + if self.has_cost { COST } else { 0 })
    }

    fn heading(&self) -> String {
        let column = self.figures() / 2;
        let left = self.width.saturating_sub(self.figures());
        painted(
            DIM,
            format!("{:left$}{:>column$}{:>column$}", "", "self", "total"),
        )
    }

    fn frame(&self, frame: &FrameCost) -> String {
        let room = self.width.saturating_sub(self.figures());
        // Deep frames keep room for a title.
        let lead = (2 * frame.depth).min(room / 3);
        let id = if self.is_wide {
            format!("{} ", frame.frame)
        } else {
            String::new()
        };
        let begin = format!("{:lead$}{} {id}", "", mark(frame));
        let room_for_text = room.saturating_sub(columns(&begin));
        let text = beside(
            &self.title(frame),
            activity(frame).as_deref(),
            room_for_text,
        );
        let text = format!("{begin}{text}");
        let gap = room.saturating_sub(columns(&text));
        let total = (frame.total != frame.own).then_some(&frame.total);
        let figures = format!("{}{}", self.figure(Some(&frame.own)), self.figure(total));
        format!(
            "{}{:gap$}{figures}",
            painted(colour(frame.status), text),
            ""
        )
    }

    fn title(&self, frame: &FrameCost) -> String {
        let mut title = printable(&frame.title);
        match frame.attempts {
            0 | 1 => {}
            attempts if self.is_wide => title.push_str(&format!(" (attempt {attempts})")),
            attempts => title.push_str(&format!(" ×{attempts}")),
        }
        if frame.is_claimed && self.is_wide {
            title.push_str(&format!(" ({CLAIMED})"));
        }
        title
    }

    fn figure(&self, spent: Option<&Spending>) -> String {
        let spent = spent.filter(|spent| spent.tokens() > 0);
        let tokens = spent.map_or_else(String::new, |spent| amount(spent.tokens()));
        let cost = spent.map_or_else(String::new, |spent| format!("${:.4}", spent.cost));
        if self.has_cost {
            format!("{tokens:>TOKENS$}{cost:>COST$}")
        } else {
            format!("{tokens:>TOKENS$}")
        }
    }

    fn footer(&self, summary: &RunSummary, shown: usize) -> String {
        let all = summary.frames.len();
        let finished = summary.frames.iter().filter(|one| !one.status.is_open());
        let mut parts = vec![format!("{} of {all} finished", finished.count())];
        if shown < all {
            parts.push(format!("{} not shown", all - shown));
        }
        if self.is_wide {
            parts.push(plural(summary.total().turns, "turn"));
        }
        parts.push("Ctrl-C pauses".to_owned());
        if self.is_wide {
            parts.push("type to the running frame".to_owned());
        }
        painted(DIM, shortened(&parts.join(SEPARATOR), self.width))
    }
}

/// Returns what a frame does, or why it does nothing.
fn activity(frame: &FrameCost) -> Option<String> {
    let now = frame.doing.as_deref().filter(|_| frame.running);
    let now = now.or_else(|| frame.reason.as_deref().filter(|_| frame.status.is_open()));
    now.map(printable)
}

/// Returns a title and what happens, in at most `room` columns: the title is shortened first.
fn beside(title: &str, activity: Option<&str>, room: usize) -> String {
    let least = columns(title).min(TITLE);
    let left = room.saturating_sub(least + columns(SEPARATOR));
    let Some(activity) = activity.filter(|_| left >= ACTIVITY) else {
        return shortened(title, room);
    };
    let activity = format!("{SEPARATOR}{}", shortened(activity, left));
    let title = shortened(title, room.saturating_sub(columns(&activity)));
    format!("{title}{activity}")
}

/// Returns a number of tokens in at most six columns.
fn amount(tokens: u64) -> String {
    let rounded = |unit: u64| (tokens + unit / 2) / unit;
    match tokens {
        0..10_000 => tokens.to_string(),
        10_000..999_950 => format!("{}.{}k", rounded(100) / 10, rounded(100) % 10),
        _ => format!("{}.{:02}M", rounded(10_000) / 100, rounded(10_000) % 100),
    }
}

#[cfg(test)]
mod tests {
    use flamestack_core::FrameId;
    use insta::assert_snapshot;

    use super::*;

    fn frame(number: u64, depth: usize, title: &str, status: Status) -> FrameCost {
        FrameCost {
            frame: FrameId::from_entropy(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            depth,
            title: title.to_owned(),
            status,
            is_claimed: false,
            reason: None,
            attempts: 1,
            own: Spending::default(),
            total: Spending::default(),
            running: false,
            doing: None,
            unmerged: None,
        }
    }

    fn spent(input: u64, cost: f64) -> Spending {
        Spending {
            input,
            cost,
            turns: 1,
            ..Spending::default()
        }
    }

    fn run(cost: f64) -> RunSummary {
        let mut frames = vec![
            frame(1, 0, "Build the shop", Status::InProgress),
            frame(2, 1, "Schema", Status::Completed),
            frame(
                3,
                1,
                "An API with a title that goes on and on and on",
                Status::InProgress,
            ),
            frame(4, 2, "Auth", Status::InProgress),
            frame(5, 2, "Limits", Status::Blocked),
            frame(6, 1, "データベースの移行を準備する", Status::InProgress),
            frame(7, 1, "Docs\u{1b}[2J", Status::Planned),
        ];
        let each = |frame: &mut FrameCost, own: u32, total: u32| {
            frame.own = spent(own.into(), cost * f64::from(own));
            frame.total = spent(total.into(), cost * f64::from(total));
        };
        each(&mut frames[0], 800, 1_301_800);
        each(&mut frames[1], 999, 999);
        each(&mut frames[2], 9_999, 112_050);
        each(&mut frames[3], 101_000, 101_000);
        each(&mut frames[4], 1_051, 1_051);
        each(&mut frames[5], 1_187_951, 1_187_951);
        frames[3].running = true;
        frames[3].attempts = 2;
        frames[3].doing = Some("bash".to_owned());
        frames[4].reason = Some("no key for the gateway of the bank".to_owned());
        frames[5].running = true;
        RunSummary {
            run: "r".to_owned(),
            ending: None,
            frames,
            wall_ms: 0,
            limit: None,
        }
    }

    fn drawn(summary: &RunSummary, width: usize, room: usize) -> String {
        let lines = lines(summary, width, room);
        let plain: Vec<String> = lines
            .iter()
            .map(|line| anstream::adapter::strip_str(line).to_string())
            .collect();
        for line in &plain {
            assert!(columns(line) <= width, "{line:?}");
            assert!(!line.contains('\u{1b}'));
        }
        let framed: Vec<String> = plain
            .iter()
            .map(|line| format!("{}|", line.trim_end()))
            .collect();
        framed.join("\n")
    }

    #[test]
    fn wide_terminals_show_ids_and_costs() {
        assert_snapshot!(drawn(&run(0.000_003), 80, 20), @r"
                                                                    self           total|
        … vgme5xnq Build the shop                           800  $0.0024  1.30M  $3.9054|
          ✓ we79889v Schema                                 999  $0.0030|
          … qnhe4wn9 An API with a title that goes on…     9999  $0.0300 112.1k  $0.3362|
            ▶ rk49779d Auth (attempt 2) · bash           101.0k  $0.3030|
            ! shq5bkyj Limits · no key for the gateway…    1051  $0.0032|
          ▶ mr19669z データベースの移行を準備する         1.19M  $3.5639|
          ○ npm5ajy4 Docs[2J|
        1 of 7 finished · 1 turn · Ctrl-C pauses · type to the running frame|
        ");
    }

    #[test]
    fn narrow_terminals_show_titles_and_tokens() {
        assert_snapshot!(drawn(&run(0.000_003), 40, 20), @r"
                                     self  total|
        … Build the shop              800  1.30M|
          ✓ Schema                    999|
          … An API with a title…     9999 112.1k|
            ▶ Auth ×2 · bash       101.0k|
            ! Limits · no key…       1051|
          ▶ データベースの移行を…   1.19M|
          ○ Docs[2J|
        1 of 7 finished · Ctrl-C pauses|
        ");
    }

    #[test]
    fn models_without_a_price_have_no_column_for_it() {
        assert_snapshot!(drawn(&run(0.0), 70, 3), @r"
                                                                   self  total|
        … vgme5xnq Build the shop                                   800  1.30M|
          … qnhe4wn9 An API with a title that goes on and on…      9999 112.1k|
            ▶ rk49779d Auth (attempt 2) · bash                   101.0k|
        1 of 7 finished · 4 not shown · 1 turn · Ctrl-C pauses · type to the…|
        ");
    }

    #[test]
    fn amounts_have_at_most_six_columns() {
        let shown = [
            0, 9_999, 10_000, 12_349, 999_949, 999_950, 1_187_951, 99_994_999,
        ]
        .map(amount);
        let wanted = [
            "0", "9999", "10.0k", "12.3k", "999.9k", "1.00M", "1.19M", "99.99M",
        ];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn no_width_and_no_room_is_too_small() {
        for width in 29..120 {
            for room in 0..9 {
                drawn(&run(0.000_003), width, room);
            }
        }
    }
}
