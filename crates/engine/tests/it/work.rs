//! The view model of the work: amounts, rows, flame graphs and charts, on real stores.

use flamestack_core::transcript::{Entry, EntryKind, Speaker, Usage};
use flamestack_core::{Actor, FrameId, Status};
use flamestack_engine::views::work::{
    Amounts, ChargedCall, FlameGraph, Look, Measure, Opened, TimelineRow, Work, WorkPlace,
    WorkScope,
};
use flamestack_engine::{Engine, Request, tools};
use serde_json::{Value, json};

use crate::ground::{Ground, actor, session};

const SESSION: &str = "opencode:ses_1";

fn entry(id: &str, kind: EntryKind) -> Entry {
    Entry {
        id: Some(id.to_owned()),
        message: Some(format!("msg_{id}")),
        at: None,
        agent: None,
        kind,
    }
}

fn prompt(ground: &Ground, session: &str, id: &str, text: &str) {
    let kind = EntryKind::User {
        speaker: Speaker::Person,
        text: text.to_owned(),
    };
    ground
        .engine
        .ingest(&actor(session), &[entry(id, kind)])
        .unwrap();
}

/// A model call with a prompt of that many tokens.
fn call(ground: &Ground, session: &str, id: &str, prompt: u64) {
    let usage = Usage {
        model: Some("m".to_owned()),
        input: 100,
        cache_read: prompt - 100,
        output: 50,
        micro_dollars: Some(prompt * 3),
        ..Usage::default()
    };
    let entries = [entry(id, EntryKind::Usage(usage))];
    ground.engine.ingest(&actor(session), &entries).unwrap();
}

fn turn(ground: &Ground, session: &str, id: &str) {
    let entries = [entry(id, EntryKind::TurnEnded)];
    ground.engine.ingest(&actor(session), &entries).unwrap();
}

fn work(engine: &Engine) -> Work {
    engine.read(Work::read).unwrap()
}

fn sessions(engine: &Engine) -> Vec<TimelineRow> {
    let work = work(engine);
    engine.read(|reading| work.sessions(reading)).unwrap()
}

fn rows(work: &Work, engine: &Engine) -> String {
    let rows = work.rows(&Opened::default()).rows;
    let lines = rows.iter().map(|row| {
        format!(
            "{}{} [{}] own {} total {} saved {} {}\n",
            "  ".repeat(row.depth),
            row.title,
            row.status,
            row.own.tokens(),
            row.total.tokens(),
            row.total.saved,
            row.active_in.join(" "),
        )
    });
    let all = engine.read(|reading| work.sessions(reading)).unwrap();
    lines.collect::<String>() + &serde_json::to_string(&all).unwrap()
}

/// A session that pushes, works, pops and is folded.
fn story(ground: &Ground) {
    prompt(ground, SESSION, "p1", "Build the shop.");
    ground.push(SESSION, "Shop");
    call(ground, SESSION, "c1", 1_000);
    ground.push(SESSION, "Cart");
    call(ground, SESSION, "c2", 3_000);
    call(ground, SESSION, "c3", 5_000);
    ground.pop(SESSION, "The cart works.");
    call(ground, SESSION, "c4", 1_200);
    call(ground, SESSION, "c5", 1_400);
    turn(ground, SESSION, "t1");
}

#[test]
fn calls_are_charged_to_the_frame_that_the_session_works_on() {
    let ground = Ground::new();
    story(&ground);
    let work = work(&ground.engine);
    let rows = work.rows(&Opened::default());
    let shop = rows.rows.iter().find(|row| row.title == "Shop").unwrap();
    let cart = rows.rows.iter().find(|row| row.title == "Cart").unwrap();
    assert_eq!(shop.own.tokens(), 1_050 + 1_250 + 1_450);
    assert_eq!(cart.own.tokens(), 3_050 + 5_050);
    assert_eq!(shop.total.tokens(), 1_050 + 1_250 + 1_450 + 3_050 + 5_050);
    assert_eq!(cart.total.micro_dollars, Some(24_000));
    assert_eq!(rows.total.calls, 5);
}

#[test]
fn folding_saves_what_the_prompt_shrank_by_in_each_later_call() {
    let ground = Ground::new();
    story(&ground);
    let before = work(&ground.engine);
    let cart = |work: &Work| {
        let rows = work.rows(&Opened::default()).rows;
        rows.into_iter().find(|row| row.title == "Cart").unwrap()
    };
    // 5,050 tokens before the pop, 1,200 after it, in two calls.
    assert_eq!(cart(&before).own.saved, 2 * 3_850);
    assert!(cart(&before).is_folded);
    call(&ground, SESSION, "c6", 1_500);
    assert_eq!(cart(&work(&ground.engine)).own.saved, 3 * 3_850);
    let compacted = EntryKind::Compacted {
        automatic: true,
        summary: None,
        tokens_before: None,
    };
    let entries = [entry("k1", compacted)];
    ground.engine.ingest(&actor(SESSION), &entries).unwrap();
    call(&ground, SESSION, "c7", 800);
    assert_eq!(
        cart(&work(&ground.engine)).own.saved,
        3 * 3_850,
        "a summary has replaced the history"
    );
}

