//! Traces in Chrome's JSON format, which Perfetto reads too.

use flamestack_engine::views::work::{Look, Work};
use serde_json::{Value, json};

use super::{Picture, label};

pub(super) fn write(picture: &Picture, work: &Work) -> String {
    let chart = work.chart(&picture.scope, None);
    let first = chart.axis.first().unwrap_or_default();
    let mut events: Vec<Value> = vec![json!({
        "ph": "M", "pid": 1, "name": "process_name", "args": { "name": picture.title },
    })];
    for (number, lane) in chart.lanes.iter().enumerate() {
        let track = number + 1;
        events.push(json!({
            "ph": "M", "pid": 1, "tid": track, "name": "thread_name",
            "args": { "name": lane.session },
        }));
        for one in &lane.boxes {
            let place = one.frame.and_then(|frame| work.place(&frame));
            let mut arguments = json!({ "status": one.look.as_str() });
            if let (Some(place), Value::Object(fields)) = (place, &mut arguments) {
                fields.insert("frame".to_owned(), json!(place.id.as_str()));
                fields.insert("tokens".to_owned(), json!(place.total.tokens()));
                fields.insert("microDollars".to_owned(), json!(place.total.micro_dollars));
                fields.insert("saved".to_owned(), json!(place.total.saved));
            }
            let category = match one.look {
                Look::Outside => "outside",
                _ => "frame",
            };
            // Microseconds.
            events.push(json!({
                "ph": "X", "pid": 1, "tid": track, "cat": category,
                "name": label(&one.title, one.look, one.marks),
                "ts": (one.from - first) * 1000,
                "dur": (one.to - one.from) * 1000,
                "args": arguments,
            }));
        }
    }
    let file = json!({
        "displayTimeUnit": "ms",
        "otherData": { "startedAt": first },
        "traceEvents": events,
    });
    format!("{file}\n")
}
