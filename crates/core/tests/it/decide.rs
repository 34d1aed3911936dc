//! The rules, each in a line: a tree, a command, the result.
//!
//! A tree is written `root > (done+, doing*, next?)`: `>` opens a level, parentheses group siblings,
//! and a mark after a title gives the status: `?` planned, `+` completed, `~` failed, `!` blocked,
//! `-` invalidated, none in progress; `*` is in progress and active.

mod forking;
mod one_message;
mod reverting;

use std::collections::BTreeMap;

use flamestack_core::Author;
use flamestack_core::command::{Actor, Command, Place, PlanItem, Under};
use flamestack_core::event::{Edit, Event, Goal, Recorded};
use flamestack_core::frame::{Outcome, Status};
use flamestack_core::id::{FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::note::Note;
use flamestack_core::refusal::Refusal;
use flamestack_core::text::{Text, Title};
use flamestack_core::{DecideError, Remark, TreeQuery, decide};
use flamestack_testkit::{Tree, prose, results};

/// A goal without criteria.
fn goal(title: &str) -> Goal {
    Goal {
        title: Title::new(title).unwrap(),
        criteria: None,
        criteria_compacted: None,
    }
}

/// Outcome of a command.
type Answer = Result<Vec<Remark>, Box<Refusal>>;

/// A tree in the making, with frames known by their titles.
struct Story {
    tree: Tree,
    ids: BTreeMap<String, FrameId>,
    drawn: u64,
}

fn me() -> Actor {
    actor("main")
}

fn actor(worktree: &str) -> Actor {
    Actor {
        session: SessionRef::shell(worktree),
        worktree: Some(worktree.to_owned()),
        message: None,
        by: Author::User,
    }
}

impl Story {
    /// A tree from its notation.
    fn new(notation: &str) -> Self {
        let mut story = Self {
            tree: Tree::default(),
            ids: BTreeMap::new(),
            drawn: 0,
        };
        let mut marks = Vec::new();
        let mut parents: Vec<Option<String>> = vec![None];
        let mut last: Option<String> = None;
        let spaced = notation
            .replace('(', " ( ")
            .replace(')', " ) ")
            .replace(',', " , ");
        let mut groups = Vec::new();
        for word in spaced.split_whitespace() {
            match word {
                ">" => parents.push(last.clone()),
                "(" => groups.push(parents.len()),
                ")" => parents.truncate(groups.pop().unwrap()),
                "," => parents.truncate(*groups.last().unwrap()),
                title => {
                    let name = title.trim_end_matches(['?', '+', '~', '!', '-', '*']);
                    let mark = &title[name.len()..];
                    let parent = parents.last().cloned().flatten();
                    let under = parent.map_or(Under::Root, |name| Under::Frame(story.id(&name)));
                    story.draw(name);
                    let id = story.id(name);
                    let goal = goal(name);
                    let command = if mark == "?" {
                        Command::Plan {
                            under,
                            items: vec![PlanItem {
                                id,
                                goal,
                                children: vec![],
                            }],
                        }
                    } else {
                        Command::Push { id, under, goal }
                    };
                    story.does(&command).unwrap();
                    marks.push((name.to_owned(), mark.to_owned()));
                    last = Some(name.to_owned());
                }
            }
        }
        for (name, mark) in marks.iter().rev() {
            story.mark(name, mark);
        }
        if let Some((name, _)) = marks.iter().find(|(_, mark)| mark == "*") {
            let frame = story.id(name);
            story.does(&Command::Activate(frame)).unwrap();
        }
        story
    }

    fn mark(&mut self, name: &str, mark: &str) {
        let frame = Some(self.id(name));
        let pop = |outcome| Command::Pop {
            frame,
            outcome,
            results: results(name),
        };
        let command = match mark {
            "+" => pop(Outcome::Completed),
            "~" => pop(Outcome::Failed),
            "!" => Command::Block {
                frame,
                reason: prose("keys"),
            },
            "-" => Command::Invalidate {
                frame,
                reason: prose("changed plans"),
            },
            _ => return,
        };
        self.does(&command).unwrap();
    }

    fn draw(&mut self, name: &str) {
        self.drawn += 1;
        let id = FrameId::from_entropy(self.drawn * 0x9e37_79b9);
        self.ids.insert(name.to_owned(), id);
    }

    fn id(&self, name: &str) -> FrameId {
        self.ids[name]
    }

    fn does(&mut self, command: &Command) -> Answer {
        self.does_as(&me(), command)
    }

    fn does_as(&mut self, actor: &Actor, command: &Command) -> Answer {
        let decision = decide(&self.tree, actor, command).map_err(|rejected| match rejected {
            DecideError::Refused(refusal) => refusal,
            DecideError::Unreadable(never) => match never {},
        })?;
        let batch = Seq(i64::try_from(self.tree.journal().len()).unwrap() + 1);
        for (place, event) in (0..).zip(decision.events) {
            self.tree.apply(Recorded {
                seq: Seq(batch.0 + place),
                batch,
                at: Timestamp(batch.0),
                session: actor.session.clone(),
                message: actor.message.clone(),
                by: actor.by,
                event,
            });
        }
        Ok(decision.remarks)
    }

    fn push(&mut self, name: &str, under: Under) -> Answer {
        self.draw(name);
        let id = self.id(name);
        self.does(&Command::Push {
            id,
            under,
            goal: goal(name),
        })
    }

    fn pop(&mut self, name: &str, outcome: Outcome) -> Answer {
        let frame = Some(self.id(name));
        self.does(&Command::Pop {
            frame,
            outcome,
            results: results("result"),
        })
    }

    fn status(&self, name: &str) -> Status {
        self.tree.frames()[&self.ids[name]].status
    }

    fn active(&self) -> Option<String> {
        self.active_of("main")
    }

    fn active_of(&self, worktree: &str) -> Option<String> {
        let session = SessionRef::shell(worktree);
        let active = self.tree.session(&session).unwrap()?.active?;
        Some(self.tree.frames()[&active].title.as_str().to_owned())
    }

    /// The tree in its own notation.
    fn drawing(&self) -> String {
        self.level(None)
    }

    fn level(&self, parent: Option<&FrameId>) -> String {
        let active = self
            .tree
            .session(&me().session)
            .unwrap()
            .and_then(|session| session.active);
        let frames: Vec<String> = self
            .tree
            .children(parent)
            .map(|frame| {
                let mark = match frame.status {
                    Status::Planned => "?",
                    Status::InProgress if active.as_ref() == Some(&frame.id) => "*",
                    Status::InProgress => "",
                    Status::Completed => "+",
                    Status::Failed => "~",
                    Status::Blocked => "!",
                    Status::Invalidated => "-",
                };
                match self.level(Some(&frame.id)) {
                    below if below.is_empty() => format!("{}{mark}", frame.title),
                    below => format!("{}{mark} > {below}", frame.title),
                }
            })
            .collect();
        match frames.len() {
            0 | 1 => frames.concat(),
            _ => format!("({})", frames.join(", ")),
        }
    }
}

/// Returns the refusal in words, and checks that nothing changed.
fn refused(story: &mut Story, wish: impl FnOnce(&mut Story) -> Answer) -> String {
    let before = story.tree.journal().len();
    let refusal = wish(story).unwrap_err();
    assert_eq!(
        story.tree.journal().len(),
        before,
        "a refusal changes nothing"
    );
    let mut text = refusal.to_string();
    for (name, id) in &story.ids {
        text = text.replace(id.as_str(), &format!("<{name}>"));
    }
    text
}

#[test]
fn pushing_goes_down_and_popping_comes_back() {
    let mut story = Story::new("root > (first?, second?)");
    assert_eq!(story.active().as_deref(), Some("root"));
    story.push("child", Under::Active).unwrap();
    story.push("grandchild", Under::Active).unwrap();
    assert_eq!(
        story.drawing(),
        "root > (first?, second?, child > grandchild*)"
    );
    story.pop("grandchild", Outcome::Completed).unwrap();
    assert_eq!(story.active().as_deref(), Some("child"));
}

#[test]
fn popping_a_root_finishes_the_tree() {
    let mut story = Story::new("root*");
    assert_eq!(
        story.pop("root", Outcome::Completed).unwrap(),
        [Remark::TreeFinished]
    );
    assert_eq!(story.active(), None);
    // Work after that is a new tree, not a child of finished work.
    story.push("more", Under::Active).unwrap();
    assert_eq!(story.drawing(), "(root+, more*)");
}

#[test]
fn every_session_on_a_frame_returns_when_it_ends() {
    let mut story = Story::new("root > child*");
    let child = story.id("child");
    story
        .does_as(&actor("other"), &Command::Activate(child))
        .unwrap();
    story.pop("child", Outcome::Completed).unwrap();
    assert_eq!(story.active_of("other").as_deref(), Some("root"));
}

#[test]
fn push_below_a_frame_not_in_progress_is_refused() {
    let below = |name: &'static str| {
        move |story: &mut Story| {
            let parent = story.id(name);
            story.push("new", Under::Frame(parent))
        }
    };
    let mut story = Story::new("root > (done+, lost~, planned?, stuck!, gone-)");
    insta::assert_snapshot!(refused(&mut story, below("done")), @"<done> “done” is completed, so nothing can be added below it");
    insta::assert_snapshot!(refused(&mut story, below("gone")), @"<gone> “gone” is invalidated, so nothing can be added below it");
    insta::assert_snapshot!(refused(&mut story, below("planned")), @"<planned> “planned” is planned and was not started");
    insta::assert_snapshot!(refused(&mut story, below("stuck")), @"<stuck> “stuck” is blocked (keys)");
    let mut story = Story::new("root+");
    insta::assert_snapshot!(refused(&mut story, below("root")), @"<root> “root” is completed, so nothing can be added below it");
}

