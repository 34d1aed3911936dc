//! A drawing of a flame graph or chart as one SVG file, with its own script for zooming and searching.

use flamestack_core::text::xml_escaped;
use flamestack_engine::views::canvas::columns;
use flamestack_engine::views::time::minute;
use flamestack_engine::views::work::{
    ChartBox, FlameBox, FlameChart, FlameGraph, Look, Measure, Work,
};
use flamestack_engine::views::{counted, grouped, printable};

use super::{Picture, label, sign};

/// Style and script of the drawing.
const STYLE: &str = include_str!("drawing.css");
const SCRIPT: &str = include_str!("drawing.js");

/// Width of the drawing in pixels.
const WIDTH: u64 = 1_200;
/// Space to the left and right.
const MARGIN: u64 = 10;
/// Height of a box.
const LEVEL: u64 = 18;
/// Height of the title and of the line of hints below it.
const HEAD: u64 = 56;
/// Height of a lane's name.
const LANE: u64 = 20;
/// Space below.
const FOOT: u64 = 30;
/// Left edge of the legend, and the looks in it.
const LEGEND: u64 = 640;
const LEGEND_LOOKS: [Look; 6] = [
    Look::Active,
    Look::Completed,
    Look::Folded,
    Look::Failed,
    Look::Blocked,
    Look::Invalidated,
];
/// Boxes narrower than half a pixel are joined.
const FINEST: u64 = WIDTH * 2;
/// Width of a character in hundredths of a pixel, roughly.
const CHARACTER: u64 = 640;

pub(super) fn graph(picture: &Picture, work: &Work) -> String {
    let graph = work.graph(&picture.scope, picture.measure, Some(FINEST));
    let height = HEAD + graph.levels as u64 * LEVEL + FOOT;
    let subtitle = format!(
        "{}, {}",
        graph.measure.words(graph.total),
        counted(work.frames() as u64, "frame", "frames")
    );
    let mut text = open(&picture.title, &subtitle, height);
    if graph.total == 0 {
        let time = work
            .graph(&picture.scope, Measure::Time, Some(FINEST))
            .total;
        let other = if time > 0 {
            "; `--by time` shows the working time"
        } else {
            ""
        };
        let measure = graph.measure.as_str();
        text.push_str(&nothing(&format!(
            "Nothing to show by {measure} yet{other}"
        )));
    }
    for one in &graph.boxes {
        text.push_str(&graph_box(&graph, one));
    }
    text.push_str(&close(height));
    text
}

fn graph_box(graph: &FlameGraph, one: &FlameBox) -> String {
    if graph.total == 0 {
        return String::new();
    }
    let title = printable(&one.title);
    let percent = permille(one.width, graph.total);
    let mut facts = vec![format!("{}, {percent}", graph.measure.words(one.width))];
    if one.own != one.width && !matches!(one.look, Look::All | Look::Rest) {
        facts.push(format!("{} of its own", graph.measure.words(one.own)));
    }
    if one.count > 1 && !matches!(one.look, Look::Rest | Look::All) {
        facts.push(counted(one.count, "frame", "frames"));
    }
    Drawn {
        label: &label(&title, one.look, one.marks),
        facts: &facts.join("; "),
        look: one.look,
        frame: one.frame.map(|frame| frame.to_string()),
        left: hundredths(one.from, graph.total),
        width: hundredths(one.width, graph.total),
        top: HEAD + one.level as u64 * LEVEL,
    }
    .draw()
}

