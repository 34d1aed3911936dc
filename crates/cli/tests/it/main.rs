//! The `flame` command, used the way people, scripts and accidents use it.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what helpers of a test expect, the test expects"
)]
#![expect(
    clippy::format_collect,
    clippy::too_many_lines,
    reason = "a story is as long as what is said in it"
)]

mod authors;
mod backup;
mod bad_input;
mod beside;
mod briefs;
mod context;
mod damage;
mod exchange;
mod fitting;
mod forget;
mod ground;
mod habits;
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(unix)]
mod init;
mod large;
mod lifecycle;
mod loops;
mod manners;
mod moments;
mod names;
mod newcomers;
mod nothing_lost;
mod own_recordings;
#[cfg(unix)]
mod permissions;
mod previous_build;
mod projects;
mod quality;
#[cfg(unix)]
mod read_only;
mod recorded;
mod refusals;
mod runs;
mod secrets;
mod session_command;
mod session_contract;
mod session_hand_off;
mod sessions;
mod settings;
mod sidecar;
mod story;
mod tools;
mod upkeep;
mod ward;