/// OpenCode reports a call once the tools that it called have run.
#[test]
fn a_call_that_is_reported_after_its_tools_belongs_to_the_frame_that_it_began_in() {
    let ground = Ground::new();
    let tool = |id: &str, name: &str, arguments: Value| {
        let actor = Actor {
            message: Some(format!("msg_{id}")),
            ..actor(SESSION)
        };
        tools::call(&ground.engine, &actor, name, arguments).unwrap();
    };
    prompt(&ground, SESSION, "p1", "Build the shop.");
    let goal = json!({ "title": "Cart", "successCriteria": "It works" });
    tool("c1", "stack_frame_push", goal);
    call(&ground, SESSION, "c1", 1_000);
    call(&ground, SESSION, "c2", 3_000);
    let results = json!({ "status": "completed", "results": "It works" });
    tool("c3", "stack_frame_pop", results);
    call(&ground, SESSION, "c3", 5_000);
    call(&ground, SESSION, "c4", 1_200);
    call(&ground, SESSION, "c5", 1_300);
    let rows = work(&ground.engine).rows(&Opened::default()).rows;
    let cart = rows.iter().find(|row| row.title == "Cart").unwrap();
    assert_eq!(
        cart.own.tokens(),
        3_050 + 5_050,
        "not the call that opened it"
    );
    assert!(cart.is_folded);
    // 5,050 tokens before the pop, 1,200 after it, in two calls.
    assert_eq!(cart.own.saved, 2 * 3_850);
    let mut charged = Vec::new();
    let mut each = |call: ChargedCall| charged.push(call.frame.map(|it| it.to_string()));
    let mut all = Work::default();
    ground
        .engine
        .read(|reading| all.catch_up_with_calls(reading, &mut each))
        .unwrap();
    let of_cart = |frame: &&Option<String>| frame.as_deref() == Some(cart.id.as_str());
    assert_eq!(charged.iter().filter(of_cart).count(), 2);
}

#[test]
fn without_folding_nothing_was_saved() {
    let ground = Ground::new();
    prompt(&ground, SESSION, "p1", "Build the shop.");
    ground.push(SESSION, "Cart");
    call(&ground, SESSION, "c2", 3_000);
    ground.pop(SESSION, "The cart works.");
    call(&ground, SESSION, "c4", 3_200);
    assert_eq!(work(&ground.engine).total().saved, 0);
}

#[test]
fn what_is_read_in_steps_equals_what_is_read_at_once() {
    let ground = Ground::new();
    let mut kept = Work::default();
    let check = |kept: &mut Work| {
        ground
            .engine
            .read(|reading| {
                while !kept.catch_up(reading)? {}
                Ok(())
            })
            .unwrap();
        assert_eq!(
            rows(kept, &ground.engine),
            rows(&work(&ground.engine), &ground.engine)
        );
    };
    check(&mut kept);
    prompt(&ground, SESSION, "p1", "Build the shop.");
    for title in ["Shop", "Cart", "Checkout"] {
        ground.push(SESSION, title);
        call(&ground, SESSION, &format!("c{title}"), 2_000);
        check(&mut kept);
    }
    ground.pop(SESSION, "Done.");
    check(&mut kept);
    let undo = |who: &str| {
        let commands = ground.engine.commands();
        commands.execute(&actor(who), &Request::Undo).unwrap()
    };
    undo(SESSION);
    check(&mut kept);
    ground.push("shell:main", "By hand");
    check(&mut kept);
    undo("shell:main");
    check(&mut kept);
    turn(&ground, SESSION, "t1");
    check(&mut kept);
}

