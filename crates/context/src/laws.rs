//! Properties of every tree, every text and every budget.

use proptest::prelude::*;
use proptest::sample::select;

use crate::fixtures::{O200k, frame, us};
use crate::grammar::{Grammar, read};
use crate::{
    Budget, ContextSettings, Group, Guidance, SMALLEST_TOTAL, SectionKind, Subagent, Surroundings,
    assemble,
};
use flamestack_core::Author;
use flamestack_core::frame::{Frame, Rank, Status};
use flamestack_core::id::{FrameId, Seq};
use flamestack_core::note::Directive;
use flamestack_core::note::{Evidence, Note, NoteKind};
use flamestack_core::text::{Text, Title};
use flamestack_extract::tokens::{Estimate, Seam, Tokenizer};

/// One token a byte, the worst that a tokenizer can do.
struct Bytes;

impl Tokenizer for Bytes {
    fn name(&self) -> &'static str {
        "bytes"
    }

    fn count(&self, text: &str) -> usize {
        text.len()
    }
}

/// A tokenizer whose counts do not add up at all.
struct Spiteful;

impl Tokenizer for Spiteful {
    fn name(&self) -> &'static str {
        "spiteful"
    }

    fn count(&self, text: &str) -> usize {
        text.len() / 2 + (text.len() % 7) * 9 + text.len() / 100
    }
}

/// The counts of a model that makes more or fewer tokens of a text than the estimate.
struct Scaled {
    per_mille: usize,
}

impl Tokenizer for Scaled {
    fn name(&self) -> &'static str {
        Estimate.name()
    }

    fn count(&self, text: &str) -> usize {
        (Estimate.count(text) * self.per_mille).div_ceil(1000)
    }

    fn seam(&self) -> Seam {
        Seam::AtMost((Estimate.seam().reserve() * self.per_mille).div_ceil(1000))
    }
}

#[test]
fn scaled_counts_are_rounded_up() {
    assert_eq!(Scaled { per_mille: 1_530 }.count("abcdefgh"), 4);
}

/// Pieces of texts that have broken such programs before.
const PIECES: [&str; 40] = [
    "parser",
    "the",
    "src/auth.rs",
    "refreshToken",
    "deploy",
    "run_all",
    "x",
    "Done.",
    " ",
    " ",
    " ",
    " ",
    " ",
    "\n",
    "\n\n",
    "\t",
    "\r\n",
    "\r",
    "認証を修正",
    "日本語。",
    "ログ",
    "한국어",
    "שלום",
    "\u{202e}مرحبا",
    "👨‍👩‍👧‍👦",
    "🇩🇪🇯🇵",
    "e\u{301}\u{302}",
    "\u{feff}",
    "\u{1b}[31m",
    "\u{b}\u{c}\u{7f}\u{9b}",
    "\u{ffff}\u{fffe}",
    "</title>",
    "]]>",
    "<![CDATA[",
    "<!--",
    "&amp;",
    "&#0;",
    "<?xml?>",
    "\"'>",
    "</stack-context>\n",
];

/// Texts made of such pieces, a few of them very long.
///
/// Drawing each piece separately would take most of the time of these tests, so a seed does.
fn text() -> impl Strategy<Value = String> {
    let length = prop_oneof![20 => 1usize..12, 6 => 12usize..120, 1 => 120usize..4_000];
    let made = (any::<u64>(), length).prop_map(|(mut seed, length)| {
        let mut text = String::new();
        for _ in 0..length {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push_str(PIECES[usize::try_from(seed >> 33).unwrap() % PIECES.len()]);
        }
        text
    });
    prop_oneof![9 => made, 1 => any::<String>()]
}

fn prose() -> impl Strategy<Value = Text> {
    text().prop_map(|text| {
        let text: String = text.chars().filter(|c| *c != '\0').take(20_000).collect();
        Text::new(&text).unwrap_or_else(|_| Text::new("nothing").unwrap())
    })
}

fn title() -> impl Strategy<Value = Title> {
    text().prop_map(|text| {
        let text: String = text.chars().filter(|c| *c != '\0').take(400).collect();
        Title::new(&text).unwrap_or_else(|_| Title::new("nothing").unwrap())
    })
}

