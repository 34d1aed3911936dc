//! Names of a frame: its id, a prefix of it, a former id, a session.

use insta::assert_snapshot;

use crate::ground::TestProject;

#[test]
fn any_unique_beginning_of_an_id_will_do() {
    let project = TestProject::new();
    let root = project.push("Search");
    for length in 1..=root.len() {
        assert_eq!(project.json(&["show", &root[..length]])["id"], *root);
    }
    assert_eq!(project.json(&["show", &format!(" {root} ")])["id"], *root);
}

#[test]
fn a_whole_title_comes_before_the_beginning_of_an_id() {
    let project = TestProject::new();
    let root = project.push("Root");
    let letter = &root[..1];
    let titled = project.plan(&[letter]).remove(0);
    assert_eq!(project.json(&["show", letter])["id"], *titled);
    assert_eq!(
        project.json(&["show", &letter.to_uppercase()])["id"],
        *titled
    );
    assert_eq!(project.json(&["show", &root[..3]])["id"], *root);
}

#[test]
fn an_ambiguous_beginning_names_the_candidates() {
    let project = TestProject::new();
    project.push("Root");
    // An id begins with one of 22 letters, so among 23 frames two begin alike.
    let titles: Vec<String> = (1..=23).map(|n| format!("Part {n}")).collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let ids = project.plan(&titles);
    let alike = |id: &&String| ids.iter().filter(|other| other[..1] == id[..1]).count() > 1;
    let beginning = &ids.iter().find(alike).unwrap()[..1];
    let output = project.refused(&["show", beginning]);
    let candidates = ids.iter().filter(|id| id.starts_with(beginning));
    for candidate in candidates.take(1) {
        assert!(output.stderr.contains(candidate.as_str()), "{output}");
    }
    assert!(
        output
            .stderr
            .contains("hint: use the id, or more characters of it"),
        "{output}"
    );
}

#[test]
fn a_session_means_the_frame_bound_to_it() {
    let project = TestProject::new();
    let own = project.push("Search");
    project.ok(&["bind", &own, "opencode:ses_7f2a"]);
    let below = project
        .opened(&["push", "Index", "--session", "opencode:ses_7f2a"])
        .remove(0);
    // Its own frame, not the one it works on.
    for name in ["opencode:ses_7f2a", "ses_7f2a"] {
        assert_eq!(project.json(&["show", name])["id"], *own);
    }
    // As an actor, a bare id is enough once the session is known.
    let standing = project.json(&["status", "--session", "ses_7f2a"]);
    assert_eq!(standing["sessions"][0]["active"], *below);
    assert_eq!(project.json(&["tree", "ses_7f2a"])["lines"][0]["id"], *own);
    assert_eq!(
        project
            .opened(&["plan", "Rank", "--parent", "ses_7f2a"])
            .len(),
        1
    );
    project.ok(&["unbind", "opencode:ses_7f2a"]);
    assert_snapshot!(project.refused(&["show", "ses_7f2a"]), @"
    --- stderr
    error: no frame is bound to opencode:ses_7f2a
    hint: `flame status --session opencode:ses_7f2a` shows what it works on, `flame bind ID opencode:ses_7f2a` binds a frame to it
    [exit 1]
    ");
}

#[test]
fn what_is_shown_can_be_typed() {
    let project = TestProject::new();
    project.push("Search");
    project.plan(&["Index", "Rank"]);
    let tree = project.ok(&["tree"]);
    let shown: Vec<&str> = tree
        .lines()
        .take_while(|line| !line.is_empty())
        .map(|line| {
            line.split_whitespace()
                .find(|word| word.len() == 8)
                .unwrap()
        })
        .collect();
    assert_eq!(shown.len(), 3, "{tree}");
    for id in shown {
        project.ok(&["show", id]);
    }
}

#[test]
fn unknown_names_are_refused() {
    let project = TestProject::new();
    assert_snapshot!(project.refused(&["show", "k3f9x2mq"]), @"
    --- stderr
    error: there is no frame `k3f9x2mq`
    hint: `flame tree` shows the frames, `flame search k3f9x2mq` looks for one
    [exit 1]
    ");
    project.push("Search");
    assert_snapshot!(project.refused(&["activate", "k3f9x2mq"]), @"
    --- stderr
    error: there is no frame `k3f9x2mq`
    hint: `flame tree` shows the frames, `flame search k3f9x2mq` looks for one
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["activate", "the login page"]), @r#"
    --- stderr
    error: there is no frame `the login page`
    hint: `flame tree` shows the frames, `flame search "the login page"` looks for one
    [exit 1]
    "#);
    assert_snapshot!(project.refused(&["activate", ""]), @"
    --- stderr
    error: the name of the frame is empty
    hint: `flame tree` shows the frames
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["activate", "constructor"]), @"
    --- stderr
    error: there is no frame `constructor`
    hint: `flame tree` shows the frames, `flame search constructor` looks for one
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["show", "opencode:ses_none"]), @"
    --- stderr
    error: there is no frame `opencode:ses_none`
    hint: `flame tree` shows the frames, `flame search opencode:ses_none` looks for one
    [exit 1]
    ");
    let long = "x".repeat(100_000);
    let output = project.refused(&["activate", &long]);
    assert!(
        output.stderr.len() < 1000,
        "an error does not repeat 100 kB"
    );
    let output = project.refused(&["activate", "a\u{1b}[31mb"]);
    assert!(!output.stderr.contains('\u{1b}'), "{output}");
}
