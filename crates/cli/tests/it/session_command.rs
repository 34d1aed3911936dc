//! `flame session`, as a user and as a program calls it.

use serde_json::{Value, json};

use crate::ground::TestProject;

/// A project with a session of the user, made and worked in from a terminal.
fn project() -> (TestProject, String) {
    let project = TestProject::new();
    let made = project.json(&[
        "session",
        "create",
        "Review the parser",
        "--phase",
        "design",
    ]);
    let name = made["session"].as_str().unwrap().to_owned();
    (project, name)
}

#[test]
fn a_project_without_sessions_says_so() {
    let project = TestProject::new();
    assert_eq!(project.json(&["session", "list"]), json!([]));
    assert_eq!(
        project.ok(&["session"]),
        "No session of a host is recorded yet.\n"
    );
    let refused = project.refused(&["session", "show", "nowhere"]);
    assert!(
        refused.stderr.contains("there is no session `nowhere`"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("flame session list --all"),
        "{}",
        refused.stderr
    );
}

#[test]
fn the_list_and_one_session_have_the_promised_keys() {
    let (project, name) = project();
    let listed = project.json(&["session", "list"]);
    let row = listed.as_array().unwrap().first().unwrap();
    for key in [
        "session", "host", "state", "since", "why", "level", "parent", "frame",
    ] {
        assert!(row.get(key).is_some(), "{key}: {row}");
    }
    assert_eq!(
        (&row["state"], &row["host"]),
        (&json!("custom"), &json!("custom"))
    );
    assert_eq!(row["why"], "a command made the session: Review the parser");
    let shown = project.json(&["session", "show", &name]);
    for key in [
        "previousState",
        "stateHistory",
        "checkpoint",
        "children",
        "links",
    ] {
        assert!(shown.get(key).is_some(), "{key}: {shown}");
    }
    let change = shown["stateHistory"].as_array().unwrap().last().unwrap();
    for key in ["from", "to", "at", "cause"] {
        assert!(change.get(key).is_some(), "{key}: {change}");
    }
    assert_eq!(
        (&change["from"], &change["cause"]),
        (&json!("beginning"), &json!("created"))
    );
    let text = project.ok(&["session", "show", &name]);
    assert!(
        text.contains("made for: Review the parser, phase design"),
        "{text}"
    );
    let id = name.split_once(':').unwrap().1;
    assert_eq!(project.json(&["session", "show", id]), shown);
}

#[test]
fn the_graph_is_a_tree_json_and_an_image() {
    let (project, parent) = project();
    let purpose = "Check <b>&\"quotes\"";
    let made = project.json(&["session", "create", purpose, "--parent", &parent]);
    let child = made["session"].as_str().unwrap();
    project.ok(&["session", "link", &parent, child, "--as", "fork"]);
    let tree = project.ok(&["session", "graph"]);
    assert!(
        tree.contains(&format!("\n  {child} custom  Check")),
        "{tree}"
    );
    let graph = project.json(&["session", "graph", "--format", "json"]);
    let edges = json!([
        { "session": child, "kind": "parent", "to": parent },
        { "session": parent, "kind": "fork", "to": child },
    ]);
    assert_eq!(graph["edges"], edges);
    assert_eq!(graph["nodes"].as_array().map(Vec::len), Some(2));
    let svg = project.ok(&["session", "graph", "--format", "svg"]);
    assert!(
        svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
    assert!(
        svg.contains("Check &lt;b&gt;&amp;&quot;quotes&quot;"),
        "{svg}"
    );
    assert_eq!(svg.matches("<rect ").count(), 2);
}

#[test]
fn links_are_made_removed_and_refused_in_a_loop() {
    let (project, one) = project();
    let made = project.json(&["session", "create", "Another"]);
    let other = made["session"].as_str().unwrap();
    let link = |arguments: &[&str]| {
        let all = [&["session", "link"], arguments].concat();
        project.json(&all)
    };
    assert_eq!(link(&[other, &one, "--as", "parent"])["changed"], true);
    assert_eq!(link(&[other, &one, "--as", "parent"])["changed"], false);
    let level = |name: &str| project.json(&["session", "show", name])["level"].clone();
    assert_eq!((level(&one), level(other)), (json!(1), json!(2)));
    let refused = project.refused(&["session", "link", &one, other, "--as", "parent"]);
    assert!(
        refused.stderr.contains("below the other"),
        "{}",
        refused.stderr
    );
    assert_eq!(link(&[other, "--detach"])["changed"], true);
    assert_eq!(level(other), json!(1));
    project.misused(&["session", "link", other]);
    project.misused(&["session", "link", other, &one, "--as", "cousin"]);
}

#[test]
fn a_clean_up_is_planned_before_it_is_done() {
    let (project, parent) = project();
    let made = project.json(&["session", "create", "Below", "--parent", &parent]);
    let child = made["session"].as_str().unwrap();
    let nothing = project.json(&["session", "gc", "--dry-run"]);
    assert_eq!(
        nothing,
        json!({ "dryRun": true, "interrupted": [], "steps": [] })
    );
    assert_eq!(project.ok(&["session", "gc"]), "Nothing to clean up.\n");
    let state = |name: &str| -> Value { project.json(&["session", "show", name])["state"].clone() };
    assert_eq!(state(child), "custom");
    // An empty purpose makes nothing.
    project.refused(&["session", "create", " "]);
    assert_eq!(
        project.json(&["session", "list"]).as_array().map(Vec::len),
        Some(2)
    );
    project.well();
}
