//! Secrets in recorded sessions: none of them reaches what is kept, and nothing else is taken for
//! one.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use flamestack_core::Author;
use flamestack_core::command::Actor;
use flamestack_core::id::{BlobId, Seq};
use flamestack_engine::clock::StoryClock;
use flamestack_engine::{Engine, Home, IngestMode, IngestOptions, Project};
use flamestack_hosts::recordings::{TranscriptItem, find, read};
use serde_json::{Value, json};

use crate::recordings::{Files, ctrace};

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";

/// The beginnings of secrets by which services make theirs known, the letters they continue with, and
/// how many.
const KINDS: [(&str, &str, usize); 36] = [
    ("sk-ant-api03-", ALNUM, 95),
    ("sk-proj-", ALNUM, 156),
    ("sk-or-v1-", HEX, 64),
    ("hf_", ALNUM, 34),
    ("gsk_", ALNUM, 52),
    ("xai-", ALNUM, 80),
    ("pplx-", ALNUM, 48),
    ("r8_", ALNUM, 37),
    ("nvapi-", ALNUM, 64),
    ("ghp_", ALNUM, 36),
    ("gho_", ALNUM, 36),
    ("github_pat_", ALNUM, 82),
    ("glpat-", ALNUM, 20),
    ("npm_", ALNUM, 36),
    ("pypi-AgEIcHlwaS5vcmc", ALNUM, 140),
    ("rubygems_", HEX, 48),
    ("dckr_pat_", ALNUM, 27),
    ("squ_", HEX, 40),
    ("AKIA", UPPER, 16),
    ("AIza", ALNUM, 35),
    ("ya29.", ALNUM, 120),
    ("GOCSPX-", ALNUM, 28),
    ("dop_v1_", HEX, 64),
    ("dapi", HEX, 32),
    ("sbp_", HEX, 40),
    ("pscale_tkn_", ALNUM, 43),
    ("hvs.", ALNUM, 90),
    ("sk_live_", ALNUM, 24),
    ("rk_live_", ALNUM, 24),
    ("whsec_", ALNUM, 32),
    ("shpat_", HEX, 32),
    ("xoxb-1234567890-", ALNUM, 24),
    ("lin_api_", ALNUM, 40),
    ("ntn_", ALNUM, 46),
    ("glsa_", ALNUM, 41),
    ("figd_", ALNUM, 40),
];
/// Number of secrets of each kind.
const EACH: usize = 6;

/// Hashes, ids and the like, which must come through.
const INNOCENT: [&str; 8] = [
    "1df6cf1a5b0c9d3e7f8a2b4c6d8e0f1a3b5c7d9e",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "550e8400-e29b-41d4-a716-446655440000",
    "ses_4f1b9c2d7e8aZ3xY6wV5uT4sR3",
    "toolu_01A09q90qw90lq917835lq9x",
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    "msg_b0e3f1c2a4d5Qw9eR8tY7uI6oP5aS4",
    "call_h8Jk2LmN4pQr6StUvWxYz012",
];

/// A row of numbers that only look random.
fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

fn secrets() -> Vec<String> {
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    let mut secrets = Vec::new();
    for (prefix, letters, length) in KINDS {
        for _ in 0..EACH {
            let letters: Vec<char> = letters.chars().collect();
            let body = (0..length).map(|_| {
                let place = random(&mut seed) % letters.len() as u64;
                letters[usize::try_from(place).unwrap()]
            });
            secrets.push(format!("{prefix}{}", body.collect::<String>()));
        }
    }
    secrets
}

