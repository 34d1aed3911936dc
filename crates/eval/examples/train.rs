#![allow(warnings, clippy::all, clippy::pedantic)]
use flamestack_core::anchor::{known::Names, name::NameKind, worth};
use flamestack_core::summary::phrase;
use flamestack_core::transcript::*;
use flamestack_eval::{judge, train::Examples};
use std::collections::*;
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let mut files: Vec<_> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "jsonl"));
    files.sort();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let groups = std::sync::Mutex::new(Vec::<String>::new());
    let parts: Vec<(usize, Examples, Examples, Examples)> = std::thread::scope(|s| {
        let hs: Vec<_> = (0..2)
            .map(|_| {
                s.spawn(|| {
                    let mut out = Vec::new();
                    loop {
                        let n = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        let Some(f) = files.get(n) else { break };
                        let text = std::fs::read_to_string(f).unwrap();
                        let mut lines = text.lines();
                        let head =
                            flamestack_hosts::transcript::ctrace::header(lines.next().unwrap())
                                .unwrap();
                        let entries: Vec<Entry> = lines
                            .filter_map(|l| flamestack_hosts::transcript::ctrace::entry(l))
                            .map(|x| x.1)
                            .collect();
                        let owner = head.source.split('/').next().unwrap().to_owned();
                        let g = {
                            let mut gs = groups.lock().unwrap();
                            match gs.iter().position(|x| *x == owner) {
                                Some(i) => i,
                                None => {
                                    gs.push(owner);
                                    gs.len() - 1
                                }
                            }
                        } as u32;
                        let ready = judge::ready(&entries);
                        let (mut a, mut b, mut c) = (
                            Examples::default(),
                            Examples::default(),
                            Examples::default(),
                        );
                        for cut in ready.cuts(false) {
                            let need = ready.need(&cut);
                            let history = ready.history(&cut);
                            let moments = flamestack_core::anchor::moment::moments(&history);
                            let todos: Vec<&str> = flamestack_core::summary::newest_todos(&history)
                                .iter()
                                .map(|t| t.text.as_str())
                                .collect();
                            let names = Names::gather(&moments, &todos);
                            let mut worths: HashMap<u64, f32> = HashMap::new();
                            for k in &names.all {
                                if k.same_as.is_some() {
                                    continue;
                                }
                                let x = worth::features(k, &names);
                                let y = ready
                                    .interned
                                    .find(k.kind, k.key)
                                    .is_some_and(|id| need.names.contains(&id));
                                if k.kind == NameKind::Identifier {
                                    worths.insert(
                                        phrase::word_hash(k.key),
                                        worth::probability(
                                            &x,
                                            &flamestack_core::anchor::weights::NAMES,
                                        ),
                                    );
                                }
                                a.add(&x, y, 1.0, g);
                            }
                            let phrases = phrase::Phrases::gather(&moments, &|h| {
                                worths.get(&h).copied().unwrap_or(0.0)
                            });
                            // label by text
                            let mut label = vec![0u8; phrases.all.len()];
                            for (m, words) in moments.iter().zip(&phrases.words) {
                                let gs = judge::grams(phrase::looked_at(m));
                                let ascii: Vec<_> = words
                                    .iter()
                                    .filter(|w| m.text.as_bytes()[w.start as usize].is_ascii())
                                    .collect();
                                if ascii.len() != words.len() {
                                    continue;
                                }
                                for (w, gr) in words.iter().zip(&gs) {
                                    if let Some(p) = w.phrase {
                                        label[p as usize] =
                                            if need.phrases.contains(gr) { 2 } else { 1 }
                                    }
                                }
                            }
                            let cutw = 1.0;
                            for (i, p) in phrases.all.iter().enumerate() {
                                if label[i] == 0 {
                                    continue;
                                }
                                let y = label[i] == 2;
                                if y {
                                    b.add(&phrase::features(p, phrases.calls), true, 1.0, g)
                                } else if (i as u64).wrapping_mul(0x9e3779b97f4a7c15) >> 59 == 0 {
                                    b.add(&phrase::features(p, phrases.calls), false, 32.0, g)
                                }
                            }
                        }
                        let (pops, interned) = flamestack_eval::pop::pops(&entries);
                        for p in pops {
                            let mut history = vec![Entry {
                                id: None,
                                message: None,
                                at: None,
                                agent: None,
                                what: What::User {
                                    voice: Voice::Person,
                                    text: p.prompt.clone(),
                                },
                            }];
                            history.extend(p.entries.iter().map(|e| Entry {
                                agent: None,
                                ..e.clone()
                            }));
                            history.push(Entry {
                                id: None,
                                message: None,
                                at: None,
                                agent: None,
                                what: What::Assistant {
                                    text: p.result.clone(),
                                },
                            });
                            let moments = flamestack_core::anchor::moment::moments(&history);
                            let names = Names::gather(&moments, &[]);
                            for k in &names.all {
                                if k.same_as.is_some()
                                    || p.known
                                        .contains(&interned.find(k.kind, k.key).unwrap_or(u32::MAX))
                                {
                                    continue;
                                }
                                let x = worth::features(k, &names);
                                let y = interned
                                    .find(k.kind, k.key)
                                    .is_some_and(|id| p.need.names.contains(&id));
                                c.add(&x, y, 1.0, g);
                            }
                        }
                        out.push((n, a, b, c));
                    }
                    out
                })
            })
            .collect();
        let mut all: Vec<_> = hs.into_iter().flat_map(|h| h.join().unwrap()).collect();
        all.sort_by_key(|x| x.0);
        all
    });
    let mut a = Examples::default();
    let mut b = Examples::default();
    let mut c = Examples::default();
    for (_, x, y, z) in parts {
        for (d, s) in [(&mut a, x), (&mut b, y), (&mut c, z)] {
            if s.width > 0 {
                d.width = s.width;
            }
            d.x.extend(s.x);
            d.y.extend(s.y);
            d.weight.extend(s.weight);
            d.group.extend(s.group);
        }
    }
    let groups = groups.into_inner().unwrap();
    let mut file = String::from(
        "//! How much each feature of a name or a phrase counts. Written by `cargo xtask train`, which fits\n//! them to recorded sessions; not to be edited by hand.\n",
    );
    for (what, e, names) in [
        ("names", &a, &worth::FEATURE_NAMES[..]),
        ("phrases", &b, &phrase::FEATURE_NAMES[..]),
        ("pop", &c, &worth::FEATURE_NAMES[..]),
    ] {
        let pos: f32 = e.y.iter().sum();
        println!("{what}: {} examples, {} positive", e.len(), pos);
        let w = e.fit(None, 12);
        println!("auc {:.4}", e.auc(&w, None));
        for (g, o) in groups.iter().enumerate() {
            let lw = e.fit(Some(g as u32), 8);
            println!(
                "  without {o}: {:.4} (with {:.4})",
                e.auc(&lw, Some(g as u32)),
                e.auc(&w, Some(g as u32))
            );
        }
        for (n, v) in names.iter().zip(&w) {
            print!("{n} {v:?}, ");
        }
        println!();
        let (cname, doc, feat) = match what {
            "names" => (
                "NAMES",
                "How likely a name is needed again in the same conversation",
                "super::worth::FEATURES",
            ),
            "phrases" => (
                "PHRASES",
                "How likely a phrase is needed again in the same conversation",
                "crate::summary::phrase::FEATURES",
            ),
            _ => (
                "RESULTS",
                "How likely a parent needs a name that a finished frame brought",
                "super::worth::FEATURES",
            ),
        };
        file.push_str(&format!(
            "
/// {doc}.
pub const {cname}: [f32; {feat}] = [
"
        ));
        for (n, v) in names.iter().zip(&w) {
            file.push_str(&format!(
                "    {v:?}, // {n}
"
            ));
        }
        file.push_str(
            "];
",
        );
    }
    std::fs::write("crates/core/src/anchor/weights.rs", file).unwrap();
}
