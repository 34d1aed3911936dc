//! What a person looks at: `show`.

use serde::{Deserialize, Serialize};

/// `show`: something for a person to look at.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Show {
    /// The conversation, if one is open.
    #[serde(default)]
    #[cfg_attr(test, ts(optional))]
    pub session: Option<String>,
    /// `status` or `tree`.
    pub what: String,
}

/// The answer to `show`.
#[derive(Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Shown {
    /// The text.
    pub text: String,
}
