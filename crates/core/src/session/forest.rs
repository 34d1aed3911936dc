//! The tree of sessions: parents, levels, leaves, and the clean-up of orphans.

use std::collections::{BTreeMap, BTreeSet};

use super::life::Life;
use super::link::Level;
use super::state::SessionState;
use super::status::Thresholds;
use crate::id::{SessionRef, Timestamp};

/// All sessions with their parents and children.
///
/// Depths are derived, never counted, so that they cannot drift. A cycle, which only a damaged journal
/// has, is cut where it is entered.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    parents: BTreeMap<SessionRef, Option<SessionRef>>,
    children: BTreeMap<SessionRef, Vec<SessionRef>>,
    depths: BTreeMap<SessionRef, u64>,
}

impl Forest {
    /// Arranges sessions, in their order.
    pub fn of<'l>(lives: impl IntoIterator<Item = &'l Life>) -> Self {
        let mut forest = Self::default();
        for life in lives {
            let parent = life.parent.clone();
            if let Some(parent) = &parent {
                let siblings = forest.children.entry(parent.clone()).or_default();
                siblings.push(life.session.clone());
            }
            forest.parents.insert(life.session.clone(), parent);
        }
        let sessions: Vec<SessionRef> = forest.parents.keys().cloned().collect();
        for session in sessions {
            forest.measure(session);
        }
        forest
    }

    /// Computes the depth of a session and of the ancestors on the way.
    fn measure(&mut self, session: SessionRef) {
        let mut path = Vec::new();
        let mut seen = BTreeSet::new();
        let mut next = Some(session);
        let mut depth = 0;
        while let Some(session) = next {
            if let Some(known) = self.depths.get(&session) {
                depth = known + 1;
                break;
            }
            if !seen.insert(session.clone()) {
                break;
            }
            next = self.parents.get(&session).cloned().flatten();
            path.push(session);
        }
        for session in path.into_iter().rev() {
            self.depths.insert(session, depth);
            depth += 1;
        }
    }

    /// Returns the place of a session. An unknown one is a root.
    pub fn level(&self, session: &SessionRef) -> Level {
        Level {
            depth: self.depths.get(session).copied().unwrap_or_default(),
            is_leaf: self.children(session).is_empty(),
        }
    }

    /// Returns the children of a session, in the order in which they were given.
    pub fn children(&self, session: &SessionRef) -> &[SessionRef] {
        self.children
            .get(session)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// Returns true if the session is known.
    pub fn knows(&self, session: &SessionRef) -> bool {
        self.parents.contains_key(session)
    }

    /// Returns the sessions without a known parent.
    pub fn roots(&self) -> impl Iterator<Item = &SessionRef> {
        self.parents
            .iter()
            .filter(|(_, parent)| parent.as_ref().is_none_or(|parent| !self.knows(parent)))
            .map(|(session, _)| session)
    }

    /// Returns the ancestors of a session, nearest first. The last one may be unknown.
    pub fn ancestors(&self, session: &SessionRef) -> Vec<SessionRef> {
        let mut found: Vec<SessionRef> = Vec::new();
        let mut seen = BTreeSet::from([session.clone()]);
        let mut next = self.parents.get(session).cloned().flatten();
        while let Some(parent) = next {
            if !seen.insert(parent.clone()) {
                break;
            }
            next = self.parents.get(&parent).cloned().flatten();
            found.push(parent);
        }
        found
    }
}

/// A step that cleans up a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanupStep {
    /// The session.
    pub session: SessionRef,
    /// The step.
    pub action: CleanupAction,
    /// Reason, for the user.
    pub why: String,
}

/// Kind of a clean-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CleanupAction {
    /// It gets another parent, or none.
    Adopt(Option<SessionRef>),
    /// It is closed.
    Close,
}

