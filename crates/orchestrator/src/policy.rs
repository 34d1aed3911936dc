//! Policies for permissions: asked of the user, denied, or allowed by pattern.
//!
//! Nothing is ever allowed without a user or a policy that says so, and nothing waits unseen.

use crate::host::{Ask, AskKind, Reply};

/// Answer to permissions that the user did not give.
const DENIED: &str = "denied: no user is there to ask";

/// A policy for permissions and questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionPolicy {
    /// The user is asked; without a user everything is denied.
    Ask,
    /// Everything is denied.
    Deny,
    /// Everything that matches a pattern is allowed, the rest denied.
    Allow(Vec<(String, String)>),
}

/// A line of a policy that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the policy is not `permission: pattern`, such as `bash: git status*`")]
pub struct PolicyError {
    /// Number of the line.
    pub line: usize,
}

impl PermissionPolicy {
    /// Reads a list of what is allowed: `permission: pattern` per line, `*` for anything, `#` before a
    /// comment.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let mut allowed = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let rule = line.split_once(':').filter(|(name, _)| !name.contains(' '));
            let Some((permission, pattern)) = rule else {
                return Err(PolicyError { line: number });
            };
            allowed.push((permission.trim().to_owned(), pattern.trim().to_owned()));
        }
        Ok(Self::Allow(allowed))
    }

    /// Answers an ask; `None` if the user has to.
    pub fn reply(&self, ask: &Ask) -> Option<Reply> {
        match (self, &ask.kind) {
            (Self::Ask, _) => None,
            (
                Self::Allow(allowed),
                AskKind::Permission {
                    permission,
                    patterns,
                },
            ) => {
                let fits = |subject: &str| {
                    allowed.iter().any(|(name, pattern)| {
                        matches(name, permission) && matches(pattern, subject)
                    })
                };
                // An ask without patterns is about the permission as a whole.
                let granted = if patterns.is_empty() {
                    fits("")
                } else {
                    patterns.iter().all(|pattern| fits(pattern))
                };
                Some(if granted {
                    Reply::Once
                } else {
                    Reply::Reject("denied by the policy of this run".to_owned())
                })
            }
            _ => Some(Self::denial()),
        }
    }

    /// Returns the answer where no user can be asked.
    pub fn denial() -> Reply {
        Reply::Reject(DENIED.to_owned())
    }
}

/// Matches a text against a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(first) = pieces.next() else {
        return text.is_empty();
    };
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = rest.get(at + piece.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permission(name: &str, patterns: &[&str]) -> Ask {
        Ask {
            id: "per_1".to_owned(),
            session: "ses_1".to_owned(),
            kind: AskKind::Permission {
                permission: name.to_owned(),
                patterns: patterns.iter().map(|one| (*one).to_owned()).collect(),
            },
        }
    }

    #[test]
    fn patterns_match_whole_texts() {
        assert!(matches("git *", "git status"));
        assert!(matches("*", ""));
        assert!(matches("a*b*c", "a-b-b-c"));
        assert!(!matches("git *", "sudo git status"));
        assert!(!matches("git status", "git status && rm -rf /"));
        assert!(!matches("a*bb", "ab"));
    }

    #[test]
    fn only_what_a_pattern_names_is_allowed() {
        let policy = PermissionPolicy::parse("# mine\nbash: git *\nedit: src/*\n").unwrap();
        let allowed = |ask| policy.reply(&ask) == Some(Reply::Once);
        assert!(allowed(permission("bash", &["git status"])));
        assert!(!allowed(permission("bash", &["git status", "rm x"])));
        assert!(!allowed(permission("external_directory", &["/etc"])));
        assert!(!allowed(permission("edit", &[])));
        assert_eq!(
            PermissionPolicy::parse("bash git").unwrap_err(),
            PolicyError { line: 1 }
        );
    }

    #[test]
    fn deny_denies_and_ask_leaves_it_to_the_user() {
        let ask = permission("bash", &["ls"]);
        assert!(matches!(
            PermissionPolicy::Deny.reply(&ask),
            Some(Reply::Reject(_))
        ));
        assert_eq!(PermissionPolicy::Ask.reply(&ask), None);
    }
}
