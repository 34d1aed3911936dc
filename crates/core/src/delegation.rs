//! Delegation: the call stack of agents, and the depth at which it is too deep.
//!
//! The depth is the number of agents above one in the tree of sessions. It is derived, never counted: a
//! counter that misses one end is wrong forever.

use crate::id::SessionRef;

/// Beginning of the answer to a delegation that is refused.
pub const NOT_MADE: &str = "This delegation was not made";

/// An agent in a call stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackedAgent {
    /// Its session.
    pub session: SessionRef,
    /// Its name in the host, where that is known.
    pub agent: Option<String>,
}

impl StackedAgent {
    /// Returns the name of the agent, else that of its session.
    pub fn name(&self) -> String {
        let session = || self.session.to_string();
        self.agent.clone().unwrap_or_else(session)
    }
}

/// Maximum depth of delegation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelegationLimit {
    /// Maximum number of agents above one; none for no limit.
    pub max_depth: Option<u64>,
    /// True if a delegation beyond it is refused, false if the user is only informed.
    pub denies: bool,
}

impl Default for DelegationLimit {
    /// Warns beyond three.
    fn default() -> Self {
        Self {
            max_depth: Some(3),
            denies: false,
        }
    }
}

/// Judgement of a delegation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DelegationVerdict {
    /// It is within the limit.
    Allowed,
    /// It is beyond the limit; the reason is for the user.
    Warned(String),
    /// It is refused; the reason is for the model.
    Denied(String),
}

impl DelegationLimit {
    /// Judges a delegation by the last agent of a call stack, which begins with the session that the
    /// user works in.
    pub fn judge(&self, stack: &[StackedAgent], to: Option<&str>) -> DelegationVerdict {
        let depth = stack.len() as u64;
        let Some(most) = self.max_depth.filter(|most| depth > *most) else {
            return DelegationVerdict::Allowed;
        };
        let mut names: Vec<String> = stack.iter().map(StackedAgent::name).collect();
        names.push(to.unwrap_or("another agent").to_owned());
        let path = names.join(" > ");
        if self.denies {
            return DelegationVerdict::Denied(format!(
                "{NOT_MADE}: it would be {depth} deep ({path}), and the limit is {most} \
                 (`delegation.max_depth`). Do the work here, or return it to the agent that asked for it."
            ));
        }
        DelegationVerdict::Warned(format!(
            "Agents delegate {depth} deep: {path}. The limit is {most} (`delegation.max_depth`); \
             `delegation.at_limit = deny` refuses it."
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(depth: usize) -> Vec<StackedAgent> {
        (0..depth)
            .map(|nth| StackedAgent {
                session: format!("opencode:s{nth}").parse().unwrap(),
                agent: (nth > 0).then(|| format!("agent{nth}")),
            })
            .collect()
    }

    #[test]
    fn three_agents_may_be_above_one() {
        let limit = DelegationLimit::default();
        for depth in 0..=3 {
            let verdict = limit.judge(&stack(depth), Some("builder"));
            assert_eq!(verdict, DelegationVerdict::Allowed, "{depth}");
        }
        let DelegationVerdict::Warned(why) = limit.judge(&stack(4), Some("builder")) else {
            panic!("beyond the limit");
        };
        assert!(
            why.contains("4 deep: opencode:s0 > agent1 > agent2 > agent3 > builder"),
            "{why}"
        );
    }

    #[test]
    fn a_refusal_has_a_reason_and_a_way_out() {
        let limit = DelegationLimit {
            max_depth: Some(1),
            denies: true,
        };
        let DelegationVerdict::Denied(why) = limit.judge(&stack(2), None) else {
            panic!("beyond the limit");
        };
        assert!(
            why.contains("the limit is 1") && why.contains("Do the work here"),
            "{why}"
        );
        let none = DelegationLimit {
            max_depth: None,
            ..limit
        };
        assert_eq!(none.judge(&stack(60), None), DelegationVerdict::Allowed);
    }
}
