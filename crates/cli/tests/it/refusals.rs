//! Everything that is refused: with an exit code, a sentence, a way on, and nothing changed.

use insta::assert_snapshot;

use crate::ground::TestProject;

#[test]
fn the_life_of_a_frame_has_rules() {
    let project = TestProject::new();
    assert_snapshot!(project.refused(&["pop", "done"]), @"
    --- stderr
    error: no frame is active in this worktree
    hint: name a frame, start one with `flame push TITLE`, or switch to one with `flame activate ID`
    [exit 1]
    ");
    let root = project.push("Root");
    let [planned, other] = [0, 1].map(|n| project.plan(&["Index", "Rank"])[n].clone());
    assert_snapshot!(project.refused(&["pop", "done"]), @"
    --- stderr
    error: id-1 “Root” has 4 open children: id-2 “Index” (planned), id-3 “Rank” (planned), id-4 “Index” (planned), id-5 “Rank” (planned)
    hint: start it with `flame activate id-2`, or abandon it with `flame invalidate id-2 --reason WHY`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["pop", "done", "--frame", &planned]), @"
    --- stderr
    error: id-2 “Index” is planned and was not started
    hint: start it with `flame activate id-2`, or abandon it with `flame invalidate id-2 --reason WHY`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["push", "Below a plan", "--parent", &planned]), @"
    --- stderr
    error: id-2 “Index” is planned and was not started
    hint: start it with `flame activate id-2`, or abandon it with `flame invalidate id-2 --reason WHY`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["unblock", &planned]), @"
    --- stderr
    error: id-2 “Index” is planned, not blocked
    hint: switch to it with `flame activate id-2`
    [exit 1]
    ");

    project.ok(&["activate", &planned]);
    project.ok(&["block", "the bank"]);
    assert_snapshot!(project.refused(&["pop", "so far", "--status", "blocked", "--frame", &planned]), @"
    --- stderr
    error: id-2 “Index” is blocked already (the bank)
    hint: once it is no longer blocked, resume it with `flame activate id-2`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["block", "again", "--frame", &planned]), @"
    --- stderr
    error: id-2 “Index” is blocked already (the bank)
    hint: once it is no longer blocked, resume it with `flame activate id-2`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["push", "Below", "--parent", &planned]), @"
    --- stderr
    error: id-2 “Index” is blocked (the bank)
    hint: once it is no longer blocked, resume it with `flame activate id-2`
    [exit 1]
    ");

    project.ok(&["unblock", &planned]);
    project.ok(&["pop", "Built", "--frame", &planned]);
    assert_snapshot!(project.refused(&["pop", "again", "--frame", &planned]), @"
    --- stderr
    error: id-2 “Index” is completed already
    hint: push a new frame to do it again
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["activate", &planned]), @"
    --- stderr
    error: id-2 “Index” is completed already
    hint: push a new frame to do it again
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["push", "Below", "--parent", &planned]), @"
    --- stderr
    error: id-2 “Index” is completed, so nothing can be added below it
    hint: name id-1 above it instead, which is in progress
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["plan", "Below", "--parent", &planned]), @"
    --- stderr
    error: id-2 “Index” is completed, so nothing can be added below it
    hint: name id-1 above it instead, which is in progress
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["invalidate", &planned, "--reason", "no"]), @"
    --- stderr
    error: id-2 “Index” is completed: finished work cannot be invalidated
    hint: correct its results with `flame edit id-2 --results TEXT`, or push a new frame to do it again
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["edit", &planned, "--title", "Other"]), @"
    --- stderr
    error: id-2 “Index” is completed: its goal can no longer be edited
    hint: push a new frame to do it again
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["move", &planned, "--root"]), @"
    --- stderr
    error: id-2 “Index” is completed: only open work can be moved
    hint: plan new work in the other place instead
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["delete", &planned]), @"
    --- stderr
    error: id-2 “Index” is completed: only planned frames can be deleted
    hint: finished work stays as a record of what was done
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["unblock", &planned]), @"
    --- stderr
    error: id-2 “Index” is completed, not blocked
    hint: push a new frame to do it again
    [exit 1]
    ");

    assert_snapshot!(project.refused(&["edit", &root, "--results", "Early"]), @"
    --- stderr
    error: id-1 “Root” is in progress and has no results to correct
    hint: results are given when it ends: `flame pop --frame id-1 RESULTS`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["edit", &root]), @"
    --- stderr
    error: no change was given
    hint: give what changes: `--title`, `--criteria`, `--criteria-compacted`, `--results` or `--results-compacted`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["move", &root, "--under", &other]), @"
    --- stderr
    error: id-1 “Root” cannot be moved below id-5 “Rank”, which is below it
    hint: choose a place outside of it
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["delete", &root]), @"
    --- stderr
    error: id-1 “Root” is in progress: only planned frames can be deleted
    hint: abandon it with `flame invalidate id-1 --reason WHY`
    [exit 1]
    ");
    project.ok(&["invalidate", &other, "--reason", "no"]);
    assert_snapshot!(project.refused(&["invalidate", &other, "--reason", "no"]), @"
    --- stderr
    error: id-5 “Rank” is invalidated already
    hint: push a new frame to do it again
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["edit", &other, "--title", "Other"]), @"
    --- stderr
    error: id-5 “Rank” is invalidated already
    hint: push a new frame to do it again
    [exit 1]
    ");
    project.well();
}

