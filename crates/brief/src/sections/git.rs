//! Branch, uncommitted changes and the last commits.

use super::SHOWN;
use crate::draft::Draft;
use crate::facts::Facts;
use crate::{Heading, LineSource};

/// Number of commits that are shown.
const COMMITS: usize = 3;

pub(super) fn write(draft: &mut Draft, facts: &Facts<'_>) {
    let Some(git) = &facts.sources.git else {
        return;
    };
    let branch = match &git.branch {
        Some(branch) => format!("Branch `{branch}`"),
        None => "No branch".to_owned(),
    };
    let changes = match git.changed_total {
        0 => "no uncommitted changes".to_owned(),
        1 => "1 file with uncommitted changes".to_owned(),
        more => format!("{more} files with uncommitted changes"),
    };
    let status = format!("{branch}, {changes}.");
    draft.spare(Heading::Status, &status, LineSource::Git);
    for path in git.changed.iter().take(SHOWN) {
        draft.spare(Heading::ActiveFiles, path, LineSource::Git);
    }
    let omitted = git
        .changed_total
        .saturating_sub(git.changed.len().min(SHOWN));
    draft.omit(Heading::ActiveFiles, omitted);
    for commit in git.commits.iter().take(COMMITS).rev() {
        let text = format!("Commit {}: {}", commit.id, commit.subject);
        draft.spare(Heading::Completed, &text, LineSource::Git);
    }
}