#[test]
fn pop_with_open_children_is_refused() {
    let pop = |outcome| move |story: &mut Story| story.pop("root", outcome);
    let mut story = Story::new("root* > (a, b?, c!)");
    insta::assert_snapshot!(refused(&mut story, pop(Outcome::Completed)), @"<root> “root” has 3 open children: <a> “a” (in progress), <b> “b” (planned), <c> “c” (blocked)");
    insta::assert_snapshot!(refused(&mut story, pop(Outcome::Failed)), @"<root> “root” has 2 open children: <a> “a” (in progress), <c> “c” (blocked)");
    // Blocked is not an end: what is below may continue.
    story.pop("root", Outcome::Blocked).unwrap();
    assert_eq!(story.drawing(), "root! > (a, b?, c!)");
}

#[test]
fn a_failed_frame_takes_its_plan_with_it() {
    let mut story = Story::new("root > api* > (done+, auth? > tokens?)");
    story.pop("api", Outcome::Failed).unwrap();
    assert_eq!(story.drawing(), "root* > api~ > (done+, auth- > tokens-)");
    let tokens = &story.tree.frames()[&story.id("tokens")];
    let reason = tokens.invalidation.as_ref().unwrap().reason.as_str();
    assert_eq!(reason, "Parent frame failed: result");
}

