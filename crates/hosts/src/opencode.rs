//! OpenCode's own messages, read in one place for live and recorded sessions.
//!
//! The plugin forwards messages and parts as OpenCode has them (see `docs/protocol.md`), and its
//! database holds the same JSON, so both are read by `message` and become entries in
//! `entries`.

pub(crate) mod commands;
pub(crate) mod entries;
pub(crate) mod message;

use flamestack_core::transcript::Entry;
use serde_json::Value;

use self::entries::{Source, entries};
use self::message::{HostMessage, HostPart};

/// Converts messages that OpenCode's server has stored (`{info, parts}`), of a session whose prompts are not the
/// user's words: another program drives it.
pub fn stored_entries(messages: &[Value], directory: &str) -> Vec<Entry> {
    let source = Source::Recorded {
        directory,
        is_subagent: true,
    };
    let read = |stored: &Value| {
        let info = stored.get("info")?;
        let id = info.get("id")?.as_str()?.to_owned();
        let parts = stored.get("parts").and_then(Value::as_array);
        let parts = parts.into_iter().flatten().filter_map(|part| {
            let id = part.get("id").and_then(Value::as_str).unwrap_or_default();
            HostPart::read(id.to_owned(), part.clone())
        });
        HostMessage::read(id, info, parts.collect())
    };
    let messages = messages.iter().filter_map(read);
    messages
        .flat_map(|message| entries(&message, source))
        .collect()
}

/// The beginnings of the texts that Flamestack adds to a session. The plugin gets them from here.
pub const OWN_TEXTS: [&str; 3] = ["<stack-update", "<stack-context", "<frame-results"];

/// Maximum number of output tokens that OpenCode allows for, whatever the model can do.
const MAX_OUTPUT: u64 = 32_000;
/// Maximum number of tokens that OpenCode reserves where a model has an input limit of its own.
const MAX_RESERVE: u64 = 20_000;

/// Returns true if Flamestack added this text to a session.
pub(crate) fn is_own(text: &str) -> bool {
    let text = text.trim_start();
    OWN_TEXTS.iter().any(|start| text.starts_with(start))
}

/// Returns the number of tokens a prompt may have before OpenCode compacts it, by OpenCode's rule;
/// `None` if the model has no limit.
pub(crate) fn usable_window(context: u64, input: u64, output: u64) -> Option<u64> {
    let output = match output {
        0 => MAX_OUTPUT,
        output => output.min(MAX_OUTPUT),
    };
    let usable = match input {
        0 => context.saturating_sub(output),
        input => input.saturating_sub(output.min(MAX_RESERVE)),
    };
    (usable > 0).then_some(usable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usable_window_follows_the_hosts_rule() {
        assert_eq!(usable_window(200_000, 0, 8_000), Some(192_000));
        assert_eq!(usable_window(200_000, 0, 64_000), Some(168_000));
        assert_eq!(usable_window(200_000, 0, 0), Some(168_000));
        assert_eq!(usable_window(400_000, 272_000, 128_000), Some(252_000));
        assert_eq!(usable_window(0, 0, 0), None);
    }
}