#[test]
fn the_tree_of_a_long_journal_is_there_before_its_amounts() {
    let ground = Ground::new();
    story(&ground);
    ground.push(SESSION, "Mistake");
    let undo = || {
        let commands = ground.engine.commands();
        commands.execute(&actor(SESSION), &Request::Undo).unwrap();
    };
    undo();
    let usage = Usage {
        output: 50,
        ..Usage::default()
    };
    let calls = (0..2_100).map(|n| entry(&format!("many{n}"), EntryKind::Usage(usage.clone())));
    let calls: Vec<Entry> = calls.collect();
    ground.engine.ingest(&actor(SESSION), &calls).unwrap();

    let mut kept = Work::default();
    let read_on = |kept: &mut Work| ground.engine.read(|it| kept.catch_up(it)).unwrap();
    assert!(!read_on(&mut kept));
    let early = kept.rows(&Opened::default());
    let titles: Vec<&str> = early.rows.iter().map(|row| row.title.as_str()).collect();
    assert!(titles.contains(&"Shop") && titles.contains(&"Cart"));
    assert!(early.rows.iter().any(|row| row.active_in == [SESSION]));
    assert!(early.rows.iter().any(|row| row.below > 0));
    assert!(!early.is_counted);
    assert_eq!(early.total, Amounts::default());

    // What changes meanwhile is part of the tree once everything is read.
    ground.push(SESSION, "Meanwhile");
    undo();
    ground.push(SESSION, "Later");
    while !read_on(&mut kept) {}
    assert!(kept.rows(&Opened::default()).is_counted);
    let mut events_first = Work::default();
    ground
        .engine
        .read(|reading| events_first.catch_up_with_calls(reading, &mut |_| {}))
        .unwrap();
    let counted = rows(&kept, &ground.engine);
    assert!(counted.contains("Later") && !counted.contains("Meanwhile"));
    assert_eq!(counted, rows(&events_first, &ground.engine));

    // A shorter store in its place is read from its beginning, whatever was known of the former one.
    let other = Ground::new();
    other.push(SESSION, "Other");
    let mut outlined = Work::default();
    assert!(!read_on(&mut outlined));
    for mut work in [kept, outlined] {
        assert!(other.engine.read(|it| work.catch_up(it)).unwrap());
        assert_eq!(work.frames(), 1);
    }
}

#[test]
fn the_total_is_what_the_sessions_spent() {
    let ground = Ground::new();
    call(&ground, "opencode:ses_2", "early", 700);
    story(&ground);
    let total = work(&ground.engine).total();
    let known = ground
        .engine
        .read(|reading| Ok(reading.sessions(false)?))
        .unwrap();
    let mut host = Usage::default();
    for session in &known {
        host.add(&session.activity.spent);
    }
    assert_eq!(total.tokens(), host.prompt() + host.output);
    assert_eq!(total.micro_dollars, host.micro_dollars);
    let listed: u64 = sessions(&ground.engine)
        .iter()
        .map(|it| it.spent.tokens())
        .sum();
    assert_eq!(listed, total.tokens());
}

/// Widths of children never exceed their parent's, and own work is the rest.
fn adds_up(graph: &FlameGraph) {
    for outer in &graph.boxes {
        let inside = graph.boxes.iter().filter(|inner| {
            inner.level == outer.level + 1
                && inner.from >= outer.from
                && inner.from + inner.width <= outer.from + outer.width
        });
        let inside: u64 = inside.map(|inner| inner.width).sum();
        let own = if outer.look == Look::All {
            0
        } else {
            outer.own
        };
        if outer.look != Look::Rest {
            assert_eq!(inside + own, outer.width, "{outer:?}");
        }
    }
}

#[test]
fn a_flame_graph_adds_up_in_every_measure() {
    let ground = Ground::new();
    call(&ground, "opencode:ses_2", "early", 700);
    story(&ground);
    let work = work(&ground.engine);
    for measure in Measure::ALL {
        let graph = work.graph(&WorkScope::Project, measure, None);
        adds_up(&graph);
        assert_eq!(graph.total, work.total().of(measure), "{measure:?}");
    }
    let one = WorkScope::Session(session(SESSION));
    let graph = work.graph(&one, Measure::Tokens, None);
    adds_up(&graph);
    assert_eq!(graph.total, 1_050 + 1_250 + 1_450 + 3_050 + 5_050);
}

#[test]
fn siblings_of_one_title_are_one_box() {
    let ground = Ground::new();
    prompt(&ground, SESSION, "p1", "Fix the tests.");
    ground.push(SESSION, "Tests");
    for n in 0..3 {
        ground.push(SESSION, "Fix one");
        call(&ground, SESSION, &format!("c{n}"), 1_000 + n * 500);
        ground.pop(SESSION, "Fixed.");
    }
    let graph = work(&ground.engine).graph(&WorkScope::Project, Measure::Messages, None);
    let one = graph.boxes.iter().find(|it| it.title == "Fix one").unwrap();
    assert_eq!((one.count, one.width), (3, 3));
}

