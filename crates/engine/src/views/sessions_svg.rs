//! The graph of sessions as an SVG image: a tree from left to right, forks and hand-offs as dashed lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use flamestack_core::SessionRef;
use flamestack_core::session::link::SessionLink;
use flamestack_core::session::state::SessionState;
use flamestack_core::text::{condense, xml_escaped};

use super::printable;
use crate::sessions::listing::SessionRow;

const ROW: usize = 46;
const INDENT: usize = 36;
const WIDTH: usize = 420;
const HEIGHT: usize = 36;
const MARGIN: usize = 16;
/// Depth beyond which sessions are drawn in one column.
const DEEPEST: u64 = 24;

/// Draws sessions; rows come with each parent before its children.
pub fn draw(rows: &[SessionRow], links: &[SessionLink]) -> String {
    let deepest = rows.iter().map(|row| row.level.depth.min(DEEPEST)).max();
    let column = |row: &SessionRow| usize::try_from(row.level.depth.min(DEEPEST)).unwrap_or(0);
    let width = 2 * MARGIN + WIDTH + INDENT * usize::try_from(deepest.unwrap_or(0)).unwrap_or(0);
    let height = 2 * MARGIN + ROW * rows.len().max(1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"12\" role=\"img\">\n\
         <title>Sessions</title>\n"
    );
    let mut places: BTreeMap<&SessionRef, (usize, usize)> = BTreeMap::new();
    for (n, row) in rows.iter().enumerate() {
        places.insert(row.key(), (MARGIN + INDENT * column(row), MARGIN + ROW * n));
    }
    // Writing into a string cannot fail.
    for row in rows {
        let parent = row
            .life
            .parent
            .as_ref()
            .and_then(|parent| places.get(parent));
        if let (Some((px, py)), Some((x, y))) = (parent, places.get(row.key())) {
            let (from, down, to) = (px + 12, y + HEIGHT / 2, py + HEIGHT);
            let _ = writeln!(
                svg,
                "<path d=\"M{from} {to}V{down}H{x}\" fill=\"none\" stroke=\"#888\"/>"
            );
        }
    }
    for link in links {
        let ends = (places.get(&link.session), places.get(&link.to));
        if let (Some((x, y)), Some((tx, ty))) = ends {
            let (x, y, tx, ty) = (x + WIDTH, y + HEIGHT / 2, tx + WIDTH, ty + HEIGHT / 2);
            let bend = x.max(tx) + 14;
            let kind = link.kind.as_str();
            let _ = writeln!(
                svg,
                "<path d=\"M{x} {y}H{bend}V{ty}H{tx}\" fill=\"none\" stroke=\"#777\" \
                 stroke-dasharray=\"4 3\"><title>{kind}</title></path>"
            );
        }
    }
    for row in rows {
        if let Some((x, y)) = places.get(row.key()) {
            node(&mut svg, row, *x, *y);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn node(svg: &mut String, row: &SessionRow, x: usize, y: usize) {
    let state = row.status.state;
    let title = xml_escaped(&condense(&printable(row.title()), 52));
    let name = xml_escaped(&condense(&row.key().to_string(), 36));
    let why = xml_escaped(&row.status.why);
    let (fill, stroke) = colours(state);
    let (left, first, second) = (x + 8, y + 15, y + 29);
    let _ = writeln!(
        svg,
        "<g><title>{why}</title>\
         <rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"5\" fill=\"{fill}\" \
         stroke=\"{stroke}\"/>\
         <text x=\"{left}\" y=\"{first}\" fill=\"#111\">{name} · {} · level {}</text>\
         <text x=\"{left}\" y=\"{second}\" fill=\"#444\">{title}</text></g>",
        state.as_str(),
        row.level.number()
    );
}

fn colours(state: SessionState) -> (&'static str, &'static str) {
    match state {
        SessionState::Executing | SessionState::WaitingChild | SessionState::Compacting => {
            ("#fff1d6", "#d9822b")
        }
        SessionState::WaitingUser => ("#fff7b8", "#b59f00"),
        SessionState::Interrupted | SessionState::Failed => ("#fde0dc", "#c23030"),
        SessionState::Completed => ("#dff3e3", "#238551"),
        SessionState::Idle | SessionState::Stale | SessionState::Closed => ("#eeeeee", "#999999"),
        _ => ("#e6f0fb", "#3b73b9"),
    }
}
