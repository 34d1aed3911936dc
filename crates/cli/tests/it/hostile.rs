//! Hostile stores and requests: whatever was recorded and whatever is asked, an answer takes bounded
//! time and memory. `cargo xtask hostile` runs this at full size, with stores of 50 MB and requests
//! of 1 MB, in a release build.
#![cfg(target_os = "linux")]

mod measure;
mod requests;
mod stores;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use self::measure::{Page, Report, SEARCH_TIME, Sidecar, command};
use self::requests::{commands, page_requests, questions, requests, tool_calls};
use self::stores::{STORES, filled, odd_text, prose};
use crate::ground::Dice;

/// The size of stores and requests, and the time that an answer may take.
struct Scale {
    store: usize,
    request: usize,
    time: Duration,
    search: Duration,
}

impl Scale {
    fn chosen() -> Self {
        if std::env::var_os("FLAME_HOSTILE").is_some_and(|size| size == "full") {
            Self {
                store: 48_000_000,
                request: 1_000_000,
                time: Duration::from_secs(2),
                search: SEARCH_TIME,
            }
        } else {
            // A debug build on a busy machine; the limit is there to end what never would.
            Self {
                store: 1_000_000,
                request: 50_000,
                time: Duration::from_mins(1),
                search: Duration::from_mins(1),
            }
        }
    }
}

fn on_disk(dir: &Path) -> u64 {
    ["journal.db", "blobs.db"]
        .iter()
        .filter_map(|name| fs_err::metadata(dir.join(name)).ok())
        .map(|file| file.len())
        .sum()
}

#[test]
fn every_answer_is_bounded() {
    let scale = Scale::chosen();
    let mut report = Report::default();
    let mut dice = Dice(3);
    let longs = [
        "a".repeat(scale.request),
        prose(&mut dice, scale.request),
        "-----BEGIN key=value\n".repeat(scale.request / 21),
        odd_text(&mut dice, scale.request),
    ];
    let questions = questions(&scale);
    let only = std::env::var("FLAME_HOSTILE_STORE").ok();
    for (n, store) in STORES.into_iter().enumerate() {
        if only.as_deref().is_some_and(|only| only != store) {
            continue;
        }
        let mut of_store = Report::default();
        let begun = Instant::now();
        let filled = filled(store, &scale);
        let dir = filled.engine.project().dir.clone();
        let size = on_disk(&dir);
        let session = filled
            .engine
            .session(&"opencode:s".parse().unwrap())
            .unwrap();
        let frame = session.unwrap().frame().unwrap().to_string();
        eprintln!("{store}: {size} bytes, made in {:?}", begun.elapsed());
        for arguments in commands(&frame) {
            command(&filled, store, &arguments, &mut of_store);
        }
        for piece in ["#1", "#2", "#log1"] {
            let name = format!("{frame}{piece}");
            command(&filled, store, &["log", &name], &mut of_store);
            command(
                &filled,
                store,
                &["recall", &name, "--tokens", "1000000"],
                &mut of_store,
            );
        }
        // A word on the command line has at most 128 kB.
        for question in questions
            .iter()
            .filter(|it| it.len() < 100_000 && !it.contains('\0'))
        {
            command(&filled, store, &["search", "--", question], &mut of_store);
            command(&filled, store, &["recall", "--", question], &mut of_store);
        }
        let long = &longs[n % longs.len()];
        let mut sidecar = Sidecar::new(&filled);
        for (tool, arguments) in tool_calls(&frame, long, &questions) {
            let shown: String = arguments.to_string().chars().take(60).collect();
            let params = json!({ "session": "s", "name": tool, "arguments": arguments });
            sidecar.measure(
                format!("{store}: {tool} {shown}"),
                "call",
                &params,
                &mut of_store,
            );
        }
        for (n, (method, params)) in requests(long).into_iter().enumerate() {
            sidecar.measure(
                format!("{store}: {method} ({n})"),
                method,
                &params,
                &mut of_store,
            );
        }
        drop(sidecar);
        let page = Page::new(&filled);
        for (method, path, body) in page_requests(&frame, long) {
            page.measure(store, (method, &path, &body), &mut of_store);
        }
        drop(page);
        of_store.print(store);
        report.0.append(&mut of_store.0);
    }
    report.print("all");
    report.check(&scale);
}