#[test]
fn pop_of_a_planned_or_finished_frame_is_refused() {
    let pop = |name, outcome| move |story: &mut Story| story.pop(name, outcome);
    let mut story = Story::new("root > (planned?, done+, stuck!, gone-)");
    insta::assert_snapshot!(refused(&mut story, pop("planned", Outcome::Completed)), @"<planned> “planned” is planned and was not started");
    insta::assert_snapshot!(refused(&mut story, pop("done", Outcome::Failed)), @"<done> “done” is completed already");
    insta::assert_snapshot!(refused(&mut story, pop("gone", Outcome::Completed)), @"<gone> “gone” is invalidated already");
    insta::assert_snapshot!(refused(&mut story, pop("stuck", Outcome::Blocked)), @"<stuck> “stuck” is blocked already (keys)");
    story.pop("stuck", Outcome::Failed).unwrap();
    assert_eq!(story.status("stuck"), Status::Failed);
}

#[test]
fn a_blocked_frame_is_taken_up_again_by_activating_or_popping_it() {
    let mut story = Story::new("root* > (stuck!, other!)");
    let frame = story.id("stuck");
    let remarks = story.does(&Command::Activate(frame)).unwrap();
    assert_eq!(story.drawing(), "root > (stuck*, other!)");
    assert!(
        matches!(remarks.as_slice(), [Remark::WasBlocked(head)]
            if head.blocked_on.as_ref().map(Text::as_str) == Some("keys")),
        "{remarks:?}"
    );
    story.pop("other", Outcome::Completed).unwrap();
    assert_eq!(story.drawing(), "root > (stuck*, other+)");
    let journal = story.tree.journal();
    let unblocked = |recorded: &&Recorded| {
        let other = story.id("other");
        matches!(recorded.event, Event::FrameUnblocked { frame, .. } if frame == other)
    };
    assert_eq!(journal.iter().filter(unblocked).count(), 1);
}