pub(super) fn chart(picture: &Picture, work: &Work) -> String {
    let chart = work.chart(&picture.scope, Some(FINEST));
    let lanes: u64 = chart
        .lanes
        .iter()
        .map(|lane| LANE + lane.levels as u64 * LEVEL + 6)
        .sum();
    let height = HEAD + lanes + FOOT;
    let length = u64::try_from(chart.axis.length()).unwrap_or_default();
    let mut subtitle = format!(
        "{} of work, {}",
        Measure::Time.words(length),
        counted(chart.lanes.len() as u64, "session", "sessions")
    );
    if let Some(first) = chart.axis.first() {
        let first = minute(flamestack_core::id::Timestamp(first));
        subtitle = format!("from {first}, {subtitle}");
    }
    let mut text = open(&picture.title, &subtitle, height);
    if chart.lanes.is_empty() {
        text.push_str(&nothing("No session has worked yet"));
    }
    let mut top = HEAD;
    for lane in &chart.lanes {
        let name = xml_escaped(&printable(&lane.session));
        let base = top + LANE - 6;
        text.push_str(&format!(
            "<text class=\"lane\" x=\"{MARGIN}\" y=\"{base}\">{name}</text>\n"
        ));
        top += LANE;
        for one in &lane.boxes {
            text.push_str(&chart_box(&chart, one, top));
        }
        top += lane.levels as u64 * LEVEL + 6;
    }
    for (place, left_out) in chart.axis.breaks() {
        let left = hundredths(u64::try_from(place).unwrap_or_default(), length);
        let words = Measure::Time.words(u64::try_from(left_out).unwrap_or_default());
        text.push_str(&format!(
            "<line class=\"pause\" data-l=\"{left}\" x1=\"{x}\" x2=\"{x}\" y1=\"{HEAD}\" y2=\"{bottom}\">\
             <title>{words} without work</title></line>\n",
            x = pixels(left + MARGIN * 100),
            bottom = height - FOOT,
        ));
    }
    text.push_str(&close(height));
    text
}

fn chart_box(chart: &FlameChart, one: &ChartBox, top: u64) -> String {
    let length = u64::try_from(chart.axis.length()).unwrap_or_default();
    let place = |time: i64| u64::try_from(chart.axis.place(time)).unwrap_or_default();
    let (from, to) = (place(one.from), place(one.to));
    let lasted = u64::try_from(one.to - one.from).unwrap_or_default();
    Drawn {
        label: &label(&printable(&one.title), one.look, one.marks),
        facts: &Measure::Time.words(lasted),
        look: one.look,
        frame: one.frame.map(|frame| frame.to_string()),
        left: hundredths(from, length),
        width: hundredths(to.saturating_sub(from), length),
        top: top + one.level as u64 * LEVEL,
    }
    .draw()
}

/// A box to draw; lengths from left to right are in hundredths of a pixel.
struct Drawn<'a> {
    label: &'a str,
    facts: &'a str,
    look: Look,
    frame: Option<String>,
    left: u64,
    width: u64,
    top: u64,
}

impl Drawn<'_> {
    fn draw(&self) -> String {
        let label = xml_escaped(self.label);
        let frame = match &self.frame {
            Some(frame) => format!("\n{frame}"),
            None => String::new(),
        };
        let visible = fitted(self.label, self.width);
        let text = if visible.is_empty() {
            String::new()
        } else {
            format!(
                "<text x=\"{}\" y=\"{}\">{}</text>",
                pixels(self.left + MARGIN * 100 + 300),
                self.top + 13,
                xml_escaped(&visible)
            )
        };
        format!(
            "<g class=\"b {look}\" data-l=\"{left}\" data-w=\"{width}\"><title>{label}\n{facts}{frame}</title>\
             <rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"1.5\"/>{text}</g>\n",
            look = self.look.as_str(),
            left = self.left,
            width = self.width,
            facts = xml_escaped(self.facts),
            x = pixels(self.left + MARGIN * 100),
            y = self.top,
            w = pixels(self.width.max(10)),
            h = LEVEL - 1,
        )
    }
}

