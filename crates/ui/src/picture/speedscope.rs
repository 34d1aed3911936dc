//! Speedscope files. Its evented profiles cannot overlap, so each session is a profile of its own.

use std::collections::BTreeMap;

use flamestack_core::SessionRef;
use flamestack_engine::views::work::{Lane, Measure, Work, WorkPlace, WorkScope};
use serde_json::{Value, json};

use super::{Order, Picture, label, label_of};

/// The published schema of the format.
const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

pub(super) fn write(picture: &Picture, work: &Work) -> String {
    let mut names = Names::default();
    let profiles = match picture.order {
        Order::InTime => {
            let chart = work.chart(&picture.scope, None);
            let first = chart.axis.first().unwrap_or_default();
            let lanes = chart.lanes.iter();
            lanes.map(|lane| evented(lane, first, &mut names)).collect()
        }
        Order::Merged => sampled(picture, work, &mut names),
    };
    let file = json!({
        "$schema": SCHEMA,
        "exporter": concat!("flamestack@", env!("CARGO_PKG_VERSION")),
        "name": picture.title,
        "activeProfileIndex": 0,
        "shared": { "frames": names.frames() },
        "profiles": profiles,
    });
    format!("{file}\n")
}

/// The names of boxes, numbered.
#[derive(Default)]
struct Names {
    numbers: BTreeMap<String, usize>,
    names: Vec<String>,
}

impl Names {
    fn number(&mut self, name: String) -> usize {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        self.names.push(name.clone());
        self.numbers.insert(name, self.names.len() - 1);
        self.names.len() - 1
    }

    fn frames(&self) -> Vec<Value> {
        self.names
            .iter()
            .map(|name| json!({ "name": name }))
            .collect()
    }
}

/// A profile in the order of time.
fn evented(lane: &Lane, first: i64, names: &mut Names) -> Value {
    let mut events = Vec::new();
    let mut open: Vec<(usize, i64)> = Vec::new();
    let close = |events: &mut Vec<Value>, (frame, at): (usize, i64)| {
        events.push(json!({ "type": "C", "frame": frame, "at": at - first }));
    };
    for one in &lane.boxes {
        while open.len() > one.level
            && let Some(ended) = open.pop()
        {
            close(&mut events, ended);
        }
        let frame = names.number(label(&one.title, one.look, one.marks));
        events.push(json!({ "type": "O", "frame": frame, "at": one.from - first }));
        open.push((frame, one.to));
    }
    while let Some(ended) = open.pop() {
        close(&mut events, ended);
    }
    let begin = lane.boxes.iter().map(|it| it.from).min().unwrap_or(first);
    let end = lane.boxes.iter().map(|it| it.to).max().unwrap_or(first);
    json!({
        "type": "evented",
        "name": lane.session,
        "unit": "milliseconds",
        "startValue": begin - first,
        "endValue": end - first,
        "events": events,
    })
}

/// A profile of amounts in the making.
#[derive(Default)]
struct Sampled {
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
    sum: u64,
}

impl Sampled {
    fn add(&mut self, path: &[&WorkPlace], own: u64, names: &mut Names) {
        self.samples.push(match path {
            [] => vec![names.number("outside of frames".to_owned())],
            path => path.iter().map(|it| names.number(label_of(it))).collect(),
        });
        self.weights.push(own);
        self.sum = self.sum.saturating_add(own);
    }

    fn profile(&self, name: &str, measure: Measure) -> Value {
        json!({
            "type": "sampled",
            "name": name,
            "unit": unit(measure),
            "startValue": 0,
            "endValue": self.sum,
            "samples": self.samples,
            "weights": self.weights,
        })
    }
}

/// Profiles of amounts, one for each session that has any.
fn sampled(picture: &Picture, work: &Work, names: &mut Names) -> Vec<Value> {
    let measure = picture.measure;
    if picture.scope != WorkScope::Project {
        let mut only = Sampled::default();
        let mut add = |path: &[&WorkPlace], own| only.add(path, own, names);
        work.each_stack(&picture.scope, measure, &mut add);
        let is_empty = only.samples.is_empty();
        let profile = only.profile(&name(picture, &picture.scope), measure);
        return if is_empty { Vec::new() } else { vec![profile] };
    }
    let mut sessions: Vec<(SessionRef, Sampled)> = Vec::new();
    work.each_session_stack(measure, &mut |session, path, own| {
        if sessions.last().is_none_or(|(last, _)| last != session) {
            sessions.push((session.clone(), Sampled::default()));
        }
        if let Some((_, sampled)) = sessions.last_mut() {
            sampled.add(path, own, names);
        }
    });
    let profiles = sessions.into_iter();
    profiles
        .map(|(session, sampled)| {
            let name = name(picture, &WorkScope::Session(session));
            sampled.profile(&name, measure)
        })
        .collect()
}

fn name(picture: &Picture, scope: &WorkScope) -> String {
    let measure = picture.measure.as_str();
    match scope {
        WorkScope::Session(session) => format!("{} ({measure})", SessionRef::to_string(session)),
        WorkScope::Project | WorkScope::Frame(_) => format!("{} ({measure})", picture.title),
    }
}

fn unit(measure: Measure) -> &'static str {
    match measure {
        Measure::Time => "milliseconds",
        Measure::Tokens | Measure::Cost | Measure::Messages | Measure::Saved => "none",
    }
}