#[test]
fn planned_work_can_be_blocked_and_is_planned_again_afterwards() {
    let mut story = Story::new("root* > a? > b?");
    let frame = story.id("b");
    let block = Command::Block {
        frame: Some(frame),
        reason: prose("keys"),
    };
    story.does(&block).unwrap();
    assert_eq!(story.drawing(), "root* > a? > b!");
    story.does(&Command::Unblock(frame)).unwrap();
    assert_eq!(story.drawing(), "root* > a? > b?");
    story.does(&block).unwrap();
    story.does(&Command::Activate(frame)).unwrap();
    assert_eq!(story.drawing(), "root > a > b*");
    story.does(&Command::Undo).unwrap();
    assert_eq!(story.drawing(), "root* > a? > b!");
}

#[test]
fn commands_without_an_active_frame_are_refused() {
    let mut story = Story::new("root+");
    let pop = |story: &mut Story| {
        story.does(&Command::Pop {
            frame: None,
            outcome: Outcome::Completed,
            results: results("x"),
        })
    };
    insta::assert_snapshot!(refused(&mut story, pop), @"no frame is active in this worktree");
}

#[test]
fn activating_a_nested_plan_starts_the_frames_above() {
    let mut story = Story::new("root* > a? > b? > c?");
    let frame = story.id("c");
    story.does(&Command::Activate(frame)).unwrap();
    assert_eq!(story.drawing(), "root > a > b > c*");
    assert_eq!(
        story.does(&Command::Activate(frame)).unwrap(),
        [Remark::AlreadyActive]
    );
    let mut story = Story::new("root > stuck! > next?");
    let activate = |story: &mut Story| {
        let frame = story.id("next");
        story.does(&Command::Activate(frame))
    };
    insta::assert_snapshot!(refused(&mut story, activate), @"<stuck> “stuck” is blocked (keys)");
}

