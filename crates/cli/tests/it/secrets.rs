//! Secrets never reach the disk, whichever way they come in.

use std::path::Path;

use serde_json::json;

use crate::ground::TestProject;

/// Keys in the shapes of well-known services, none of them live. Put together here, so that no
/// scanner takes this file for a leak.
fn keys() -> [String; 4] {
    let random = "R4nD0mQ8xZt7LbV2kWm5YcJ9pHs3GdFa";
    [
        format!("ghp_{random}Xy12"),
        format!("AKIA{}", "Z7QX4M2NB8LKD3PT"),
        format!("sk-proj-{random}{random}"),
        format!(
            "xoxb-{}-{}-{}",
            "123456789012",
            "123456789013",
            &random[..24]
        ),
    ]
}

/// Every file below a folder that holds a text.
fn holding(dir: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if fs_err::read(&path)
            .unwrap()
            .windows(text.len())
            .any(|part| part == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn a_secret_is_in_none_of_the_files() {
    let project = TestProject::new();
    let commit = "4f2c1a9d0b7e6f5a4c3b2a1908f7e6d5c4b3a291";
    for key in keys() {
        let said = format!("the key is {key}, see {commit}");
        let frame = project
            .opened(&["push", &format!("Use {key}"), "--root", "--criteria", &said])
            .remove(0);
        project.ok(&["note", "decision", &said, "--why", &said]);
        project.ok(&["note", "failed", &said]);
        project.ok(&[
            "note",
            "command",
            &format!("curl -H 'Authorization: Bearer {key}'"),
            "--exit-code",
            "0",
        ]);
        project.ok(&[
            "note",
            "artifact",
            &format!("https://ada:{key}@example.org/repo.git"),
        ]);
        let logged = project.flame_reading(&["note", "log", "-", "--label", &key], said.as_bytes());
        assert_eq!(logged.code, Some(0), "{logged}");
        project.ok(&["edit", "--title", &format!("Again {key}")]);
        let decision = json!({ "decision": format!("by tool: {said}") }).to_string();
        project.ok(&["tool", "stack_add_decision", &decision]);
        project.ok(&["search", "key"]);
        project.ok(&["pop", &said, "--compacted", &said]);
        let log = project.ok(&["log", &frame]);
        assert!(log.contains("[redacted:"), "{log}");
        assert!(log.contains(commit), "a commit is not a secret: {log}");
        assert!(!project.ok(&["log", &format!("{frame}#1")]).contains(&key));
        project.ok(&["export", "../out", "--force"]);
    }
    for key in keys() {
        assert_eq!(holding(project.dir(), &key), Vec::<String>::new(), "{key}");
    }
    project.well();
}

#[test]
fn a_secret_is_redacted_before_a_label_is_cut() {
    let project = TestProject::new();
    project.opened(&["push", "Encrypt the backups", "--root"]);
    // Longer than a label: its beginning alone is not recognised.
    let random = "Q9XV7LKM2T4WZ8N3";
    let key = format!("AGE-SECRET-KEY-1{}", random.repeat(4).split_at(58).0);
    project.ok(&["note", &format!("Use {key} for it")]);
    let checked = project.flame(&["check", "--", "echo", &key]);
    assert_eq!(checked.code, Some(0), "{checked}");
    let found = holding(project.dir(), random);
    assert_eq!(found, Vec::<String>::new());
    project.well();
}

#[test]
fn a_secret_in_an_imported_file_stays_there() {
    let project = TestProject::new();
    let [key, ..] = keys();
    let state = json!({
        "version": 1,
        "frames": { "ses_a": {
            "sessionID": "ses_a",
            "status": "completed",
            "title": format!("Use {key}"),
            "successCriteria": format!("works with {key}"),
            "successCriteriaCompacted": format!("{key}"),
            "results": format!("it is {key}"),
            "resultsCompacted": format!("{key}"),
            "createdAt": 1_766_400_000_000_i64,
            "updatedAt": 1_766_400_000_000_i64,
            "artifacts": [format!("{key}.txt")],
            "decisions": [format!("keep {key}")],
            "plannedChildren": [],
            "somethingElse": { "token": key },
        } },
        "alsoElse": format!("{key}"),
        "rootFrameIDs": ["ses_a"],
        "updatedAt": 0,
    });
    fs_err::write(project.root().join("state.json"), state.to_string()).unwrap();
    project.ok(&["import", "."]);
    project.ok(&["search", "works"]);
    project.ok(&["export", "../out"]);
    let found = holding(project.dir(), &key);
    assert_eq!(found.len(), 1, "only the file it came from: {found:?}");
    assert!(found[0].ends_with("shop/state.json"));
    project.well();
}
