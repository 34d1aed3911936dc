//! Makes suggestions at boundaries of the work, follows what becomes of them, and acts where the user
//! lets it.
//!
//! Nothing is suggested after an interruption, while subagents run, or on a call that the user
//! rejected, and no model is ever prompted.

use std::collections::BTreeMap;

use crate::autonomy::heuristics::{Assessment, Calibration, Judgement, WorkSignals, judge};
use flamestack_core::autonomy::{
    AdviceKind, AutonomyLevel, Boundary, Heuristic, Suggestion, SuggestionState, Tally,
};
use flamestack_core::frame::Origin;
use flamestack_core::id::{Fingerprint, Seq};
use flamestack_core::text::condense;
use flamestack_core::{Actor, Command, Event, Outcome, Recorded, Session, SessionRef, Text, Title};

use super::policy::{AutonomyPolicy, FEWEST_CASES};
use super::wording::{acted, announced};
use crate::Engine;
use crate::error::{EngineError, Result};
use crate::request::{GoalInput, ParentInput, Request};
use crate::workspace::lock;

/// Maximum length of a title derived from a message, in characters.
const TITLE: usize = 80;
/// Rules on which a frame is closed without being asked: recorded proof, or the host's own word.
const PROVEN: [&str; 2] = ["criteria met", "host says so"];

/// Suggests and acts.
#[derive(Clone, Copy)]
pub struct Autonomy<'e> {
    pub(crate) engine: &'e Engine,
}

/// Something for the user to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The suggestion, or the act.
    pub suggestion: Suggestion,
    /// The text.
    pub text: String,
}

