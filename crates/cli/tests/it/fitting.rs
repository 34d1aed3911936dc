//! Output fits the terminal, from 40 to 200 columns, and times are the reader's.

use insta::assert_snapshot;

use crate::ground::TestProject;

/// A project with a tree of several levels, long titles and evidence.
fn shop() -> TestProject {
    let project = TestProject::new();
    project.push("Password login");
    project.plan(&[
        "Store users in the database, with a migration that can be undone",
        "Login routes",
        "ログイン画面を多言語に対応させて翻訳を確認する",
    ]);
    project.ok(&["activate", "Store users"]);
    let why = "the build image has no C compiler, and no-one wants to maintain one for this";
    project.ok(&["note", "failed", "bcrypt", "--why", why]);
    project.ok(&["note", "command", "cargo test users", "--exit-code", "0"]);
    project.ok(&["note", "commit", "0123456789abcdef0123456789abcdef01234567"]);
    project.ok(&["pop", "Users are stored with argon2id hashes in src/users.rs; seven tests pass and cover the migration in both directions"]);
    project.ok(&["activate", "login"]);
    project.push("Cookies");
    project.ok(&["pop", "Signed cookies"]);
    project
}

fn at(project: &TestProject, columns: &str, arguments: &[&str]) -> String {
    let mut command = project.command(arguments);
    let output = command.env("COLUMNS", columns).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for line in text.lines() {
        let width = unicode_width::UnicodeWidthStr::width(line);
        let limit: usize = columns.parse().unwrap();
        // Words stay whole: a path may leave its column.
        let longest = line
            .split(' ')
            .map(unicode_width::UnicodeWidthStr::width)
            .max();
        let has_long_word = longest.unwrap_or_default() + 16 > limit;
        assert!(width <= limit || has_long_word, "{width}: {line}\n{text}");
    }
    project.stable(&text)
}