#[test]
fn invalidation_cascades_to_plans_at_any_depth() {
    let mut story = Story::new("root* > api > (plan? > deep?, doing > below?, done+, stuck!)");
    let frame = Some(story.id("api"));
    let remarks = story
        .does(&Command::Invalidate {
            frame,
            reason: prose("changed plans"),
        })
        .unwrap();
    assert_eq!(
        story.drawing(),
        "root* > api- > (plan- > deep-, doing > below-, done+, stuck!)"
    );
    let open: Vec<String> = remarks
        .iter()
        .map(|remark| match remark {
            Remark::StillOpen(head) => head.title.as_str().to_owned(),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(open, ["doing", "stuck"]);
    let deep = &story.tree.frames()[&story.id("deep")];
    let reason = deep.invalidation.as_ref().unwrap().reason.as_str();
    assert_eq!(reason, "Parent frame invalidated: changed plans");
}

#[test]
fn finished_work_cannot_be_given_up() {
    let mut story = Story::new("root > (done+, lost~, gone-)");
    let invalidate = |story: &mut Story| {
        let frame = Some(story.id("done"));
        story.does(&Command::Invalidate {
            frame,
            reason: prose("no"),
        })
    };
    insta::assert_snapshot!(refused(&mut story, invalidate), @"<done> “done” is completed: finished work cannot be invalidated");
    let retitle = |story: &mut Story| {
        let edit = Edit {
            title: Some(Title::new("other").unwrap()),
            ..Edit::default()
        };
        let frame = Some(story.id("done"));
        story.does(&Command::Edit { frame, edit })
    };
    insta::assert_snapshot!(refused(&mut story, retitle), @"<done> “done” is completed: its goal can no longer be edited");
    let frame = Some(story.id("done"));
    let edit = Edit {
        results: Some(prose("corrected")),
        ..Edit::default()
    };
    story.does(&Command::Edit { frame, edit }).unwrap();
    let done = &story.tree.frames()[&story.id("done")];
    assert_eq!(done.results.as_ref().map(Text::as_str), Some("corrected"));
}

#[test]
fn open_frames_move_and_never_below_themselves() {
    let mut story = Story::new("root* > (a? > b?, c?, doing)");
    let moved = |name: &'static str, to: fn(&Story) -> Place| {
        move |story: &mut Story| {
            let frame = story.id(name);
            let to = to(story);
            story.does(&Command::Move { frame, to })
        }
    };
    insta::assert_snapshot!(refused(&mut story, moved("a", |story| Place::Under(story.id("b")))), @"<a> “a” cannot be moved below <b> “b”, which is below it");
    insta::assert_snapshot!(refused(&mut story, moved("a", |story| Place::After(story.id("b")))), @"<a> “a” cannot be moved below itself");
    insta::assert_snapshot!(refused(&mut story, moved("doing", |story| Place::Under(story.id("a")))), @"<a> “a” is planned and was not started");
    moved("c", |story| Place::Before(story.id("a")))(&mut story).unwrap();
    assert_eq!(story.drawing(), "root* > (c?, a? > b?, doing)");
    moved("b", |story| Place::After(story.id("c")))(&mut story).unwrap();
    assert_eq!(story.drawing(), "root* > (c?, b?, a?, doing)");
    let frame = story.id("a");
    story.does(&Command::Delete(frame)).unwrap();
    assert_eq!(story.drawing(), "root* > (c?, b?, doing)");
}

#[test]
fn work_in_progress_moves_with_its_sessions_below_other_work_in_progress() {
    let mut story = Story::new("root > (wrong > doing > below*, right, done+, stuck!)");
    let to = |story: &mut Story, parent| {
        let frame = story.id("doing");
        let to = Place::Under(story.id(parent));
        story.does(&Command::Move { frame, to })
    };
    insta::assert_snapshot!(refused(&mut story, |story| to(story, "done")), @"<done> “done” is completed, so nothing can be added below it");
    insta::assert_snapshot!(refused(&mut story, |story| to(story, "stuck")), @"<stuck> “stuck” is blocked (keys)");
    insta::assert_snapshot!(refused(&mut story, |story| to(story, "below")), @"<doing> “doing” cannot be moved below <below> “below”, which is below it");
    to(&mut story, "right").unwrap();
    assert_eq!(
        story.drawing(),
        "root > (wrong, right > doing > below*, done+, stuck!)"
    );
    story.pop("below", Outcome::Completed).unwrap();
    story.pop("doing", Outcome::Completed).unwrap();
    assert_eq!(
        story.drawing(),
        "root > (wrong, right* > doing+ > below+, done+, stuck!)"
    );
    let frame = story.id("doing");
    let finished = |story: &mut Story| {
        story.does(&Command::Move {
            frame,
            to: Place::Root,
        })
    };
    insta::assert_snapshot!(refused(&mut story, finished), @"<doing> “doing” is completed: only open work can be moved");
}

#[test]
fn moving_between_the_same_two_ends_when_there_is_no_room() {
    let mut story = Story::new("root* > (left?, right?, mover?, other?)");
    let squeeze = |story: &mut Story, frame: &str| {
        let frame = story.id(frame);
        let to = Place::After(story.id("left"));
        story.does(&Command::Move { frame, to })
    };
    let mut moves = 0;
    let refusal = loop {
        let name = if moves % 2 == 0 { "mover" } else { "other" };
        match squeeze(&mut story, name) {
            Ok(_) => moves += 1,
            Err(refusal) => break refusal,
        }
        assert!(moves < 100, "room should end");
    };
    assert!(moves > 20, "{moves}");
    assert!(matches!(*refusal, Refusal::NoRankLeft(_)), "{refusal}");
}

#[test]
fn a_session_and_a_frame_are_bound_one_to_one() {
    let mut story = Story::new("root* > (a, b)");
    let session: SessionRef = "opencode:ses_1".parse().unwrap();
    let bind = |story: &mut Story, name: &str, session: &SessionRef| {
        let frame = story.id(name);
        story.does(&Command::Bind {
            frame,
            session: session.clone(),
        })
    };
    bind(&mut story, "a", &session).unwrap();
    let known = story.tree.session(&session).unwrap().unwrap();
    assert_eq!((known.own, known.active), (Some(story.id("a")), known.own));
    assert_eq!(
        bind(&mut story, "a", &session).unwrap(),
        [Remark::AlreadyRecorded]
    );
    insta::assert_snapshot!(refused(&mut story, |story| bind(story, "b", &"opencode:ses_1".parse().unwrap())), @"opencode:ses_1 is bound to <a> “a” already");
    insta::assert_snapshot!(refused(&mut story, |story| bind(story, "a", &"opencode:ses_2".parse().unwrap())), @"<a> “a” is bound to opencode:ses_1 already");
    story.does(&Command::Unbind(session.clone())).unwrap();
    insta::assert_snapshot!(refused(&mut story, |story| story.does(&Command::Unbind(session))), @"opencode:ses_1 is bound to no frame");
}

#[test]
fn planning_finds_its_parent() {
    let plan = |story: &mut Story, actor: &Actor, name: &str, under: Under| {
        story.draw(name);
        let items = vec![PlanItem {
            id: story.id(name),
            goal: goal(name),
            children: vec![],
        }];
        story.does_as(actor, &Command::Plan { under, items })
    };
    let mut story = Story::new("root > (a*, b)");
    plan(&mut story, &me(), "active", Under::Active).unwrap();
    let b = story.id("b");
    plan(&mut story, &me(), "named", Under::Frame(b)).unwrap();
    let bound = Actor {
        session: "opencode:ses_1".parse().unwrap(),
        worktree: None,
        message: None,
        by: Author::Agent,
    };
    story
        .does(&Command::Bind {
            frame: b,
            session: bound.session.clone(),
        })
        .unwrap();
    plan(&mut story, &bound, "own", Under::Active).unwrap();
    assert_eq!(story.drawing(), "root > (a* > active?, b > (named?, own?))");
    insta::assert_snapshot!(refused(&mut story, |story| story.does(&Command::Plan { under: Under::Active, items: vec![] })), @"the plan names no frame");
}

#[test]
fn undo_takes_back_the_last_command_of_the_session() {
    let mut story = Story::new("root*");
    story.push("child", Under::Active).unwrap();
    let note = Note::Decision {
        text: prose("argon2"),
        why: None,
        by: Author::Agent,
    };
    story.does(&Command::Note { frame: None, note }).unwrap();
    story.pop("child", Outcome::Completed).unwrap();
    assert_eq!(story.drawing(), "root* > child+");
    story.does(&Command::Undo).unwrap();
    assert_eq!(story.drawing(), "root > child*");
    assert_eq!(story.tree.frames()[&story.id("child")].notes.len(), 1);
    story.does(&Command::Undo).unwrap();
    assert_eq!(story.tree.frames()[&story.id("child")].notes.len(), 0);
    story.does(&Command::Undo).unwrap();
    assert_eq!(story.drawing(), "root*");
    // The name of a frame that was undone is not used again.
    let id = story.id("child");
    let again = Command::Push {
        id,
        under: Under::Active,
        goal: goal("again"),
    };
    assert_eq!(story.does(&again), Err(Box::new(Refusal::IdTaken(id))));
}

#[test]
fn undo_is_refused_when_another_session_has_built_on_it() {
    let mut story = Story::new("root*");
    story.push("child", Under::Active).unwrap();
    let other = actor("other");
    let under = Under::Frame(story.id("child"));
    story.draw("below");
    let push = Command::Push {
        id: story.id("below"),
        under,
        goal: goal("below"),
    };
    story.does_as(&other, &push).unwrap();
    insta::assert_snapshot!(refused(&mut story, |story| story.does(&Command::Undo)), @"the last command of shell:main cannot be undone: shell:other has worked on the same frame since");
    story.does_as(&other, &Command::Undo).unwrap();
    story.does(&Command::Undo).unwrap();
    assert_eq!(story.drawing(), "root*");
    insta::assert_snapshot!(refused(&mut story, |story| story.does_as(&actor("third"), &Command::Undo)), @"shell:third has nothing to undo");
}

#[test]
fn undo_does_not_return_to_a_frame_that_ended_meanwhile() {
    let mut story = Story::new("root > a*");
    story.push("b", Under::Active).unwrap();
    let frame = Some(story.id("a"));
    let other = actor("other");
    story
        .does_as(
            &other,
            &Command::Invalidate {
                frame,
                reason: prose("no"),
            },
        )
        .unwrap();
    story.does(&Command::Undo).unwrap();
    assert_eq!(story.active().as_deref(), Some("root"));
}

#[test]
fn an_artifact_is_recorded_once_and_a_command_each_time() {
    let mut story = Story::new("root*");
    let artifact = Command::Note {
        frame: None,
        note: Note::Artifact(prose("src/a.rs")),
    };
    assert_eq!(story.does(&artifact).unwrap(), []);
    assert_eq!(story.does(&artifact).unwrap(), [Remark::AlreadyRecorded]);
    let ran = flamestack_core::Evidence::Command {
        command: prose("cargo test"),
        exit_code: 0,
    };
    let ran = Command::Note {
        frame: None,
        note: Note::Evidence(ran),
    };
    story.does(&ran).unwrap();
    story.does(&ran).unwrap();
    assert_eq!(story.tree.frames()[&story.id("root")].notes.len(), 3);
}

#[test]
fn every_event_names_what_it_changes() {
    let story = Story::new("root > (a? > b?, c+, d!)");
    for recorded in story.tree.journal() {
        let about_session = matches!(
            recorded.event,
            Event::SessionOpened { .. } | Event::SessionFocused { .. }
        );
        assert_eq!(
            recorded.event.frames().next().is_none(),
            about_session,
            "{recorded:?}"
        );
    }
}

#[test]
fn undo_does_not_bring_work_back_below_finished_work() {
    let other = actor("other");
    let mut story = Story::new("root > p* > c?");
    let frame = story.id("c");
    story.does(&Command::Delete(frame)).unwrap();
    let pop = Command::Pop {
        frame: Some(story.id("p")),
        outcome: Outcome::Completed,
        results: results("done"),
    };
    story.does_as(&other, &pop).unwrap();
    insta::assert_snapshot!(refused(&mut story, |story| story.does(&Command::Undo)), @"the last command of shell:main cannot be undone: the frame above <c> “c” has ended since");
}

#[test]
fn undo_is_refused_while_a_session_works_on_an_affected_frame() {
    let other = actor("other");
    let mut story = Story::new("root* > a?");
    let frame = story.id("a");
    let activate = Command::Activate(frame);
    story.does(&activate).unwrap();
    story.does_as(&other, &activate).unwrap();
    insta::assert_snapshot!(refused(&mut story, |story| story.does(&Command::Undo)), @"the last command of shell:main cannot be undone: shell:other has worked on the same frame since");
    let frame = story.id("root");
    story.does_as(&other, &Command::Activate(frame)).unwrap();
    story.does(&Command::Undo).unwrap();
    assert_eq!(story.drawing(), "root* > a?");
}

#[test]
fn undo_leaves_a_session_where_it_has_moved_since() {
    let other = actor("other");
    let mut story = Story::new("root > (a, b*)");
    let [a, b] = ["a", "b"].map(|name| story.id(name));
    story.does_as(&other, &Command::Activate(b)).unwrap();
    story.pop("b", Outcome::Completed).unwrap();
    assert_eq!(story.active_of("other").as_deref(), Some("root"));
    story.does_as(&other, &Command::Activate(a)).unwrap();
    story.does(&Command::Undo).unwrap();
    assert_eq!(story.active().as_deref(), Some("b"));
    assert_eq!(story.active_of("other").as_deref(), Some("a"));
}
