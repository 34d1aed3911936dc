#![allow(warnings, clippy::all, clippy::pedantic)]
use flamestack_core::summary::{self, draft::Shares};
use flamestack_core::tokens::Estimate;
use flamestack_core::transcript::*;
use flamestack_eval::{judge, pop};
use std::collections::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let dir = &args[1];
    let get = |k: &str, d: usize| {
        args.iter()
            .find_map(|a| a.strip_prefix(&format!("{k}=")))
            .map_or(d, |v| v.parse().unwrap())
    };
    let budget = get("budget", 4000);
    let shares = Shares {
        said: get("said", 220),
        todos: get("todos", 60),
        names: get("names", 350),
        result: false,
    };
    let dump = args.iter().find_map(|a| a.strip_prefix("dump="));
    let mut files: Vec<_> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "jsonl"));
    files.sort();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let mut rows: Vec<_> = std::thread::scope(|s| {
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
                        let ready = judge::ready(&entries);
                        for (c, cut) in ready.cuts(false).into_iter().enumerate() {
                            let need = ready.need(&cut);
                            let history = ready.history(&cut);
                            let text = summary::brief(&history, budget, &Estimate, shares);
                            if let Some(d) = dump {
                                std::fs::create_dir_all(d).unwrap();
                                std::fs::write(format!("{d}/{n}-{c}.txt"), &text).unwrap();
                            }
                            let s =
                                judge::score(judge::clip(&text, budget), &need, &ready.interned);
                            out.push((n, head.host.clone(), head.source.clone(), "cut", s));
                        }
                        let (pops, interned) = pop::pops(&entries);
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
                            let text = summary::brief(
                                &history,
                                300,
                                &Estimate,
                                Shares {
                                    said: get("pop_said", 0),
                                    todos: 0,
                                    names: get("pop_names", 950),
                                    result: true,
                                },
                            );
                            let mut need = p.need;
                            let pad = need.names.len();
                            let mut s = judge::score(judge::clip(&text, 300), &need, &interned);
                            if pad < 5 {
                                let mut m = judge::Need {
                                    names: need.names.clone(),
                                    ..need
                                };
                                // small sets count too
                                let mut there = 0;
                                for id in &m.names {
                                    let (k, t) = &interned.keys[*id as usize];
                                    let mut hit = false;
                                    flamestack_core::anchor::scan::names(
                                        judge::clip(&text, 300),
                                        &mut |kk, name| {
                                            if interned.find(kk, name) == Some(*id) {
                                                hit = true
                                            }
                                        },
                                    );
                                    if hit {
                                        there += 1
                                    }
                                }
                                s.frr = Some(there as f64 / pad as f64);
                            }
                            out.push((n, head.host.clone(), head.source.clone(), "pop", s));
                        }
                    }
                    out
                })
            })
            .collect();
        hs.into_iter().flat_map(|h| h.join().unwrap()).collect()
    });
    for kind in ["cut", "pop"] {
        let mut all = judge::Mean::default();
        let mut by: BTreeMap<String, judge::Mean> = BTreeMap::new();
        for r in rows.iter().filter(|r| r.3 == kind) {
            all.add(&r.4);
            by.entry(format!("{}", r.1)).or_default().add(&r.4);
            by.entry(format!("{}", r.2)).or_default().add(&r.4);
        }
        println!("{kind} ALL {}", all.line());
        if get("by", 0) == 1 {
            for (k, m) in by {
                println!("  {k:30} {}", m.line());
            }
        }
    }
}
