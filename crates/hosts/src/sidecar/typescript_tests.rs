//! Generates the TypeScript of the protocol; `cargo xtask generate` runs it.

use std::path::Path;

use ts_rs::{Config, TS};

use super::wire::*;

const FILE: &str = "../../plugins/opencode/src/protocol.ts";

macro_rules! declarations {
    ($config:ident: $($kind:ty),* $(,)?) => {
        [$(declaration::<$kind>($config)),*].join("\n")
    };
}

fn declaration<T: TS>(config: &Config) -> String {
    let docs = T::docs().unwrap_or_default();
    format!("{docs}export {}\n", T::decl(config))
}

fn protocol() -> String {
    let config = &Config::default();
    let types = declarations!(config:
        HelloParams, Welcome, Placement, Isolation, SummaryMode, ToolDeclaration, CommandDeclaration,
        HostRole, ObserveParams, HostEvent, OriginalMessage, SessionFacts, TodoItem, HookStats,
        PromptParams, PromptResult, PrepareParams, ModelInfo, ModelLimit, RequestPlan,
        TextReplacement, Insertion, CallParams, ToolResult, Delegation, DelegateParams,
        DelegateResult, ChildResult, SummarizeParams, SummarizeResult, SummaryText,
        SummaryReplacement, ShowParams, ShowView, ShowResult, ResumeParams, ResumeResult,
        ContinuedSession, Notice,
    );
    format!(
        "// What crosses the pipe between a host's shim and the sidecar; see\n\
         // `docs/protocol.md`. Generated from crates/hosts/src/sidecar/wire by `cargo xtask generate`.\n\n\
         /** Version of the protocol. */\n\
         export const PROTOCOL = {PROTOCOL}\n\n\
         /** A message as OpenCode has it, without the fields that the sidecar does not read. */\n\
         export type HostMessage = {{ id: string, role: HostRole, parts: object[], [field: string]: unknown }}\n\n{types}"
    )
}

#[test]
fn the_typescript_is_made_from_the_types() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if std::env::var_os("FLAME_GENERATE").is_some() {
        fs_err::write(&file, protocol()).unwrap();
    }
    let found = fs_err::read_to_string(&file).unwrap();
    assert!(
        found == protocol(),
        "{FILE} is stale: run `cargo xtask generate`"
    );
}