#[test]
fn a_tree_fits_the_terminal() {
    let project = shop();
    assert_snapshot!(at(&project, "40", &["tree", "--details"]), @"
    → id-1  Password login · 1/3 done
    ├─ ✓ id-2  Store users in the…
    │    1 check passed · 1 commit
    │    results: Users are stored with
    │    argon2id hashes in src/users.rs; …
    ├─ → id-3  Login routes
    │  │ 1/1 done  ◀ you are here
    │  └─ ✓ id-5  Cookies · claimed
    │       results: Signed cookies
    └─ ○ id-4  ログイン画面を多言語に対…

    5 frames: 2 in progress, 1 planned, 2
      completed
    → in progress  ○ planned  ! blocked
    ✓ completed  ✗ failed  – invalidated
    claimed: completed without a recorded
    check, test or commit (`flame check`
    records one)
    ");
    assert_snapshot!(at(&project, "80", &["tree", "--details"]), @"
    → id-1  Password login · 1/3 done
    ├─ ✓ id-2  Store users in the database, with a… · 1 check passed · 1 commit
    │    results: Users are stored with argon2id hashes in src/users.rs; …
    ├─ → id-3  Login routes · 1/1 done  ◀ you are here
    │  └─ ✓ id-5  Cookies · claimed
    │       results: Signed cookies
    └─ ○ id-4  ログイン画面を多言語に対応させて翻訳を確認する

    5 frames: 2 in progress, 1 planned, 2 completed
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    claimed: completed without a recorded check, test or commit (`flame check`
    records one)
    ");
    assert_snapshot!(at(&project, "200", &["tree", "--details"]), @"
    → id-1  Password login · 1/3 done
    ├─ ✓ id-2  Store users in the database, with a migration that can be undone · 1 check passed · 1 commit
    │    results: Users are stored with argon2id hashes in src/users.rs; seven tests pass and cover the migration in both directions
    ├─ → id-3  Login routes · 1/1 done  ◀ you are here
    │  └─ ✓ id-5  Cookies · claimed
    │       results: Signed cookies
    └─ ○ id-4  ログイン画面を多言語に対応させて翻訳を確認する

    5 frames: 2 in progress, 1 planned, 2 completed
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    claimed: completed without a recorded check, test or commit (`flame check` records one)
    ");
}

#[test]
fn a_deep_tree_fits_a_narrow_terminal() {
    let project = TestProject::new();
    for level in 1..=8 {
        project.push(&format!("Level {level} of the whole"));
    }
    assert_snapshot!(at(&project, "40", &["tree"]), @"
    → id-1  Level 1 of the whole
    │ 0/1 done
    └─ → id-2  Level 2 of the whole
       │ 0/1 done
       └─ → id-3  Level 3 of the whole
          │ 0/1 done
          └─ (3) → id-4  Level 4 of…
             │ 0/1 done
          └─ (4) → id-5  Level 5 of…
             │ 0/1 done
          └─ (5) → id-6  Level 6 of…
             │ 0/1 done
          └─ (6) → id-7  Level 7 of…
             │ 0/1 done
          └─ (7) → id-8  Level 8 of…
                 ◀ you are here

    8 frames: 8 in progress
    → in progress  ○ planned  ! blocked
    ✓ completed  ✗ failed  – invalidated
    ");
}

#[test]
fn a_frame_fits_the_terminal() {
    let project = shop();
    assert_snapshot!(at(&project, "40", &["show", "store"]), @"
    ✓ id-2  Store users in the database,
                with a migration that can be
                undone
      status     completed
      path       id-1 Password login
      worked in  shell:main
      opened     TIME UTC
                 (AGO)
      ended      TIME UTC
                 (AGO), after TIME

    Results
      Users are stored with argon2id hashes
      in src/users.rs; seven tests pass and
      cover the migration in both directions

    Failed attempts
      - bcrypt (because the build image has
        no C compiler, and no-one wants to
        maintain one for this)

    Evidence
      - `cargo test users` exited 0
      - commit
        0123456789abcdef0123456789abcdef01234567

    Log
      DIR/state/projects/shop-HASH/logs/id-2.md
    ");
    assert_snapshot!(at(&project, "80", &["show", "store"]), @"
    ✓ id-2  Store users in the database, with a migration that can be undone
      status     completed
      path       id-1 Password login
      worked in  shell:main
      opened     TIME UTC (AGO)
      ended      TIME UTC (AGO), after TIME

    Results
      Users are stored with argon2id hashes in src/users.rs; seven tests pass and
      cover the migration in both directions

    Failed attempts
      - bcrypt (because the build image has no C compiler, and no-one wants to
        maintain one for this)

    Evidence
      - `cargo test users` exited 0
      - commit 0123456789abcdef0123456789abcdef01234567

    Log
      DIR/state/projects/shop-HASH/logs/id-2.md
    ");
    assert_snapshot!(at(&project, "200", &["show", "store"]), @"
    ✓ id-2  Store users in the database, with a migration that can be undone
      status     completed
      path       id-1 Password login
      worked in  shell:main
      opened     TIME UTC (AGO)
      ended      TIME UTC (AGO), after TIME

    Results
      Users are stored with argon2id hashes in src/users.rs; seven tests pass and cover the migration in both directions

    Failed attempts
      - bcrypt (because the build image has no C compiler, and no-one wants to maintain one for this)

    Evidence
      - `cargo test users` exited 0
      - commit 0123456789abcdef0123456789abcdef01234567

    Log
      DIR/state/projects/shop-HASH/logs/id-2.md
    ");
}

#[test]
fn every_command_fits_the_terminal() {
    let project = shop();
    let commands: [&[&str]; 7] = [
        &["status"],
        &["search", "argon2id"],
        &["config", "list", "--long"],
        &["log"],
        &["doctor"],
        &["-h"],
        &["--help"],
    ];
    for command in commands {
        for columns in ["40", "80", "200"] {
            at(&project, columns, command);
        }
    }
    assert_snapshot!(at(&project, "40", &["status"]), @"
    shell:main (you)
      → id-1  Password login
        → id-3  Login routes
      task 2 of 3 (1 done, 1 planned)
      1 child, 1 of 1 done
      next: id-4  ログイン画面を多言語…

    shop · 5 frames: 2 in progress, 1
      planned, 2 completed
    ");
    assert_snapshot!(at(&project, "40", &["search", "argon2id"]), @"
    id-2  Store users in the…  results
        Users are stored with [argon2id]
        hashes in src/users.rs; seven tests
        pass and cover the migration in both
        directions
    ");
    assert_snapshot!(at(&project, "40", &["config", "list", "brief", "--long"]), @"
    brief.budget = 2000  built in
        Maximum length of a continuation
        brief, in tokens. Takes a whole
        number from 256 to 1000000.
    ");
}

#[test]
fn without_a_terminal_a_line_has_any_length() {
    let project = shop();
    let results = project.ok(&["show", "store"]);
    assert!(results.contains("seven tests pass and cover the migration in both directions\n"));
}

#[test]
fn times_are_in_the_readers_zone() {
    let project = TestProject::new().with_env("TZ", "EST5");
    project.push("Login");
    project.ok(&["pop", "done"]);
    let shown = project.ok(&["show", "login"]);
    assert!(shown.contains(" EST ("), "{shown}");
    assert!(shown.contains("ended "), "{shown}");
    assert!(project.ok(&["log"]).contains(" EST  Login"));
    assert!(project.ok(&["log", "login"]).contains(" EST opened: Login"));
    // Everyone and every program reads its file alike.
    let file = project.ok(&["log", "--path", "login"]);
    let file = fs_err::read_to_string(file.trim()).unwrap();
    let markdown = project.json(&["log", "login"])["markdown"].clone();
    for text in [file.as_str(), markdown.as_str().unwrap()] {
        assert!(text.contains(" UTC opened: Login"), "{text}");
    }
}

#[test]
fn sessions_that_were_left_are_marked_by_their_age() {
    let project = TestProject::new();
    project.ok(&["push", "Old chat", "--session", "opencode:ses_1"]);
    let journal = rusqlite::Connection::open(project.file("journal.db")).unwrap();
    // Three days pass.
    let days = 3 * 86_400_000;
    journal
        .execute("UPDATE events SET at = at - ?1", [days])
        .unwrap();
    journal
        .execute("UPDATE frames SET updated_at = updated_at - ?1", [days])
        .unwrap();
    drop(journal);
    assert_snapshot!(project.flame(&["tree"]), @"
    → id-1  Old chat  ◀ opencode:ses_1 (AGO)

    1 frame: 1 in progress
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    ");
    assert_snapshot!(project.flame(&["status"]), @"
    opencode:ses_1 (AGO)
      → id-1  Old chat

    shop · 1 frame: 1 in progress
    ");
}