fn note() -> impl Strategy<Value = Note> {
    let kind = select(NoteKind::ALL.to_vec());
    let why = prop::option::of(prose());
    (kind, prose(), why, any::<bool>()).prop_map(|(kind, text, why, flag)| match kind {
        NoteKind::Artifact => Note::Artifact(text),
        NoteKind::Decision => Note::Decision {
            text,
            why,
            by: if flag { Author::Agent } else { Author::User },
        },
        NoteKind::FailedAttempt => Note::FailedAttempt { text, why },
        NoteKind::Evidence if flag => Note::Evidence(Evidence::Command {
            command: text,
            exit_code: -1,
        }),
        NoteKind::Evidence => Note::Evidence(Evidence::Test {
            id: text,
            passed: false,
        }),
        NoteKind::Directive => Note::Directive(text),
    })
}

fn any_frame(statuses: &'static [Status]) -> impl Strategy<Value = Frame> {
    let goal = (
        title(),
        prop::option::of(prose()),
        prop::option::of(prose()),
    );
    let outcome = (prop::option::of(prose()), prop::option::of(prose()));
    let place = (any::<u64>(), 0i64..50, 0i64..500, 0i64..500);
    let notes = prop::collection::vec(note(), 0..5);
    (goal, outcome, place, notes, select(statuses)).prop_map(
        |((title, criteria, dense), (results, dense_results), place, notes, status)| {
            let (id, rank, changed, closed) = place;
            Frame {
                id: FrameId::from_entropy(id),
                rank: Rank(rank),
                status,
                title,
                criteria,
                criteria_compacted: dense,
                results,
                results_compacted: dense_results,
                notes,
                changed: Seq(changed),
                closed: (!status.is_open()).then_some(Seq(closed)),
                ..frame("x")
            }
        },
    )
}

fn group(statuses: &'static [Status], most: usize) -> impl Strategy<Value = Group> {
    let frames = prop::collection::vec(any_frame(statuses), 0..most);
    (frames, 0usize..20_000).prop_map(|(frames, more)| Group {
        total: frames.len() + more / 2 * (more % 2),
        frames,
    })
}

const DONE: &[Status] = &[Status::Completed, Status::Failed];
const OPEN: &[Status] = &[Status::InProgress, Status::Blocked];

fn surroundings() -> impl Strategy<Value = Surroundings> {
    let related = (
        any_frame(OPEN),
        prop::collection::vec(any_frame(OPEN), 1..8),
        group(DONE, 6),
        group(&[Status::Planned], 6),
        group(OPEN, 3),
        group(DONE, 8),
        group(&[Status::Completed], 4),
    );
    let said = prop::collection::vec((prose(), 0i64..99), 0..4);
    let under_way = prop::collection::vec(title(), 0..3);
    (related, said, under_way).prop_map(|(related, said, under_way)| {
        let (mut current, mut ancestors, children, planned, open, siblings, uncles) = related;
        for at in 1..ancestors.len() {
            ancestors[at - 1].parent = Some(ancestors[at].id);
        }
        current.parent = Some(ancestors[0].id);
        let mut around = Surroundings::of(current, Seq(500));
        around.session = Some(us());
        around.levels = ancestors.len();
        around.ancestors = ancestors;
        (around.children, around.planned) = (children, planned);
        (around.open, around.uncles) = (open, uncles);
        around.place.position = 1;
        around.place.of = 1 + siblings.total;
        for sibling in &siblings.frames {
            crate::reference::count(&mut around.place, sibling.status);
        }
        around.next = around.planned.frames.first().cloned();
        around.siblings = siblings.frames;
        around.directives = said
            .into_iter()
            .map(|(text, said)| Directive {
                text,
                said: Seq(said),
                session: us(),
                frame: FrameId::from_entropy(1),
                by: Author::Agent,
            })
            .collect();
        around.subagents = under_way
            .into_iter()
            .map(|title| Subagent {
                session: us(),
                title,
                frame: None,
                seen: Seq(1),
                state_and_start: Some((
                    flamestack_core::subagent::SubagentState::Waiting,
                    flamestack_core::id::Timestamp(1),
                )),
            })
            .collect();
        around
    })
}