#[test]
fn a_frame_is_never_its_own_ancestor() {
    let project = TestProject::new();
    let a = project.opened(&["plan", "A", "--root"]).remove(0);
    let b = project.opened(&["plan", "B", "--parent", &a]).remove(0);
    let c = project.opened(&["plan", "C", "--parent", &b]).remove(0);
    assert_snapshot!(project.refused(&["move", &a, "--under", &c]), @"
    --- stderr
    error: id-1 “A” cannot be moved below id-3 “C”, which is below it
    hint: choose a place outside of it
    [exit 1]
    ");
    for place in [
        ["--under", &a],
        ["--before", &a],
        ["--after", &a],
        ["--under", &b],
        ["--before", &c],
        ["--after", &b],
    ] {
        project.refused(&["move", &a, place[0], place[1]]);
    }
    let d = project.opened(&["plan", "D", "--root"]).remove(0);
    project.ok(&["invalidate", &d, "--reason", "no"]);
    assert_snapshot!(project.refused(&["move", &a, "--under", &d]), @"
    --- stderr
    error: id-4 “D” is invalidated, so nothing can be added below it
    hint: use `--root` to start a new tree
    [exit 1]
    ");
    project.well();
}

#[test]
fn a_session_and_a_frame_are_bound_once() {
    let project = TestProject::new();
    let one = project.push("One");
    let two = project.opened(&["push", "Two", "--root"]).remove(0);
    project.ok(&["bind", &one, "opencode:ses_a"]);
    assert_snapshot!(project.refused(&["bind", &two, "opencode:ses_a"]), @"
    --- stderr
    error: opencode:ses_a is bound to id-1 “One” already
    hint: unbind it first: `flame unbind opencode:ses_a`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["bind", &one, "opencode:ses_b"]), @"
    --- stderr
    error: id-1 “One” is bound to opencode:ses_a already
    hint: unbind it first: `flame unbind opencode:ses_a`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["unbind", "opencode:ses_b"]), @"
    --- stderr
    error: opencode:ses_b is bound to no frame
    hint: `flame bind ID opencode:ses_b` binds it to a frame
    [exit 1]
    ");
    project.ok(&["pop", "done"]);
    assert_snapshot!(project.refused(&["bind", &two, "opencode:ses_c"]), @"
    --- stderr
    error: id-2 “Two” is completed already
    hint: push a new frame to do it again
    [exit 1]
    ");
    assert_snapshot!(project.misused(&["bind", &two, "ses_c"]), @"
    --- stderr
    error: `ses_c` names no host
    hint: write it as `host:id`, for example `opencode:ses_c`
    [exit 2]
    ");
}

#[test]
fn undo_is_refused_once_others_have_built_on_it() {
    let project = TestProject::new();
    assert_snapshot!(project.refused(&["undo"]), @"
    --- stderr
    error: shell:main has nothing to undo
    hint: undo reverses only what this session did; `--session` undoes for another one
    [exit 1]
    ");
    let root = project.push("Root");
    project.ok(&[
        "note",
        "decision",
        "x",
        "--frame",
        &root,
        "--session",
        "opencode:ses_a",
    ]);
    assert_snapshot!(project.refused(&["undo"]), @"
    --- stderr
    error: the last command of shell:main cannot be undone: opencode:ses_a has worked on the same frame since
    hint: change the current state instead: `flame log ID` shows what happened
    [exit 1]
    ");
}
