//! Speedscope files. Its evented profiles cannot overlap, so each session is a profile of its own.

use std::collections::BTreeMap;

use flamestack_core::SessionRef;
use flamestack_engine::views::work::{Lane, Measure, Work, WorkScope};
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
        let frame = names.number(label(&one.title, one.look, one.is_dropped));
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

/// Profiles of amounts, one for each session that has any.
fn sampled(picture: &Picture, work: &Work, names: &mut Names) -> Vec<Value> {
    let scopes = match &picture.scope {
        WorkScope::Project => work.session_names().map(WorkScope::Session).collect(),
        scope => vec![scope.clone()],
    };
    let mut profiles = Vec::new();
    for scope in scopes {
        let (mut samples, mut weights, mut sum) = (Vec::new(), Vec::new(), 0_u64);
        work.each_stack(&scope, picture.measure, &mut |path, own| {
            let stack: Vec<usize> = match path {
                [] => vec![names.number("outside of frames".to_owned())],
                path => path.iter().map(|it| names.number(label_of(it))).collect(),
            };
            samples.push(stack);
            weights.push(own);
            sum = sum.saturating_add(own);
        });
        if sum == 0 {
            continue;
        }
        profiles.push(json!({
            "type": "sampled",
            "name": name(picture, &scope),
            "unit": unit(picture.measure),
            "startValue": 0,
            "endValue": sum,
            "samples": samples,
            "weights": weights,
        }));
    }
    profiles
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