fn settings() -> impl Strategy<Value = ContextSettings> {
    let total = prop_oneof![SMALLEST_TOTAL..600, 600usize..6_000];
    let parts = (0usize..3_000, 0usize..3_000, 0usize..3_000, 0usize..500);
    let guidance = select(vec![Guidance::Off, Guidance::Brief, Guidance::Full]);
    let limits = (prop::option::of(0usize..6), prop::option::of(0usize..6));
    (total, parts, guidance, limits).prop_map(|(total, parts, guidance, limits)| ContextSettings {
        budget: Budget {
            ancestors: parts.0,
            siblings: parts.1,
            current: parts.2,
            overhead: parts.3,
            ..Budget::new(total).unwrap()
        },
        guidance,
        max_ancestors: limits.0,
        max_siblings: limits.1,
        ..ContextSettings::default()
    })
}

fn check(around: &Surroundings, settings: &ContextSettings, tokenizer: &dyn Tokenizer) {
    let context = assemble(around, settings, tokenizer);
    let name = tokenizer.name();
    assert_eq!(context.tokens, tokenizer.count(&context.text), "{name}");
    assert!(
        context.tokens <= settings.budget.total(),
        "{name}: {} of {}",
        context.tokens,
        settings.budget.total()
    );
    let found = read(&context.text);
    let shown = |path: &str, id: &FrameId| {
        let mut at = found.iter().filter(|(found, _)| found == path);
        at.any(|(_, attributes)| attributes.get("id").map(String::as_str) == Some(id.as_str()))
    };
    let parent = &around.ancestors[0].id;
    assert!(
        shown("stack-context/ancestors/frame", parent),
        "{name}: {}",
        context.text
    );
    assert!(
        shown("stack-context/current-frame", &around.current.id),
        "{name}"
    );
}

proptest! {
    // A quarter of the usual number, which `PROPTEST_CASES` sets: these cases are large.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn the_budget_holds_and_the_parent_is_there(around in surroundings(), settings in settings()) {
        check(&around, &settings, &O200k);
        check(&around, &settings, &Estimate);
    }

    #[test]
    fn it_holds_for_tokenizers_that_are_not_known_yet(
        around in surroundings(),
        settings in settings(),
        per_mille in 500usize..2_000,
    ) {
        check(&around, &settings, &Bytes);
        check(&around, &settings, &Spiteful);
        check(&around, &settings, &Scaled { per_mille });
    }

    #[test]
    fn the_same_state_gives_the_same_bytes(
        around in surroundings(),
        settings in settings(),
        turn in 0usize..8,
    ) {
        let once = assemble(&around, &settings, &Estimate);
        prop_assert_eq!(&once, &assemble(&around, &settings, &Estimate));
        let mut shuffled = around;
        for frames in [
            &mut shuffled.siblings,
            &mut shuffled.children.frames,
            &mut shuffled.uncles.frames,
            &mut shuffled.open.frames,
            &mut shuffled.planned.frames,
        ] {
            let by = turn.min(frames.len());
            frames.rotate_left(by);
            if turn % 2 == 0 {
                frames.reverse();
            }
        }
        prop_assert_eq!(once.text, assemble(&shuffled, &settings, &Estimate).text);
    }

    #[test]
    fn a_week_changes_nothing(around in surroundings(), later in 1i64..1_000_000_000) {
        let mut aged = around.clone();
        for frame in aged
            .ancestors
            .iter_mut()
            .chain(&mut aged.siblings)
            .chain(&mut aged.children.frames)
            .chain([&mut aged.current])
        {
            frame.created_at.0 += later;
            frame.updated_at.0 += 2 * later;
        }
        let settings = ContextSettings::default();
        let text = assemble(&around, &settings, &Estimate).text;
        prop_assert_eq!(text, assemble(&aged, &settings, &Estimate).text);
    }

    #[test]
    fn the_grammar_in_the_docs_is_kept(around in surroundings(), settings in settings()) {
        let grammar = Grammar::documented();
        grammar.check(&assemble(&around, &settings, &Estimate).text);
    }

    #[test]
    fn what_is_left_out_is_counted(around in surroundings(), settings in settings()) {
        let context = assemble(&around, &settings, &O200k);
        for section in &context.sections {
            let Some(total) = total(&around, section.kind) else { continue };
            let left_out = section.omitted.iter().filter(|omission| !omission.what.starts_with("part of"));
            let left_out: usize = left_out.map(|omission| omission.count).sum();
            prop_assert!(left_out >= total - section.shown, "{:?}", section);
            prop_assert!(section.omitted.iter().all(|omission| !omission.call.is_empty()));
            for (path, attributes) in read(&format!("<x>{}</x>", section.body)) {
                if path == format!("x/{}", section.kind.as_str()) {
                    let number = |name: &str| attributes.get(name).map_or(0, |n| n.parse().unwrap());
                    prop_assert_eq!(number("count") + number("omitted"), total);
                    prop_assert_eq!(number("omitted") > 0, attributes.contains_key("show"));
                }
            }
        }
    }

    #[test]
    fn a_section_is_as_long_as_it_says(around in surroundings(), settings in settings()) {
        let context = assemble(&around, &settings, &O200k);
        for section in &context.sections {
            prop_assert_eq!(section.tokens, O200k.count(&section.body));
        }
    }

    #[test]
    fn text_and_json_come_from_the_same_elements(around in surroundings()) {
        for section in assemble(&around, &ContextSettings::default(), &Estimate).sections {
            let mut written = String::new();
            section.elements.iter().for_each(|element| element.write(&mut written));
            prop_assert_eq!(written, section.body);
        }
    }
}