/// A session in which the secrets come up everywhere that anything can be said.
fn session(secrets: &[String]) -> String {
    let mut lines: Vec<Value> = Vec::new();
    for (n, secret) in secrets.iter().enumerate() {
        let call = format!("c{n}");
        let other = &secrets[(n + 1) % secrets.len()];
        lines.push(json!({"t": "user", "kind": "prompt", "text": format!("Use {secret} for {n}")}));
        lines.push(json!({"t": "call", "id": call, "name": "Bash", "k": "exec",
            "args": {"command": format!("export KEY=\"{secret}\"\necho \"{other}\" | tool")},
            "cmd": format!("cargo test --token {secret}")}));
        lines.push(json!({"t": "result", "id": call, "ok": n % 2 == 0,
            "text": format!("Exit code {}\nerror: {{\"key\": \"{secret}\"}}\nAuthorization: Bearer {other}\n", n % 2)}));
        lines.push(json!({"t": "todo", "items": [{"text": format!("Rotate {secret}"), "status": "pending"}]}));
        lines.push(json!({"t": "sub_start", "id": format!("s{n}"), "title": format!("Ask {secret}"), "prompt": format!("curl -H 'X-Key: {secret}'")}));
        lines.push(json!({"t": "sub_stop", "id": format!("s{n}"), "ok": true, "text": format!("It was {secret}")}));
        lines.push(json!({"t": "compact", "summary": format!("We used {secret}")}));
        lines.push(
            json!({"t": "assistant", "text": format!("I see `{secret}` in .env\nand {other}")}),
        );
        lines.push(json!({"t": "interrupt", "by": "user", "how": format!("esc {secret}")}));
        lines.push(json!({"t": "turn_end"}));
    }
    for innocent in INNOCENT {
        let text = format!("The id is {innocent}, as it was");
        lines.push(json!({"t": "assistant", "text": text}));
    }
    ctrace(&lines)
}

fn engine(dir: &Path) -> Engine {
    let home = Home {
        state: dir.join("state"),
        config: dir.join("config"),
    };
    let root = dir.join("shop");
    fs_err::create_dir_all(&root).unwrap();
    let project = Project::at(&root, &home).unwrap();
    let clock = Box::new(StoryClock::starting_at(1));
    Engine::new(project, clock, Duration::from_secs(5))
}

/// Everything that the engine keeps, as text: the journal, raw text, the index and every other file.
fn everything(engine: &Engine) -> String {
    engine
        .recall()
        .search(
            "the id",
            5,
            flamestack_engine::recall::Patience::Request,
            &mut |_, _| (),
        )
        .unwrap();
    let mut all = String::new();
    let events = engine.read(|reading| Ok(reading.events_after(Seq(0), usize::MAX)?));
    for recorded in events.unwrap() {
        writeln!(all, "{:?}", recorded.event).unwrap();
    }
    let blobs = engine.blobs();
    for name in blobs.stored_sizes().unwrap().into_keys() {
        let id = BlobId::from_hex(&name).unwrap();
        all.push_str(&blobs.get(&id).unwrap().unwrap());
    }
    for file in fs_err::read_dir(&engine.project().dir).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            all.push_str(&String::from_utf8_lossy(&fs_err::read(path).unwrap()));
        }
    }
    all
}

#[test]
fn no_secret_of_a_recorded_session_is_kept() {
    let secrets = secrets();
    assert!(secrets.len() >= 200 && KINDS.len() >= 30);
    let files = Files::new();
    files.text("t.jsonl", &session(&secrets));
    let engine = engine(files.path());
    let mut actor = None;
    let mut run = Vec::new();
    let past = IngestOptions {
        mode: IngestMode::Past,
        ..IngestOptions::default()
    };
    for source in find(&files.path().join("t.jsonl")).unwrap() {
        let report = read(&source, &mut |item, _| {
            match item {
                TranscriptItem::Session(about) => {
                    actor = Some(Actor {
                        session: about.session,
                        worktree: None,
                        message: None,
                        by: Author::Agent,
                    });
                }
                TranscriptItem::Entry(entry) => run.push(*entry),
                TranscriptItem::Ended(_) => {}
            }
            ControlFlow::Continue(())
        });
        assert_eq!(report.unwrap().bad, 0);
    }
    let actor = actor.unwrap();
    for some in run.chunks(500) {
        engine.ingest_with(&actor, &past, some).unwrap();
    }
    engine.settle(&actor).unwrap();
    let all = everything(&engine);
    // Not even a part of one: what is cut short, as titles are, must not cut a secret open.
    let inner = |secret: &String| {
        let end = secret.len() - 2;
        secret[end - 12..end].to_owned()
    };
    let first = |secret: &String| secret[..secret.len().min(24)].to_owned();
    let leaks = |secret: &&String| all.contains(&inner(secret)) || all.contains(&first(secret));
    let kept: Vec<&String> = secrets.iter().filter(leaks).collect();
    assert!(
        kept.is_empty(),
        "{} of {} kept: {kept:#?}",
        kept.len(),
        secrets.len()
    );
    for innocent in INNOCENT {
        assert!(all.contains(innocent), "{innocent} was taken for a secret");
    }
}
