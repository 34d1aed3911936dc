//! Continuation briefs as `flame brief` prints them.

use crate::ground::TestProject;

const TASKS: &str = "## Batch 1\n- [x] 1. Token type\n- [ ] 2. Login form\n";

/// A repository with a specification under way.
fn shop() -> TestProject {
    let project = TestProject::in_git();
    let folder = project.root().join(".codex/specs/login");
    fs_err::create_dir_all(&folder).unwrap();
    for (file, text) in [
        ("requirements.md", "Users can log in.\n"),
        ("design.md", "Tokens last an hour.\n"),
        ("tasks.md", TASKS),
    ] {
        fs_err::write(folder.join(file), text).unwrap();
    }
    project
}

fn json(project: &TestProject, line: &[&str]) -> serde_json::Value {
    let output = project.flame(line);
    assert_eq!(output.code, Some(0), "{output}");
    serde_json::from_str(&output.stdout).unwrap()
}

#[test]
fn git_shows_which_specification_is_under_way() {
    let project = shop();
    project.ok(&["push", "Ship the shop", "--criteria", "orders can be paid"]);
    let brief = json(&project, &["brief", "--json"]);
    assert_eq!(brief["workflow"]["stage"], "spec-execute");
    assert_eq!(brief["workflow"]["unit"], "login");
    assert_eq!(brief["workflow"]["nextTask"], "2 — Login form (Batch 1)");
    let first = &brief["sections"][0];
    assert_eq!(first["heading"], "Primary Objective");
    assert_eq!(
        first["lines"][0]["text"],
        "Ship the shop — done when: orders can be paid"
    );
    assert_eq!(first["lines"][0]["source"]["kind"], "frame");
    let text = brief["text"].as_str().unwrap();
    assert!(
        text.contains("- Branch `main`, 1 file with uncommitted changes.\n"),
        "{text}"
    );
    assert_eq!(text, project.flame(&["brief"]).stdout);
    let kinds: Vec<&str> = brief["anchors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|anchor| anchor["kind"].as_str().unwrap())
        .collect();
    for kind in ["goal", "stage", "artifact", "gate", "next-action"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
}

#[test]
fn another_folder_and_another_budget() {
    let project = shop();
    let elsewhere = TestProject::new();
    let dir = project.root().to_str().unwrap();
    let brief = json(
        &elsewhere,
        &["brief", "--dir", dir, "--budget", "400", "--json"],
    );
    assert_eq!(brief["workflow"]["stage"], "spec-execute");
    assert_eq!(brief["budget"], 400);
    assert!(brief["tokens"].as_u64().unwrap() <= 400);
    let refused = project.flame(&["brief", "--budget", "10"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
    assert!(
        refused.stderr.contains("the minimum is 256"),
        "{}",
        refused.stderr
    );
}

#[test]
fn lines_say_where_they_come_from() {
    let project = shop();
    let output = project.flame(&["brief", "--sources"]);
    for expected in [
        "- 2 — Login form (Batch 1)  [.codex/specs/login/tasks.md:3]\n",
        "## Blockers / Risks\n- none recorded\n",
    ] {
        assert!(output.stdout.contains(expected), "{}", output.stdout);
    }
}

#[test]
fn reading_changes_nothing_and_bad_declarations_are_noted() {
    let project = shop();
    let folder = project.root().join(".flamestack/workflows");
    fs_err::create_dir_all(&folder).unwrap();
    fs_err::write(folder.join("mine.toml"), "name = 'mine'\nfolder = 3\n").unwrap();
    let before = project.git(&["status", "--porcelain"]);
    let output = project.flame(&["brief"]);
    assert_eq!(output.code, Some(0));
    assert!(
        output.stdout.contains("- spec-execute\n"),
        "{}",
        output.stdout
    );
    assert!(output.stderr.contains("mine.toml:2:"), "{}", output.stderr);
    assert_eq!(project.git(&["status", "--porcelain"]), before);
}

#[test]
fn a_hand_off_is_about_the_agent_that_was_at_work() {
    let project = shop();
    let agent = "opencode:ses_1";
    let push = [
        "push",
        "Let guests pay",
        "--criteria",
        "they do",
        "--session",
        agent,
    ];
    project.ok(&push);
    let output = project.flame(&["brief"]);
    assert!(
        output
            .stdout
            .contains("- Let guests pay — done when: they do\n"),
        "{output}"
    );
    assert!(output.stdout.contains("- spec-execute\n"), "{output}");
    assert!(output.stderr.contains("about opencode:ses_1"), "{output}");
    assert_eq!(json(&project, &["brief", "--json"])["session"], agent);
    // A user who works at the shell means that.
    project.ok(&["push", "Ship the shop", "--criteria", "orders can be paid"]);
    let output = project.flame(&["brief"]);
    assert!(output.stdout.contains("- Ship the shop"), "{output}");
    assert!(!output.stdout.contains("Let guests pay"), "{output}");
    assert!(output.stderr.is_empty(), "{output}");
    // Work that is over is no longer what one continues with.
    let pop = ["pop", "they can", "--session", agent];
    project.ok(&pop);
    project.ok(&["pop", "shipped"]);
    let brief = json(&project, &["brief", "--json"]);
    assert!(
        brief["session"].as_str().unwrap().starts_with("shell:"),
        "{brief}"
    );
}

/// The last commits are about what was finished; the one that is open is found by its files.
#[test]
fn commits_of_finished_work_hide_nothing() {
    let project = shop();
    let root = project.root();
    let finished = root.join(".codex/specs/search");
    fs_err::create_dir_all(&finished).unwrap();
    let commit = |subject: &str| {
        project.git(&["add", "-A"]);
        project.git(&["commit", "-q", "-m", subject]);
    };
    commit("Specifications");
    for n in 0..9 {
        let tasks = format!("- [x] 1. Index\n- [x] 2. Round {n}\n");
        fs_err::write(finished.join("tasks.md"), tasks).unwrap();
        commit("Search");
    }
    let brief = json(&project, &["brief", "--json"]);
    assert_eq!(brief["workflow"]["unit"], "login");
}

#[test]
fn after_the_last_pop_a_brief_hands_off_what_was_finished() {
    let project = TestProject::in_git();
    project.ok(&["push", "Ship the shop", "--criteria", "orders can be paid"]);
    project.ok(&["note", "decision", "Stripe", "--why", "it is known"]);
    project.ok(&["push", "Take orders"]);
    project.ok(&["note", "failed", "orders by fax"]);
    project.ok(&["pop", "orders arrive"]);
    project.ok(&["pop", "the shop is open"]);
    let brief = project.ok(&["brief"]);
    for (heading, line) in [
        (
            "Primary Objective",
            "Ship the shop — done when: orders can be paid (finished)",
        ),
        ("Current Step", "none recorded"),
        ("Status", "“Ship the shop” is completed (claimed)."),
        ("Completed", "Take orders (claimed): orders arrive"),
        ("Completed", "Ship the shop (claimed): the shop is open"),
        ("Remaining", "none recorded"),
        (
            "Decisions",
            "The user decided: Stripe (because: it is known)",
        ),
        ("Blockers / Risks", "Tried without success: orders by fax"),
        ("Next Action", "none recorded"),
    ] {
        let (_, section) = brief.split_once(&format!("## {heading}\n")).unwrap();
        let section = section.split("## ").next().unwrap();
        assert!(
            section.contains(&format!("- {line}\n")),
            "{heading}: {brief}"
        );
    }
    // Work that is open is what one continues with, wherever it is.
    project.ok(&["push", "Advertise"]);
    let brief = project.ok(&["brief"]);
    assert!(!brief.contains("Ship the shop"), "{brief}");
    // The brief of a host's session is about its own work only.
    let brief = project.ok(&["brief", "--session", "opencode:ses_1"]);
    assert!(!brief.contains("Ship the shop"), "{brief}");
    project.ok(&["pop", "no visitors", "--status", "failed"]);
    let brief = project.ok(&["brief"]);
    assert!(
        brief.contains("- Ended without success: Advertise (because: no visitors)\n"),
        "{brief}"
    );
}

#[test]
fn after_an_import_of_finished_work_a_brief_is_about_that() {
    let project = TestProject::in_git();
    let other = TestProject::in_git();
    other.ok(&["push", "Imported work"]);
    other.ok(&["pop", "all of it"]);
    let folder = project.dir().join("exported");
    other.ok(&["export", folder.to_str().unwrap()]);
    project.ok(&["import", folder.to_str().unwrap()]);
    let brief = project.ok(&["brief"]);
    assert!(brief.contains("- Imported work (finished)\n"), "{brief}");
    assert!(
        brief.contains("- Imported work (claimed): all of it\n"),
        "{brief}"
    );
}
