//! Counts are those of `o200k_base`, for any text.

use flamestack_extract::tokens::Tokenizer;
use flamestack_tokens::O200k;
use proptest::prelude::*;

fn reference(text: &str) -> usize {
    tiktoken::get_encoding("o200k_base").map_or(usize::MAX, |encoding| encoding.count(text))
}

/// Characters of every class that the splitting pattern tells apart, and their neighbours.
const ALPHABET: &[&str] = &[
    "a",
    "b",
    "Z",
    "Ab",
    "ß",
    "É",
    "ǅ",
    "ʰ",
    "中",
    "の",
    "ﾊ",
    "한",
    "\u{301}",
    "\u{903}",
    "\u{20dd}",
    "1",
    "9",
    "²",
    "Ⅷ",
    "٣",
    "〇",
    " ",
    "  ",
    "\t",
    "\u{a0}",
    "\u{3000}",
    "\u{85}",
    "\u{2028}",
    "\r",
    "\n",
    "\r\n",
    "\u{b}",
    "/",
    "//",
    ".",
    ">",
    "<",
    "'",
    "'s",
    "'S",
    "'re",
    "'VE",
    "'lL",
    "'ll",
    "'m",
    "'d",
    "'T",
    "'x",
    "\u{200d}",
    "👩",
    "🏽",
    "_",
    "-",
    "\u{0}",
    "\u{ad}",
    "\u{feff}",
    "\u{10ffff}",
    "=====",
    "the",
    "The",
    "THE",
    "function",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn any_text(text in any::<String>()) {
        prop_assert_eq!(O200k.count(&text), reference(&text));
    }

    #[test]
    fn any_classes(parts in prop::collection::vec(prop::sample::select(ALPHABET), 0..24)) {
        let text = parts.concat();
        prop_assert_eq!(O200k.count(&text), reference(&text), "{:?}", text);
    }

    #[test]
    fn any_long_word(text in "[a-z]{60,400}|[A-Z]{60,200}|(ab|ba|aa){40,200}|[中文字の]{20,90}| {2,300}|[=/-]{40,200}") {
        prop_assert_eq!(O200k.count(&text), reference(&text));
    }
}

#[test]
fn every_character_in_company() {
    // Planes 2 and 3 are ideographs, 4 to 13 are empty: a few of their characters are like all others.
    let assigned = (0..0x2_0010).chain(0xe_0000..0xe_0200);
    let edges = [0x3_0000, 0x4_0000, 0xd_fffd, 0xf_0000, 0x10_ffff];
    for c in assigned.chain(edges).filter_map(char::from_u32) {
        let text = format!("A{c}{c}b {c}1\n");
        assert_eq!(O200k.count(&text), reference(&text), "{c:?}");
    }
}

/// Every file of the workspace's documentation and source that a reader or a model may see.
#[test]
fn real_text() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![
        root.join("crates"),
        root.join("docs"),
        root.join("plugins/opencode/src"),
    ];
    let mut counted = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                assert_eq!(O200k.count(&text), reference(&text), "{}", path.display());
                counted += 1;
            }
        }
    }
    assert!(counted > 300, "{counted} files");
}

/// A single piece of a megabyte takes no longer in proportion.
#[test]
fn one_long_piece() {
    for unit in ["a", "ab", "中", "="] {
        let text = unit.repeat(1_000_000 / unit.len());
        assert_eq!(O200k.count(&text), reference(&text), "{unit:?}");
    }
}
