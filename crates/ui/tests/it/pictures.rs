//! Flame graphs as files.

use flamestack_engine::views::work::{Measure, Work, WorkScope};
use flamestack_ui::picture::{Order, Picture};
use serde_json::Value;

use crate::ground::{Ground, SESSION};

fn picture(measure: Measure, order: Order) -> Picture {
    Picture {
        scope: WorkScope::Project,
        measure,
        order,
        title: "shop".to_owned(),
    }
}

/// Leaves out what is the same in every drawing.
fn without_script(svg: &str) -> String {
    let (before, rest) = svg.split_once("<style>").unwrap();
    let (_, rest) = rest.split_once("</style>").unwrap();
    let (rest, after) = rest.split_once("<script>").unwrap();
    let (_, after) = after.split_once("</script>").unwrap();
    format!("{before}{rest}{after}")
}

#[test]
fn a_graph_as_a_drawing() {
    let work = Ground::with_story().work();
    let svg = picture(Measure::Tokens, Order::Merged).svg(&work);
    insta::assert_snapshot!(without_script(&svg));
}

#[test]
fn a_chart_as_a_drawing() {
    let work = Ground::with_story().work();
    let svg = picture(Measure::Time, Order::InTime).svg(&work);
    insta::assert_snapshot!(without_script(&svg));
}

#[test]
fn nothing_yet_is_a_drawing_too() {
    let work = Work::default();
    for order in [Order::Merged, Order::InTime] {
        let svg = picture(Measure::Cost, order).svg(&work);
        assert!(svg.contains("yet</text>"), "{svg}");
    }
}

#[test]
fn folded_stacks() {
    let work = Ground::with_story().work();
    insta::assert_snapshot!(picture(Measure::Tokens, Order::Merged).folded(&work), @r#"
    → Build the shop.;→ Build the shop 2600
    → Build the shop.;→ Build the shop;– Payment by post (invalidated) 2550
    → Build the shop.;→ Build the shop;→ Checkout <b>&", rm -rf 4550
    → Build the shop.;→ Build the shop;✓ Cart (folded) (claimed) 13100
    → Build the shop.;→ Build the shop;✗ Search 3550
    → Look at the prices.;→ Prices 4600
    "#);
    insta::assert_snapshot!(picture(Measure::Saved, Order::Merged).folded(&work), @"→ Build the shop.;→ Build the shop;✓ Cart (folded) (claimed) 30200");
}

#[test]
fn the_same_journal_gives_the_same_bytes() {
    let ground = Ground::with_story();
    for measure in Measure::ALL {
        for order in [Order::Merged, Order::InTime] {
            let picture = picture(measure, order);
            let all = |work: &Work| {
                [
                    picture.svg(work),
                    picture.speedscope(work),
                    picture.folded(work),
                    picture.trace(work),
                ]
            };
            assert_eq!(all(&ground.work()), all(&ground.work()));
        }
    }
}

/// Checks a file against the rules of speedscope's published schema.
fn check_speedscope(text: &str) -> Value {
    let file: Value = serde_json::from_str(text).unwrap();
    assert_eq!(
        file["$schema"],
        "https://www.speedscope.app/file-format-schema.json"
    );
    let frames = file["shared"]["frames"].as_array().unwrap();
    assert!(frames.iter().all(|frame| frame["name"].is_string()));
    let units = ["none", "milliseconds"];
    for profile in file["profiles"].as_array().unwrap() {
        assert!(profile["name"].is_string());
        assert!(units.contains(&profile["unit"].as_str().unwrap()));
        let start = profile["startValue"].as_i64().unwrap();
        let end = profile["endValue"].as_i64().unwrap();
        assert!(end >= start);
        match profile["type"].as_str().unwrap() {
            "evented" => check_events(profile, frames.len(), start, end),
            "sampled" => {
                let samples = profile["samples"].as_array().unwrap();
                let weights = profile["weights"].as_array().unwrap();
                assert_eq!(samples.len(), weights.len());
                let sum: i64 = weights.iter().map(|it| it.as_i64().unwrap()).sum();
                assert_eq!(sum, end);
                let mut numbers = samples.iter().flat_map(|it| it.as_array().unwrap());
                let known = |it: &Value| it.as_u64().unwrap() < frames.len() as u64;
                assert!(numbers.all(known));
            }
            other => unreachable!("{other}"),
        }
    }
    file
}

/// Events are ordered, and each box is closed before the one that it is in.
fn check_events(profile: &Value, frames: usize, start: i64, end: i64) {
    let mut open = Vec::new();
    let mut last = start;
    for event in profile["events"].as_array().unwrap() {
        let at = event["at"].as_i64().unwrap();
        assert!(at >= last && at <= end, "{event}");
        last = at;
        let frame = event["frame"].as_u64().unwrap();
        assert!(frame < frames as u64);
        match event["type"].as_str().unwrap() {
            "O" => open.push(frame),
            "C" => assert_eq!(open.pop(), Some(frame)),
            other => unreachable!("{other}"),
        }
    }
    assert!(open.is_empty());
}

#[test]
fn speedscope_files_follow_the_schema() {
    let work = Ground::with_story().work();
    let chart = check_speedscope(&picture(Measure::Time, Order::InTime).speedscope(&work));
    assert_eq!(
        chart["profiles"].as_array().unwrap().len(),
        2,
        "a lane each"
    );
    for measure in Measure::ALL {
        check_speedscope(&picture(measure, Order::Merged).speedscope(&work));
    }
    let mut one = picture(Measure::Tokens, Order::Merged);
    one.scope = WorkScope::Session(SESSION.parse().unwrap());
    let one = check_speedscope(&one.speedscope(&work));
    assert_eq!(one["profiles"][0]["name"], "opencode:ses_1 (tokens)");
}

#[test]
fn traces_have_a_track_for_each_session() {
    let work = Ground::with_story().work();
    let text = picture(Measure::Time, Order::InTime).trace(&work);
    let file: Value = serde_json::from_str(&text).unwrap();
    let events = file["traceEvents"].as_array().unwrap();
    let tracks = events.iter().filter(|it| it["name"] == "thread_name");
    assert_eq!(tracks.count(), 2);
    for event in events.iter().filter(|it| it["ph"] == "X") {
        assert!(event["dur"].as_i64().unwrap() > 0, "{event}");
    }
}

#[test]
fn a_hostile_title_stays_text() {
    let ground = Ground::new();
    ground.prompt(SESSION, "Go.");
    ground.push(
        SESSION,
        "]]></script><script>alert(1)</script>\u{202e}\u{1b}[31m",
    );
    ground.call(SESSION, 500);
    let svg = picture(Measure::Tokens, Order::Merged).svg(&ground.work());
    let drawn = without_script(&svg);
    assert!(!drawn.contains("<script"), "{drawn}");
    assert!(!drawn.contains(['\u{202e}', '\u{1b}']), "{drawn}");
}