#[test]
fn the_boxes_of_a_lane_never_overlap() {
    let ground = Ground::new();
    story(&ground);
    prompt(&ground, "opencode:ses_2", "q1", "Something else.");
    ground.push("opencode:ses_2", "Other");
    call(&ground, "opencode:ses_2", "d1", 500);
    let chart = work(&ground.engine).chart(&WorkScope::Project, None);
    assert_eq!(chart.lanes.len(), 2);
    for lane in &chart.lanes {
        for level in 0..lane.levels {
            let mut end = i64::MIN;
            for one in lane.boxes.iter().filter(|it| it.level == level) {
                assert!(one.from >= end && one.to > one.from, "{one:?}");
                end = one.to;
            }
        }
    }
    assert!(chart.axis.length() > 0);
}

#[test]
fn time_counts_while_a_turn_runs() {
    let mut ground = Ground::new();
    prompt(&ground, SESSION, "p1", "Go.");
    ground.push(SESSION, "Work");
    call(&ground, SESSION, "c1", 500);
    turn(&ground, SESSION, "t1");
    let first = work(&ground.engine).total().milliseconds;
    assert!(first > 0);
    // Ten minutes later the user comes back; no session worked in between.
    ground.at(10 * 60 * 1000);
    prompt(&ground, SESSION, "p2", "Go on.");
    let second = work(&ground.engine).total().milliseconds;
    assert!(second - first < 60_000, "{first} {second}");
}

#[test]
fn work_on_an_undone_frame_counts_to_the_frame_above() {
    let ground = Ground::new();
    prompt(&ground, SESSION, "p1", "Go.");
    ground.push(SESSION, "Outer");
    ground.push(SESSION, "Inner");
    call(&ground, SESSION, "c1", 500);
    let undo = ground.engine.commands();
    undo.execute(&actor(SESSION), &Request::Undo).unwrap();
    let work = work(&ground.engine);
    let rows = work.rows(&Opened::default()).rows;
    let outer = rows.iter().find(|row| row.title == "Outer").unwrap();
    assert_eq!(outer.total.tokens(), 550);
    assert!(rows.iter().all(|row| row.title != "Inner"));
}

#[test]
fn a_branch_with_many_children_shows_some_and_counts_the_rest() {
    let ground = Ground::new();
    ground.push(SESSION, "Root");
    for n in 0..60 {
        ground.push(SESSION, &format!("Step {n}"));
        ground.pop(SESSION, "Done.");
    }
    let work = work(&ground.engine);
    let rows = work.rows(&Opened::default()).rows;
    let rest = rows.iter().find(|row| row.hidden > 0).unwrap();
    assert_eq!((rest.hidden, rows.len()), (20, 42));
    let root: FrameId = rows[0].id.parse().unwrap();
    let mut opened = Opened::default();
    opened.more.insert(Some(root), 1_000);
    assert_eq!(work.rows(&opened).rows.len(), 61);
    opened.closed.insert(root);
    assert_eq!(work.rows(&opened).rows.len(), 1);
    assert_eq!(work.place(&root).unwrap().status, Status::InProgress);
}

#[test]
fn the_stacks_of_sessions_are_those_of_each_alone() {
    let ground = Ground::new();
    story(&ground);
    prompt(&ground, "opencode:ses_2", "q1", "Look at the prices.");
    call(&ground, "opencode:ses_2", "d1", 2_000);
    call(&ground, "opencode:ses_3", "d2", 700);
    let work = work(&ground.engine);
    let line = |path: &[&WorkPlace], own: u64| {
        let titles: Vec<&str> = path.iter().map(|place| place.title.as_str()).collect();
        format!("{} {own}", titles.join(";"))
    };
    for measure in Measure::ALL {
        let mut together = Vec::new();
        work.each_session_stack(measure, &mut |session, path, own| {
            together.push(format!("{session} {}", line(path, own)));
        });
        let mut alone = Vec::new();
        for session in work.session_names() {
            let scope = WorkScope::Session(session.clone());
            work.each_stack(&scope, measure, &mut |path, own| {
                alone.push(format!("{session} {}", line(path, own)));
            });
        }
        assert_eq!(together, alone, "{measure:?}");
    }
}

#[test]
fn stacks_end_at_a_depth_and_lose_nothing() {
    let ground = Ground::new();
    prompt(&ground, SESSION, "p1", "Go down.");
    for depth in 0..230 {
        ground.push(SESSION, &format!("Level {depth}"));
        call(&ground, SESSION, &format!("c{depth}"), 1_000);
    }
    let work = work(&ground.engine);
    let (mut deepest, mut sum) = (0, 0);
    work.each_stack(&WorkScope::Project, Measure::Tokens, &mut |path, own| {
        deepest = deepest.max(path.len());
        sum += own;
    });
    assert_eq!((deepest, sum), (200, work.total().tokens()));
}