impl Autonomy<'_> {
    /// Returns the user's choices. They are read again if a settings file has changed; the environment of a
    /// process stays the same.
    pub fn policy(&self) -> Result<AutonomyPolicy> {
        let mut known = lock(&self.engine.policy);
        if let Some((_, policy)) = known.as_ref().filter(|(from, _)| from.are_current()) {
            return Ok(policy.clone());
        }
        let settings = self.engine.settings()?;
        let policy = AutonomyPolicy::from_settings(&settings)?;
        *known = Some((settings.sources().clone(), policy.clone()));
        Ok(policy)
    }

    /// Returns the counts of all heuristics in this project.
    pub fn tallies(&self) -> Result<BTreeMap<Heuristic, Tally>> {
        self.engine
            .read(|reading| Ok(reading.suggestion_tallies()?))
    }

    /// Returns the heuristics that turned themselves off, because they were wrong too often here.
    pub fn turned_off(&self) -> Result<Vec<(Heuristic, Tally)>> {
        let least = self.policy()?.min_precision;
        let mut found: Vec<_> = self.tallies()?.into_iter().collect();
        found.retain(|(_, tally)| tally.is_too_low(least, FEWEST_CASES));
        Ok(found)
    }

    /// Judges signals for a caller that asks: every heuristic answers that the user did not turn off.
    pub fn judge(&self, kind: AdviceKind, signals: &WorkSignals) -> Result<Judgement> {
        let policy = self.policy()?;
        let uses = |heuristic| policy.answers(heuristic);
        Ok(judge(kind, signals, &Calibration::default(), &uses))
    }

    /// Considers a suggestion if the session has come to a boundary since the last time.
    pub fn consider(&self, actor: &Actor) -> Result<Option<Announcement>> {
        let Some(boundary) = self.engine.take_boundary(&actor.session) else {
            return Ok(None);
        };
        let policy = self.policy()?;
        if policy.level == AutonomyLevel::Manual {
            return Ok(None);
        }
        let Some(known) = self.engine.session(&actor.session)? else {
            return Ok(None);
        };
        self.settle_known(actor, known.activity.prompts)?;
        // A subagent's work is its parent's, and after an interruption the user speaks first.
        if known.is_started_by_another() || known.activity.interrupted {
            return Ok(None);
        }
        let (signals, asked) = self.current(&known)?;
        let signals = self.completed(&known, signals)?;
        if signals.is_held() {
            return Ok(None);
        }
        let Some((judgement, first)) = self.candidate(&policy, &known, &signals)? else {
            return Ok(None);
        };
        let suggestion = self.suggestion(&known, &signals, &judgement, &first, boundary, asked)?;
        let Some(suggestion) = suggestion else {
            return Ok(None);
        };
        let is_proven = first
            .rule
            .and_then(|rule| crate::autonomy::heuristics::RULES.get(rule));
        let is_proven = is_proven.is_some_and(|rule| PROVEN.contains(&rule.name));
        let may_act = match suggestion.kind {
            AdviceKind::Push => true,
            AdviceKind::Pop => is_proven && self.works_on_pushed(&known)?,
        };
        if policy.level == AutonomyLevel::Auto && may_act {
            return self.act_by_itself(actor, suggestion);
        }
        self.record(actor, &suggestion)?;
        let text = announced(&suggestion);
        Ok(Some(Announcement { suggestion, text }))
    }

    /// Returns the strongest advice that is sure enough and was not given before.
    fn candidate(
        &self,
        policy: &AutonomyPolicy,
        known: &Session,
        signals: &WorkSignals,
    ) -> Result<Option<(Judgement, Assessment)>> {
        // Without a heuristic the score can only be lower: most events need no look into the store.
        let is_sure = |kind: &AdviceKind| {
            let speaks = |heuristic| policy.speaks(heuristic);
            let judgement = judge(*kind, signals, &Calibration::default(), &speaks);
            judgement.score >= policy.threshold(*kind)
        };
        if !AdviceKind::ALL.iter().any(is_sure) {
            return Ok(None);
        }
        let (tallies, is_quiet) = self.engine.read(|reading| {
            let snoozed = reading.snoozed_until(&known.key)? > known.activity.prompts;
            let newest = reading.suggestions(Some(&known.key), 1)?;
            let is_pending = newest
                .iter()
                .any(|(_, state)| *state == SuggestionState::Pending);
            Ok((reading.suggestion_tallies()?, snoozed || is_pending))
        })?;
        if is_quiet {
            return Ok(None);
        }
        let is_low = |heuristic: Heuristic| {
            let tally = tallies.get(&heuristic);
            tally.is_some_and(|tally| tally.is_too_low(policy.min_precision, FEWEST_CASES))
        };
        let uses = |heuristic| policy.speaks(heuristic) && !is_low(heuristic);
        let mut best: Option<(Judgement, Assessment)> = None;
        for kind in AdviceKind::ALL {
            let judgement = judge(kind, signals, &Calibration::default(), &uses);
            let Some(first) = judgement.strongest().cloned() else {
                continue;
            };
            let is_sure = judgement.score >= policy.threshold(kind);
            let is_better = best
                .as_ref()
                .is_none_or(|(other, _)| judgement.score > other.score);
            if is_sure && is_better && !self.was_given(known, &first)? {
                best = Some((judgement, first));
            }
        }
        Ok(best)
    }

    fn was_given(&self, known: &Session, first: &Assessment) -> Result<bool> {
        let Some(key) = key_of(known, first) else {
            return Ok(true);
        };
        self.engine
            .read(|reading| Ok(reading.is_suggested(&known.key, key)?))
    }

    fn suggestion(
        &self,
        known: &Session,
        signals: &WorkSignals,
        judgement: &Judgement,
        first: &Assessment,
        boundary: Boundary,
        asked: String,
    ) -> Result<Option<Suggestion>> {
        let (Some(key), Some(proof)) = (key_of(known, first), &first.proof) else {
            return Ok(None);
        };
        let Ok(evidence) = Text::new(&condense(&proof.line, 400)) else {
            return Ok(None);
        };
        let title = match first.heuristic {
            Heuristic::FailureBoundary => {
                let error = signals.errors.worst().map(|(error, _)| error);
                format!("Fix: {}", error.unwrap_or("the error"))
            }
            _ => asked,
        };
        let title = Title::new(&condense(&title, TITLE)).ok();
        let tokens = signals.tokens.unwrap_or_default();
        let (reached, sessions) = self
            .engine
            .read(|reading| Ok(reading.sessions_of_size(tokens.max(1))?))?;
        let folds = judgement.kind == AdviceKind::Pop && self.works_on_pushed(known)?;
        Ok(Some(Suggestion {
            kind: judgement.kind,
            heuristic: first.heuristic,
            score: u64::from(judgement.score),
            key,
            evidence,
            frame: known.frame(),
            outcome: judgement.outcome,
            title: title.filter(|_| judgement.kind == AdviceKind::Push),
            boundary,
            saves: if folds {
                tokens.saturating_sub(signals.tokens_before)
            } else {
                0
            },
            reached,
            sessions,
            prompts: known.activity.prompts,
            is_automatic: false,
        }))
    }

    /// Returns true if the session works on a frame that was pushed, which a pop can close.
    fn works_on_pushed(&self, known: &Session) -> Result<bool> {
        let Some(active) = known.active.filter(|active| Some(*active) != known.own) else {
            return Ok(false);
        };
        let head = self.engine.read(|reading| Ok(reading.frame(&active)?))?;
        Ok(head.is_some_and(|head| head.origin == Origin::Asked))
    }

    fn record(&self, actor: &Actor, suggestion: &Suggestion) -> Result<Option<Seq>> {
        let made = Command::Suggest(Box::new(suggestion.clone()));
        let receipt = self.engine.commands().run(actor, &made)?;
        let is_made = |event: &&Recorded| matches!(event.event, Event::SuggestionMade(_));
        Ok(receipt.events.iter().find(is_made).map(|event| event.seq))
    }

    /// Acts at the level `auto`: the evidence is recorded first, and the act is a command of its own,
    /// so that one undo takes it back.
    fn act_by_itself(&self, actor: &Actor, suggestion: Suggestion) -> Result<Option<Announcement>> {
        let suggestion = Suggestion {
            is_automatic: true,
            ..suggestion
        };
        let Some(seq) = self.record(actor, &suggestion)? else {
            return Ok(None);
        };
        match self.act(actor, &suggestion) {
            Ok(()) => {
                let text = acted(&suggestion);
                Ok(Some(Announcement { suggestion, text }))
            }
            Err(error) => {
                tracing::info!(session = %actor.session, "not acted: {error}");
                self.answer(actor, seq, SuggestionState::Expired)?;
                Ok(None)
            }
        }
    }

    fn act(&self, actor: &Actor, suggestion: &Suggestion) -> Result<()> {
        let request = match suggestion.kind {
            AdviceKind::Push => Request::Push {
                parent: ParentInput::Active,
                goal: GoalInput {
                    title: suggestion
                        .title
                        .as_ref()
                        .map_or_else(|| "Next task".to_owned(), |title| title.as_str().to_owned()),
                    ..GoalInput::default()
                },
            },
            AdviceKind::Pop => Request::Pop {
                frame: suggestion.frame.map(|frame| frame.to_string()),
                outcome: suggestion.outcome.unwrap_or(Outcome::Completed),
                results: format!("Closed on evidence: {}.", suggestion.evidence.as_str()),
                compacted: None,
            },
        };
        self.engine.commands().execute(actor, &request)?;
        Ok(())
    }

    /// Does what the pending suggestion of a session says. Accepting it again changes nothing.
    pub fn accept(&self, actor: &Actor) -> Result<Suggestion> {
        self.settle(actor)?;
        let (seq, suggestion) = self.pending(&actor.session)?.ok_or_else(nothing_pending)?;
        self.act(actor, &suggestion)?;
        self.answer(actor, seq, SuggestionState::Acted)?;
        Ok(suggestion)
    }

    /// Dismisses the pending suggestion of a session: its evidence is not suggested again.
    pub fn dismiss(&self, actor: &Actor) -> Result<Suggestion> {
        self.settle(actor)?;
        let (seq, suggestion) = self.pending(&actor.session)?.ok_or_else(nothing_pending)?;
        self.answer(actor, seq, SuggestionState::Dismissed)?;
        Ok(suggestion)
    }

    /// Makes no suggestions in a session for a number of its prompts.
    pub fn snooze(&self, actor: &Actor, prompts: u64) -> Result<()> {
        let known = self.engine.session(&actor.session)?;
        let now = known.map_or(0, |known| known.activity.prompts);
        let until = if prompts == 0 {
            0
        } else {
            now.saturating_add(prompts)
        };
        let snooze = Command::Snooze { until };
        self.engine.commands().run(actor, &snooze)?;
        Ok(())
    }

    /// Begins the counts of all heuristics again.
    pub fn reset(&self, actor: &Actor) -> Result<()> {
        self.engine
            .commands()
            .run(actor, &Command::ResetSuggestions)?;
        Ok(())
    }

    /// Returns the suggestion of a session that waits for an answer.
    pub fn pending(&self, session: &SessionRef) -> Result<Option<(Seq, Suggestion)>> {
        let newest = self.history(Some(session), 1)?;
        let pending = newest
            .into_iter()
            .find(|(_, _, state)| *state == SuggestionState::Pending);
        Ok(pending.map(|(seq, suggestion, _)| (seq, suggestion)))
    }

    /// Returns suggestions with their states, newest first.
    pub fn history(
        &self,
        session: Option<&SessionRef>,
        limit: usize,
    ) -> Result<Vec<(Seq, Suggestion, SuggestionState)>> {
        let found = self
            .engine
            .read(|reading| Ok(reading.suggestions(session, limit)?))?;
        let made = found
            .into_iter()
            .filter_map(|(recorded, state)| match recorded.event {
                Event::SuggestionMade(suggestion) => Some((recorded.seq, *suggestion, state)),
                _ => None,
            });
        Ok(made.collect())
    }

    pub(super) fn answer(
        &self,
        actor: &Actor,
        suggestion: Seq,
        state: SuggestionState,
    ) -> Result<()> {
        let answer = Command::AnswerSuggestion { suggestion, state };
        self.engine.commands().run(actor, &answer)?;
        Ok(())
    }
}

/// Identifies evidence in a session: the same evidence in another frame is another one.
fn key_of(known: &Session, first: &Assessment) -> Option<Fingerprint> {
    let proof = first.proof.as_ref()?;
    let frame = known.frame().map(|frame| frame.to_string());
    let name = format!(
        "{} {} {}",
        first.heuristic.as_str(),
        frame.unwrap_or_default(),
        proof.key
    );
    Some(Fingerprint::of(&known.key, "suggestion", &name))
}

fn nothing_pending() -> EngineError {
    EngineError::BadInput("no suggestion is pending in this session".to_owned())
}