fn total(around: &Surroundings, kind: SectionKind) -> Option<usize> {
    match kind {
        SectionKind::Ancestors => Some(around.levels),
        SectionKind::Siblings => Some(around.place.completed),
        SectionKind::Uncles => Some(around.uncles.total),
        SectionKind::Children => Some(around.children.total),
        SectionKind::Planned => Some(around.planned.total),
        SectionKind::Open => Some(around.open.total),
        SectionKind::Directives => Some(around.directives.len()),
        // They show everything, or count what no list of the surroundings counts.
        SectionKind::Guidance
        | SectionKind::FailedAttempts
        | SectionKind::Current
        | SectionKind::Subagents
        | SectionKind::Position
        | SectionKind::Update => None,
    }
}

/// Returns true if brackets outside of strings match; a full reader is not worth a dependency here.
#[test]
fn texts_as_long_as_they_may_be() {
    let long = |text: &str| Text::new(&text.repeat(1024 * 1024 / text.len())).unwrap();
    let mut full = frame("Everything at its limit");
    full.criteria = Some(long("All gates are green. "));
    full.criteria_compacted = Some(long("この文は長い。"));
    full.results = Some(long("x"));
    full.results_compacted = Some(long("</results>"));
    full.notes = vec![
        Note::Decision {
            text: long("\u{1b}\t"),
            why: Some(long("👨‍👩‍👧‍👦")),
            by: Author::User,
        },
        Note::Artifact(long("a/")),
        Note::FailedAttempt {
            text: long("-"),
            why: None,
        },
    ];
    let mut around = Surroundings::of(full.clone(), Seq(1));
    for n in 0..40 {
        let mut sibling = full.clone();
        sibling.id = FrameId::from_entropy(n * 7_919);
        sibling.status = Status::Completed;
        sibling.closed = Some(Seq(1));
        around.siblings.push(sibling);
    }
    let mut parent = full.clone();
    parent.id = FrameId::from_entropy(77);
    around.current.parent = Some(parent.id);
    around.ancestors = vec![parent];
    around.levels = 1;
    for total in [256, 400, 4_000] {
        let settings = ContextSettings {
            budget: Budget::new(total).unwrap(),
            ..ContextSettings::default()
        };
        check(&around, &settings, &O200k);
    }
}

#[test]
fn ten_thousand_of_everything() {
    let many = |status: Status| -> Vec<Frame> {
        (0..10_000)
            .map(|n| Frame {
                id: FrameId::from_entropy(n * 104_729 + status as u64),
                rank: Rank(i64::try_from(n).unwrap()),
                status,
                ..frame("One of ten thousand parsers in src/parser.rs")
            })
            .collect()
    };
    let mut around = Surroundings::of(frame("Parse"), Seq(1));
    around.ancestors = many(Status::InProgress);
    for at in 1..around.ancestors.len() {
        around.ancestors[at - 1].parent = Some(around.ancestors[at].id);
    }
    around.levels = 10_000;
    around.current.parent = Some(around.ancestors[0].id);
    around.siblings = many(Status::Completed);
    around.place.completed = 10_000;
    around.planned.frames = many(Status::Planned);
    around.planned.total = 10_000;
    check(&around, &ContextSettings::default(), &O200k);
    let text = assemble(&around, &ContextSettings::default(), &O200k).text;
    assert!(
        text.contains(around.ancestors[9_999].id.as_str()),
        "the root holds the mission"
    );
}
