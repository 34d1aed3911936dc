//! The TypeScript of the protocol, made from its types; `cargo xtask generate` writes it.

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
        Hello, Welcome, Direct, Placement, Isolation, ToolDeclaration, CommandDeclaration, Message, Role, Part,
        CallState, Usage, Observe, Happening, Original, SessionFacts, TodoItem, HookFigures, Prompt, Prompted,
        Prepare, Model, Prepared, Rewriting, Insertion, Call, Called, Delegation, Delegating, Delegated,
        Returned,
        Summaries, Summarizing, Instructions, Written, Rewritten, Show, Shown,
    );
    format!(
        "// What crosses the pipe between a host's shim and the sidecar; `docs/protocol.md` tells the\n\
         // story. Made from crates/hosts/src/sidecar/wire by `cargo xtask generate`.\n\n\
         /** Which version of the protocol this is. */\n\
         export const PROTOCOL = {PROTOCOL}\n\n{types}"
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
