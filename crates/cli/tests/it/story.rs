//! The ordinary story: work is opened, planned, done, put right and looked at.

use insta::assert_snapshot;

use crate::ground::TestProject;

#[test]
fn a_piece_of_work_from_push_to_pop() {
    let project = TestProject::new();
    assert_snapshot!(project.flame(&["status"]), @"
    Nothing is in progress here.
    `flame push TITLE` starts a frame.

    shop · no frames yet
    ");
    assert_snapshot!(project.flame(&["tree"]), @"
    no frames yet
    `flame push TITLE` starts one.
    ");
    assert_snapshot!(project.flame(&["push", "Password login", "--criteria", "Users can log in; tests pass"]), @"id-1 “Password login” is in progress, at the root of a new tree");
    assert_snapshot!(project.flame(&["plan", "Store users", "Login routes", "Rate limiting"]), @"
    ○ id-2  Store users
    ○ id-3  Login routes
    ○ id-4  Rate limiting
    ");
    assert_snapshot!(project.flame(&["status"]), @"
    shell:main (you)
      → id-1  Password login
        done when: Users can log in; tests pass
      3 children, 0 of 3 done
      next: id-2  Store users

    shop · 4 frames: 1 in progress, 3 planned
    ");
    let users = project.json(&["status"])["sessions"][0]["next"]["id"].clone();
    let users = users.as_str().unwrap();
    assert_snapshot!(project.flame(&["activate", users]), @"id-2 “Store users” is in progress");
    assert_snapshot!(project.flame(&["note", "failed", "bcrypt", "--why", "no C compiler in the image"]), @"id-2 “Store users” has a new failed attempt");
    assert_snapshot!(project.flame(&["note", "decision", "argon2id for hashes", "--why", "pure Rust"]), @"id-2 “Store users” has a new decision");
    assert_snapshot!(project.flame(&["note", "artifact", "src/users.rs", "src/hash.rs"]), @"
    id-2 “Store users” has a new artifact
    id-2 “Store users” has a new artifact
    --- stderr
    note: there is no file src/users.rs (yet)
    note: there is no file src/hash.rs (yet)
    ");
    assert_snapshot!(project.flame(&["note", "command", "cargo test users", "--exit-code", "0"]), @"id-2 “Store users” has new evidence");
    assert_snapshot!(project.flame(&["note", "test", "users::round_trip"]), @"id-2 “Store users” has new evidence");
    assert_snapshot!(project.flame(&["note", "commit", "4f2c1a9"]), @"id-2 “Store users” has new evidence");
    assert_snapshot!(project.flame_reading(&["note", "log", "-", "--label", "cargo test"], b"7 passed\n"), @"id-2 “Store users” stores “cargo test” (9 bytes)");
    assert_snapshot!(project.flame(&["pop", "Users are stored with argon2id hashes; 7 tests pass."]), @"
    id-2 “Store users” is completed
    now at → id-1 “Password login”
    next: id-3  Login routes
    ");
    assert_snapshot!(project.flame(&["tree"]), @"
    → id-1  Password login · 1/3 done  ◀ you are here
    ├─ ✓ id-2  Store users · 2 checks passed · 1 commit
    ├─ ○ id-3  Login routes
    └─ ○ id-4  Rate limiting

    4 frames: 1 in progress, 2 planned, 1 completed
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    ");
    assert_snapshot!(project.flame(&["show", users]), @"
    ✓ id-2  Store users
      status     completed
      path       id-1 Password login
      worked in  shell:main
      opened     TIME UTC (AGO)
      ended      TIME UTC (AGO), after TIME

    Results
      Users are stored with argon2id hashes; 7 tests pass.

    Decisions
      - argon2id for hashes (because pure Rust), decided by the user

    Failed attempts
      - bcrypt (because no C compiler in the image)

    Artifacts
      - src/users.rs
      - src/hash.rs

    Evidence
      - `cargo test users` exited 0
      - test users::round_trip passed
      - commit 4f2c1a9

    Raw text
      - cargo test (9 bytes): flame log id-2#1

    Log
      DIR/state/projects/shop-HASH/logs/id-2.md
    ");
    assert_snapshot!(project.flame(&["log", users]), @r"
    # Store users

    `id-2` · completed

    ## Results

    Users are stored with argon2id hashes; 7 tests pass.

    ## Decisions

    - argon2id for hashes (because pure Rust), decided by the user

    ## Failed attempts

    - bcrypt (because no C compiler in the image)

    ## Artifacts

    - `src/users.rs`
    - `src/hash.rs`

    ## Evidence

    - `cargo test users` exited 0
    - test users::round_trip passed
    - commit 4f2c1a9

    ## Raw text

    - `id-2#1` cargo test (9 bytes)

    ## Timeline

    - TIME UTC planned: Store users (shell:main)
    - TIME UTC begun (shell:main)
    - TIME UTC failed attempt: bcrypt (because no C compiler in the image) (shell:main)
    - TIME UTC decision of the user: argon2id for hashes (because pure Rust) (shell:main)
    - TIME UTC artifact: src/users.rs (shell:main)
    - TIME UTC artifact: src/hash.rs (shell:main)
    - TIME UTC evidence: `cargo test users` exited 0 (shell:main)
    - TIME UTC evidence: test users::round_trip passed (shell:main)
    - TIME UTC evidence: commit 4f2c1a9 (shell:main)
    - TIME UTC log: cargo test (9 bytes) (shell:main)
    - TIME UTC completed: Users are stored with argon2id hashes; 7 tests pass. (shell:main)
    ");
    assert_snapshot!(project.flame(&["log", &format!("{users}#1")]), @"7 passed");
    assert_snapshot!(project.flame(&["log"]), @"✓ id-2  TIME UTC  Store users");
    assert_snapshot!(project.flame(&["search", "argon2id"]), @"
    id-2  Store users  decision
        [argon2id] for hashes (pure Rust)
    id-2  Store users  results
        Users are stored with [argon2id] hashes; 7 tests pass.
    ");
    assert_snapshot!(project.flame(&["search", "passed", "7"]), @"
    id-2  Store users  log
        [7] [passed]
    ");
    assert_snapshot!(project.flame(&["search", "bcrypt", "tested"]), @"Nothing found.");
}

#[test]
fn finishing_the_root_finishes_the_tree() {
    let project = TestProject::new();
    let root = project.push("Ship it");
    let child = project.push("Write the notes");
    assert_snapshot!(project.flame(&["pop", "Notes are in CHANGELOG.md", "--compacted", "see CHANGELOG"]), @"
    id-2 “Write the notes” is completed (claimed)
    now at → id-1 “Ship it”
    ");
    assert_snapshot!(project.flame(&["pop", "Version 1.0 is out"]), @"
    id-1 “Ship it” is completed (claimed)
    that was the root: the whole tree is finished
    no frame is active now
    ");
    assert_snapshot!(project.flame(&["status"]), @"
    Nothing is in progress here.
    `flame push TITLE` starts a frame.

    shop · 2 frames: 2 completed
    ");
    assert_snapshot!(project.flame(&["tree", "--all", "--details"]), @"
    ✓ id-1  Ship it · 1/1 done · claimed
    │ results: Version 1.0 is out
    └─ ✓ id-2  Write the notes · claimed
         results: see CHANGELOG

    2 frames: 2 completed
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    claimed: completed without a recorded check, test or commit (`flame check` records one)
    ");
    assert_snapshot!(project.flame(&["show", &root]), @"
    ✓ id-1  Ship it
      status     completed (claimed): no check, test or commit is recorded
      worked in  shell:main
      opened     TIME UTC (AGO)
      ended      TIME UTC (AGO), after TIME

    Results
      Version 1.0 is out

    Children
      ✓ id-2  Write the notes
          see CHANGELOG

    Log
      DIR/state/projects/shop-HASH/logs/id-1.md
    ");
    // A push after that is a tree of its own, never a child of what is finished.
    assert_snapshot!(project.flame(&["push", "Next release"]), @"id-3 “Next release” is in progress, at the root of a new tree");
    assert_eq!(project.json(&["show", &child])["parent"], *root);
}

#[test]
fn waiting_and_going_on() {
    let project = TestProject::new();
    project.push("Payments");
    let card = project.push("Card form");
    assert_snapshot!(project.flame(&["block", "the API key of the bank"]), @"
    id-2 “Card form” is blocked: the API key of the bank
    now at → id-1 “Payments”
    ");
    assert_snapshot!(project.flame(&["tree"]), @"
    → id-1  Payments · 0/1 done  ◀ you are here
    └─ ! id-2  Card form · blocked: the API key of the bank

    2 frames: 1 in progress, 1 blocked
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    ");
    assert_snapshot!(project.flame(&["unblock", &card]), @"
    id-2 “Card form” is in progress again
    `flame activate id-2` switches to it
    it was blocked: the API key of the bank
    ");
    assert_snapshot!(project.flame(&["activate", &card]), @"id-2 “Card form” is the active frame now");
    assert_snapshot!(project.flame(&["activate", &card]), @"that is the active frame already");
    // Popping as blocked is the same wait, with results so far.
    assert_snapshot!(project.flame(&["pop", "Form done, submit waits for the bank", "--status", "blocked"]), @"
    id-2 “Card form” is blocked: Form done, submit waits for the bank
    now at → id-1 “Payments”
    ");
    project.ok(&["unblock", &card]);
    project.ok(&["activate", &card]);
    assert_snapshot!(project.flame(&["pop", "The bank has no test account", "--status", "failed"]), @"
    id-2 “Card form” has failed
    now at → id-1 “Payments”
    ");
}

#[test]
fn plans_are_nested_moved_and_given_up() {
    let project = TestProject::new();
    project.push("Shop");
    let outline =
        "- API | all routes answer\n  - Routes\n  - Auth | tokens expire\n- Docs\n- Old UI\n";
    let planned = project.flame_reading(&["plan", "--from", "-"], outline.as_bytes());
    assert_snapshot!(planned, @"
    ○ id-2  API
      ○ id-3  Routes
      ○ id-4  Auth
    ○ id-5  Docs
    ○ id-6  Old UI
    ");
    let id = |title: &str| id_of(&project, title);
    assert_snapshot!(project.flame(&["move", &id("Docs"), "--before", &id("API")]), @"id-5 “Docs” is now below id-1 “Shop”, just before id-2 “API”");
    assert_snapshot!(project.flame(&["move", &id("Auth"), "--under", &id("Docs")]), @"id-4 “Auth” is now below id-5 “Docs”");
    assert_snapshot!(project.flame(&["move", &id("Routes"), "--root"]), @"id-3 “Routes” is now a root");
    assert_snapshot!(project.flame(&["tree"]), @"
    → id-1  Shop · 0/3 done  ◀ you are here
    ├─ ○ id-5  Docs · 0/1 done
    │  └─ ○ id-4  Auth
    ├─ ○ id-2  API
    └─ ○ id-6  Old UI
    ○ id-3  Routes

    6 frames: 1 in progress, 5 planned
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    ");
    assert_snapshot!(project.flame(&["delete", &id("Old UI")]), @"id-6 “Old UI” is deleted");
    assert_snapshot!(project.flame(&["delete", &id("Docs")]), @"id-5 “Docs” is deleted, with 1 frame below it");
    project.ok(&["plan", "Cart", "Checkout", "--parent", &id("API")]);
    let checkout = id("Checkout");
    assert_snapshot!(project.flame(&["activate", &checkout]), @"
    id-2 “API” is in progress
    id-8 “Checkout” is in progress
    ");
    assert_snapshot!(project.flame(&["invalidate", &id("API"), "--reason", "bought a shop system"]), @"
    id-2 “API” is invalidated, and with it 1 planned frame below
    still in progress below it, and not touched: id-8 “Checkout”
    now at → id-8 “Checkout”
    ");
    assert_snapshot!(project.flame(&["tree", "--all"]), @"
    → id-1  Shop
    └─ – id-2  API · 0/1 done
       ├─ – id-7  Cart
       └─ → id-8  Checkout  ◀ you are here
    ○ id-3  Routes

    5 frames: 2 in progress, 1 planned, 2 invalidated
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    ");
}

#[test]
fn goals_and_results_are_corrected() {
    let project = TestProject::new();
    let frame = project.push("Lgoin");
    assert_snapshot!(project.flame(&["edit", "--title", "Login", "--criteria", "A session begins"]), @"id-1 “Login” is edited");
    project.ok(&["pop", "Sessions last 24 minutes"]);
    assert_snapshot!(project.flame(&["edit", &frame, "--results", "Sessions last 24 hours"]), @"id-1 “Login” is edited");
    let log = project.ok(&["log", &frame]);
    // Every version stays in the story.
    assert_snapshot!(project.stable(&log), @"
    # Login

    `id-1` · completed (claimed)

    ## Success criteria

    A session begins

    ## Results

    Sessions last 24 hours

    ## Timeline

    - TIME UTC opened: Lgoin (shell:main)
    - TIME UTC corrected title: Login, criteria: A session begins (shell:main)
    - TIME UTC completed (claimed): Sessions last 24 minutes (shell:main)
    - TIME UTC corrected results: Sessions last 24 hours (shell:main)
    ");
}

#[test]
fn the_last_command_is_taken_back() {
    let project = TestProject::new();
    let root = project.push("Search");
    project.ok(&["note", "decision", "trigrams"]);
    project.ok(&["undo"]);
    assert_eq!(
        project.json(&["show", &root])["decisions"]
            .as_array()
            .unwrap()
            .len(),
        0
    );

    let planned = project.plan(&["Index", "Ranking"]);
    project.ok(&["undo"]);
    let gone = project.flame(&["show", &planned[0]]);
    assert_snapshot!(gone, @"
    --- stderr
    error: frame id-2 was deleted, or its opening was undone
    hint: `flame log id-2` still shows its history
    [exit 1]
    ");
    assert_eq!(project.flame(&["log", &planned[0]]).code, Some(0));

    project.ok(&["pop", "Found"]);
    project.ok(&["undo"]);
    let standing = project.json(&["status"]);
    assert_eq!(standing["sessions"][0]["active"], *root, "{standing:#}");

    project.ok(&["undo"]);
    assert_eq!(project.json(&["status"])["totals"]["in_progress"], 0);
    assert_snapshot!(project.flame(&["undo"]), @"
    --- stderr
    error: shell:main has nothing to undo
    hint: undo reverses only what this session did; `--session` undoes for another one
    [exit 1]
    ");
    project.well();
}

#[test]
fn a_session_is_bound_to_a_frame() {
    let project = TestProject::new();
    let frame = project.push("Search");
    assert_snapshot!(project.flame(&["bind", &frame, "opencode:ses_7f2a"]), @"id-1 “Search” is bound to opencode:ses_7f2a");
    assert_snapshot!(project.flame(&["bind", &frame, "opencode:ses_7f2a"]), @"that is recorded already");
    assert_snapshot!(project.flame(&["status", "--session", "opencode:ses_7f2a"]), @"
    opencode:ses_7f2a (you)
      → id-1  Search

    shop · 1 frame: 1 in progress
    ");
    assert_snapshot!(project.flame(&["unbind", "opencode:ses_7f2a"]), @"id-1 “Search” is no longer bound to opencode:ses_7f2a");
}

#[test]
fn the_demo_plays() {
    let project = TestProject::new();
    let said = project.ok(&["demo"]);
    for part in [
        "Password login",
        "Store users",
        "argon2id",
        "claimed: completed without",
        "<stack-context",
        "## Continuation",
        "throw-away",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains(" ms,"), "{said}");
    assert!(
        project
            .ok(&["demo", "--timings"])
            .contains(" ms, 3 events)")
    );
    let prompts = project.json(&["demo"])["prompts"].clone();
    let tokens = |key: &str| prompts[0][key].as_u64().unwrap();
    // The output of the first step's commands is most of the conversation.
    assert!(tokens("tokensFolded") * 5 < tokens("tokens"), "{prompts}");
    assert!(!project.dir().join("state").exists());
}

/// The id of the frame with this title.
fn id_of(project: &TestProject, title: &str) -> String {
    let tree = project.json(&["tree", "--all"]);
    let lines = tree["lines"].as_array().unwrap();
    let line = lines.iter().find(|line| line["title"] == title).unwrap();
    line["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_binding_can_be_taken_back() {
    let project = TestProject::new();
    let root = project.push("Login");
    project.ok(&["bind", &root, "opencode:ses_a"]);
    assert_snapshot!(project.flame(&["undo"]), @"
    undone: id-1 “Login” bound to opencode:ses_a
    now at → id-1 “Login”
    ");
    assert_eq!(
        project.json(&["show", &root])["session"],
        serde_json::Value::Null
    );
    project.ok(&["bind", &root, "opencode:ses_b"]);
    project.ok(&["unbind", "opencode:ses_b"]);
    assert_snapshot!(project.flame(&["undo"]), @"
    undone: id-1 “Login” unbound from opencode:ses_b
    now at → id-1 “Login”
    ");
    // The worktree of a session that was only named is known once it acts.
    let first = || project.ok(&["status"]).lines().next().map(str::to_owned);
    assert_eq!(first().as_deref(), Some("shell:main (you)"));
    project.ok(&["note", "decision", "x", "--session", "opencode:ses_b"]);
    assert_eq!(first().as_deref(), Some("opencode:ses_b"));
    project.well();
}

#[test]
fn a_claim_is_one_in_every_view_until_evidence_is_recorded() {
    let project = TestProject::new();
    let frame = project.push("Login");
    let views = || {
        [
            project.ok(&["tree", "--all"]),
            project.ok(&["show", &frame]),
            project.ok(&["log"]),
            project.ok(&["log", &frame]),
        ]
    };
    let popped = project.json(&["pop", "It works"]);
    let what = popped["events"][0]["what"].as_str().unwrap();
    assert!(what.ends_with("completed (claimed): It works"), "{popped}");
    for view in views() {
        assert!(view.contains("claimed"), "{view}");
    }
    let timeline = project.ok(&["log", &frame]);
    assert!(timeline.contains("UTC completed (claimed): It works"));
    project.ok(&[
        "note",
        "test",
        "login::round_trip",
        &format!("--frame={frame}"),
    ]);
    for view in views() {
        assert!(!view.contains("claimed"), "{view}");
    }
    let proven = project.push("Logout");
    project.ok(&["note", "command", "cargo test", "--exit-code", "0"]);
    let popped = project.ok(&["pop", "It works, too"]);
    assert!(popped.contains("“Logout” is completed\n"), "{popped}");
    assert!(!project.ok(&["log", &proven]).contains("claimed"));
}