fn open(title: &str, subtitle: &str, height: u64) -> String {
    let title = xml_escaped(&printable(title));
    let right = WIDTH - MARGIN;
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" aria-label=\"Flame graph of {title}\">\n\
         <style>{STYLE}</style>\n\
         <defs><pattern id=\"given-up\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect class=\"paper\" width=\"6\" height=\"6\"/>\
         <line class=\"hatch\" x1=\"0\" x2=\"0\" y1=\"0\" y2=\"6\"/></pattern></defs>\n\
         <rect class=\"back\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"24\">{title}</text>\n\
         <text class=\"about\" x=\"{MARGIN}\" y=\"44\">{subtitle}</text>\n\
         <text class=\"act\" id=\"search\" x=\"{right}\" y=\"24\" role=\"button\" tabindex=\"0\">Search</text>\n\
         <text class=\"act\" id=\"reset\" x=\"{right}\" y=\"44\" role=\"button\" tabindex=\"0\" \
         visibility=\"hidden\">Show all</text>\n",
        subtitle = xml_escaped(subtitle),
    )
}

fn close(height: u64) -> String {
    let base = height - 10;
    format!(
        "<text class=\"about\" id=\"said\" x=\"{MARGIN}\" y=\"{base}\">Click a box to zoom, / to search, Esc to \
         show all. Drawn by Flamestack.</text>\n{}<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n",
        legend(base)
    )
}

/// Draws the meanings of the colours.
fn legend(base: u64) -> String {
    let mut text = String::new();
    let mut left = LEGEND;
    for look in LEGEND_LOOKS {
        text.push_str(&format!(
            "<g class=\"{name}\"><rect x=\"{left}\" y=\"{top}\" width=\"11\" height=\"11\" rx=\"1.5\"/></g>\
             <text class=\"about\" x=\"{x}\" y=\"{base}\">{sign}</text>\n",
            name = look.as_str(),
            top = base - 10,
            x = left + 16,
            sign = format_args!("{} {}", sign(look).unwrap_or_default(), look.as_str()),
        ));
        left += 40 + look.as_str().len() as u64 * 7;
    }
    text
}

fn nothing(words: &str) -> String {
    format!(
        "<text class=\"about\" x=\"{MARGIN}\" y=\"{}\">{}</text>\n",
        HEAD + 13,
        xml_escaped(words)
    )
}

/// Returns a part of the drawing's width in hundredths of a pixel.
fn hundredths(part: u64, whole: u64) -> u64 {
    let inside = u128::from((WIDTH - 2 * MARGIN) * 100);
    let part = u128::from(part) * inside / u128::from(whole.max(1));
    u64::try_from(part).unwrap_or(u64::MAX)
}

fn pixels(hundredths: u64) -> String {
    let (whole, rest) = (hundredths / 100, hundredths % 100);
    let text = format!("{whole}.{rest:02}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn permille(part: u64, whole: u64) -> String {
    let per_mille = u128::from(part) * 1000 / u128::from(whole.max(1));
    let per_mille = u64::try_from(per_mille).unwrap_or_default();
    format!("{}.{} %", grouped(per_mille / 10), per_mille % 10)
}

/// Returns the part of a label that fits into a box.
fn fitted(label: &str, width: u64) -> String {
    let room = usize::try_from(width.saturating_sub(600) / CHARACTER).unwrap_or(usize::MAX);
    if room < 3 {
        return String::new();
    }
    if columns(label) <= room {
        return label.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += columns(c.encode_utf8(&mut [0; 4]));
        used <= room
    };
    let cut: String = label.chars().take_while(fits).collect();
    format!("{cut}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_cut_to_their_boxes_also_in_wide_letters() {
        let room = |columns: u64| 600 + columns * CHARACTER;
        assert_eq!(fitted("Search", room(6)), "Search");
        assert_eq!(fitted("Searching", room(6)), "Searc…");
        assert_eq!(fitted("日本語", room(6)), "日本語");
        assert_eq!(fitted("日本語のタイトル", room(6)), "日本…");
        assert_eq!(fitted("Search", room(2)), "");
    }
}