/// Plans the clean-up of orphans and of subagents that ended long ago. Sessions of the user are never
/// touched, and neither is one at work.
///
/// | session                                     | with open work               | without |
/// |---------------------------------------------|------------------------------|---------|
/// | its parent is closed or unknown             | adopted by the nearest       | closed  |
/// |                                             | ancestor that is not closed  |         |
/// | ended, and silent for longer than           | stays                        | closed  |
/// | `stale_after`                               |                              |         |
pub fn cleanup_steps(
    lives: &BTreeMap<SessionRef, Life>,
    forest: &Forest,
    now: Timestamp,
    thresholds: &Thresholds,
    has_open_work: &dyn Fn(&SessionRef) -> bool,
) -> Vec<CleanupStep> {
    let mut steps = Vec::new();
    for life in lives.values() {
        let Some(parent) = &life.parent else {
            continue;
        };
        if life.state == SessionState::Closed || life.state.is_busy() {
            continue;
        }
        let is_closed = |session: &SessionRef| {
            lives
                .get(session)
                .is_none_or(|life| life.state == SessionState::Closed)
        };
        let step = |action, why| CleanupStep {
            session: life.session.clone(),
            action,
            why,
        };
        let is_open = has_open_work(&life.session);
        let missing = if lives.contains_key(parent) {
            "closed"
        } else {
            "unknown"
        };
        if is_closed(parent) {
            let why = format!("its parent {parent} is {missing}");
            steps.push(if is_open {
                let ancestors = forest.ancestors(&life.session);
                let heir = ancestors.into_iter().find(|session| !is_closed(session));
                step(CleanupAction::Adopt(heir), why)
            } else {
                step(CleanupAction::Close, why)
            });
            continue;
        }
        let has_ended = matches!(
            life.state,
            SessionState::Completed | SessionState::Failed | SessionState::Interrupted
        );
        if has_ended && !is_open && life.status(now, thresholds).is_stale {
            let why = format!("it is {} and was silent for long", life.state.as_str());
            steps.push(step(CleanupAction::Close, why));
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::author::Author;
    use crate::event::{Event, Recorded};
    use crate::id::Seq;

    fn life(name: &str, parent: Option<&str>, state: SessionState) -> Life {
        let session: SessionRef = format!("opencode:{name}").parse().unwrap();
        let opened = Recorded {
            seq: Seq(1),
            batch: Seq(1),
            at: Timestamp(0),
            session: session.clone(),
            message: None,
            by: Author::Agent,
            event: Event::SessionOpened {
                session: session.clone(),
                worktree: None,
            },
        };
        let mut life = Life::begun(&session, &opened);
        life.parent = parent.map(|parent| format!("opencode:{parent}").parse().unwrap());
        life.state = state;
        life
    }

    fn name(session: &SessionRef) -> &str {
        session.id()
    }

    #[test]
    fn levels_follow_from_the_tree_whatever_the_order() {
        use SessionState::Executing as E;
        let mut lives = vec![
            life("d", Some("c"), E),
            life("b", Some("a"), E),
            life("c", Some("b"), E),
            life("a", None, E),
        ];
        for _ in 0..lives.len() {
            lives.rotate_left(1);
            let forest = Forest::of(&lives);
            let levels: Vec<(u64, u64, bool)> = ["a", "b", "c", "d"]
                .map(|id| {
                    let level = forest.level(&format!("opencode:{id}").parse().unwrap());
                    (level.number(), level.depth, level.is_leaf)
                })
                .to_vec();
            assert_eq!(
                levels,
                [(1, 0, false), (2, 1, false), (3, 2, false), (3, 3, true)]
            );
            let roots: Vec<&str> = forest.roots().map(name).collect();
            assert_eq!(roots, ["a"]);
        }
    }

    #[test]
    fn a_cycle_ends() {
        use SessionState::Executing as E;
        let lives = [life("a", Some("b"), E), life("b", Some("a"), E)];
        let forest = Forest::of(&lives);
        assert_eq!(forest.ancestors(&lives[0].session).len(), 1);
        assert!(forest.level(&lives[1].session).depth <= 1);
    }

    #[test]
    fn a_long_chain_of_sessions_is_measured() {
        let lives: Vec<Life> = (0..20_000)
            .map(|n: u32| {
                let parent = n.checked_sub(1).map(|n| format!("s{n}"));
                life(&format!("s{n}"), parent.as_deref(), SessionState::Executing)
            })
            .collect();
        let forest = Forest::of(&lives);
        assert_eq!(forest.level(&lives[19_999].session).depth, 19_999);
    }

    #[test]
    fn orphans_are_adopted_or_closed_and_the_users_sessions_stay() {
        use SessionState::{BetweenTurn, Closed, Completed, Executing, Interrupted};
        let lives: BTreeMap<SessionRef, Life> = [
            life("root", None, BetweenTurn),
            life("gone", Some("root"), Closed),
            life("unfinished", Some("gone"), Interrupted),
            life("finished", Some("gone"), Completed),
            life("busy", Some("gone"), Executing),
            life("stray", Some("never-seen"), Interrupted),
            life("fresh", Some("root"), Completed),
        ]
        .into_iter()
        .map(|life| (life.session.clone(), life))
        .collect();
        let forest = Forest::of(lives.values());
        let open = |session: &SessionRef| matches!(session.id(), "unfinished" | "stray");
        let plan = |now| {
            let steps = cleanup_steps(
                &lives,
                &forest,
                Timestamp(now),
                &Thresholds::default(),
                &open,
            );
            steps
                .into_iter()
                .map(|step| match step.action {
                    CleanupAction::Close => format!("close {}", step.session.id()),
                    CleanupAction::Adopt(heir) => {
                        let heir = heir.map_or("none".to_owned(), |heir| heir.id().to_owned());
                        format!("{} to {heir}", step.session.id())
                    }
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(
            plan(1),
            ["close finished", "stray to none", "unfinished to root"]
        );
        let later = Thresholds::default().stale_after + 1;
        assert!(plan(later).contains(&"close fresh".to_owned()));
    }
}
