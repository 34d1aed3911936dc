//! Slash commands that Flamestack offers to the user of a host.

use flamestack_engine::ingest::OWN_COMMAND;

use crate::sidecar::wire::CommandDeclaration;

/// Placeholder for the user's argument in a template.
const ARGUMENTS: &str = "$ARGUMENTS";

/// Returns the commands that a host offers to its user.
pub fn commands() -> Vec<CommandDeclaration> {
    [
        (
            "push",
            "Open a frame for a piece of work",
            "Open a frame with stack_frame_push for this piece of work, then begin: $ARGUMENTS",
        ),
        (
            "pop",
            "Close the active frame with its results",
            "Close the active frame with stack_frame_pop: its status, and results that stand on \
             their own. $ARGUMENTS",
        ),
        (
            "session-new",
            "Make a linked session: PURPOSE [--agent NAME] [--phase NAME]",
            "The session for this was made and is linked to this one. Confirm it in one line, and \
             do nothing else here: $ARGUMENTS",
        ),
        (
            "plan",
            "Plan the steps of the active frame",
            "Plan the steps towards this with stack_frame_plan_children, without beginning any \
             of them: $ARGUMENTS",
        ),
    ]
    .map(|(name, description, template)| CommandDeclaration {
        name: name.to_owned(),
        description: description.to_owned(),
        template: template.to_owned(),
    })
    .into()
}

/// Returns the command that the user typed, if a prompt is one of our templates: the template is not
/// what the user said, and its argument is.
pub(crate) fn typed(prompt: &str) -> Option<String> {
    let prompt = prompt.trim();
    commands().into_iter().find_map(|command| {
        let (before, after) = command.template.split_once(ARGUMENTS)?;
        let argument = if prompt == before.trim_end() {
            ""
        } else {
            prompt.strip_prefix(before)?.strip_suffix(after)?
        };
        let line = format!("{OWN_COMMAND}{} {}", command.name, argument.trim());
        Some(line.trim_end().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_what_the_user_typed() {
        for command in commands() {
            let prompt = command.template.replace(ARGUMENTS, "two steps\nor three");
            let line = format!("/flame:{} two steps\nor three", command.name);
            assert_eq!(typed(&prompt), Some(line));
            let prompt = command.template.replace(ARGUMENTS, "");
            assert_eq!(typed(&prompt), Some(format!("/flame:{}", command.name)));
            let prompt = command.template.replace(ARGUMENTS, "").trim().to_owned();
            assert_eq!(typed(&prompt), Some(format!("/flame:{}", command.name)));
        }
        assert_eq!(typed("Open a frame, then begin: now"), None);
    }
}
