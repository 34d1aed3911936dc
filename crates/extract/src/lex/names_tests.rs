//! Texts with names and texts without.

use proptest::prelude::*;

use super::{NameKind, name_key, names};

fn found(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    names(text, &mut |kind, name| {
        all.push(format!("{kind:?} {name}"));
    });
    all
}

#[test]
fn names_are_recognised_by_their_shape() {
    let text = "See crates/core/src/text.rs:12 (parse_token, readFile, HttpServer) and \
                ./docs/a-b.md. Error E0308 in v1.2.3-rc.1, fixed by abc1234 for #1234 and ABC-99; \
                https://example.com/a/b?x=1 says ENOENT.";
    assert_eq!(
        found(text),
        [
            "Path crates/core/src/text.rs",
            "Identifier parse_token",
            "Identifier readFile",
            "Identifier HttpServer",
            "Path ./docs/a-b.md",
            "ErrorCode E0308",
            "Version 1.2.3-rc.1",
            "Reference abc1234",
            "Reference #1234",
            "Reference ABC-99",
            "Address https://example.com/a/b",
            "ErrorCode ENOENT",
        ]
    );
}

#[test]
fn words_are_not_names() {
    for text in [
        "a plain sentence, with HTTP and JSON in it",
        "e.g. this, i.e. that; 10.0.0.1 and 3.14 and 12:30",
        "&#1234; a#12 ##12 #1 toString file_path deadbeef 1234567",
        "日本語の文章です。",
        "--long-option -x a/b/c",
    ] {
        assert_eq!(found(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn names_are_found_in_any_language() {
    assert_eq!(
        found("在 src/解析/parse.rs 里修改 `parse_token`。"),
        ["Path src/解析/parse.rs", "Identifier parse_token"]
    );
    assert_eq!(
        found("修改src/main.rs里的parse_token函数、以及lib/util.ts。见issue #123"),
        [
            "Path src/main.rs",
            "Identifier parse_token",
            "Path lib/util.ts",
            "Reference #123"
        ]
    );
    assert_eq!(
        found("`readFile`를 src/io/파일.rs에서 고치고 makeToken을 호출"),
        [
            "Identifier readFile",
            "Path src/io/파일.rs",
            "Identifier makeToken"
        ]
    );
    assert_eq!(
        found("“parse_token” → src/a.rs… naïveParser"),
        ["Identifier parse_token", "Path src/a.rs"]
    );
    assert_eq!(
        found("Файл src/main.rs: функция parse_token сломана"),
        ["Path src/main.rs", "Identifier parse_token"]
    );
}

#[test]
fn the_same_file_has_one_key() {
    for path in [
        "/home/a/project/src/token/parse.rs",
        "src/token/parse.rs",
        "./token/parse.rs",
        "token/parse.rs",
    ] {
        assert_eq!(name_key(NameKind::Path, path), "token/parse.rs");
    }
    assert_eq!(name_key(NameKind::Path, "./parse.rs"), "parse.rs");
    assert_eq!(name_key(NameKind::Path, "parse.rs"), "parse.rs");
}

proptest! {
    #[test]
    fn names_are_parts_of_the_text(text in any::<String>()) {
        names(&text, &mut |_, name| assert!(text.contains(name)));
    }

    #[test]
    fn names_are_found_in_a_sentence(path in "[a-z]{1,8}/[a-z]{2,8}\\.rs", name in "[a-z]{3,6}_[b-z]{3,6}") {
        let sentence = format!("Look at `{path}`, then at {name}().");
        let found = found(&sentence);
        prop_assert_eq!(found, [format!("Path {path}"), format!("Identifier {name}")]);
    }
}
