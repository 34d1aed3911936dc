//! The call stack of agents, and the judgement of delegations by the settings.

use flamestack_core::SessionRef;
use flamestack_core::delegation::{DelegationLimit, DelegationVerdict, StackedAgent};
use flamestack_store::Reading;

use crate::Engine;
use crate::error::Result;
use crate::settings::{Settings, ValueOrigin};

/// Maximum length of a call stack; a longer one is cut at the top.
const DEEPEST: usize = 64;

/// Returns the agents from the session that the user works in down to a session.
pub(crate) fn call_stack(reading: &dyn Reading, session: &SessionRef) -> Result<Vec<StackedAgent>> {
    let mut stack: Vec<StackedAgent> = Vec::new();
    let mut next = Some(session.clone());
    while let Some(key) = next.take()
        && stack.len() < DEEPEST
        // A host that names a session as its own ancestor is wrong.
        && !stack.iter().any(|known| known.session == key)
    {
        let known = reading.session(&key)?;
        let run = known.as_ref().and_then(|known| known.run.as_ref());
        // As levels are shown: the host's word, unless a command chose another parent.
        next = reading.life(&key)?.and_then(|life| life.parent);
        let kind = run.and_then(|run| Some(run.kind.as_ref()?.as_str().to_owned()));
        let agent = known
            .as_ref()
            .and_then(|known| Some(known.description.agent.as_ref()?.as_str().to_owned()));
        stack.push(StackedAgent {
            session: key,
            agent: kind.or(agent),
        });
    }
    stack.reverse();
    Ok(stack)
}

/// Returns the limit of the settings. `host` is the limit that the user gave the host, which counts
/// unless the user gave Flamestack one.
fn limit(settings: &Settings, host: Option<u64>) -> Result<DelegationLimit> {
    let key = "delegation.max_depth";
    let is_set = settings.get(key)?.origin != ValueOrigin::BuiltIn;
    let own = settings.number(key)?;
    let most = host.filter(|_| !is_set).unwrap_or(own);
    Ok(DelegationLimit {
        max_depth: Some(most).filter(|most| *most > 0),
        denies: settings.get("delegation.at_limit")?.text.trim() == "deny",
    })
}

impl Engine {
    /// Judges a delegation by a session to an agent.
    pub fn judge_delegation(
        &self,
        session: &SessionRef,
        to: Option<&str>,
        host_limit: Option<u64>,
    ) -> Result<DelegationVerdict> {
        let limit = limit(&self.settings()?, host_limit)?;
        let stack = self.read(|reading| call_stack(reading, session))?;
        Ok(limit.judge(&stack, to))
    }
}
