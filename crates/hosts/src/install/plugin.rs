//! The OpenCode plugin's files, which the binary carries: nothing has to be downloaded, and the
//! plugin and the sidecar are of one release.

/// The files by name: TypeScript, which OpenCode runs as it is.
pub(super) const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/opencode_plugin.rs"));

/// The folder that the files go to. Entries are recognised by it, whoever wrote them.
pub(super) const FOLDER: &str = "flamestack-opencode";
/// What the server loads.
pub(super) const SERVER: &str = "index.ts";
/// What the terminal interface loads, where there is such a file.
pub(super) const TERMINAL: &str = "tui.tsx";

/// Whether there is something for the terminal interface.
pub(super) fn has_terminal() -> bool {
    FILES.iter().any(|(name, _)| *name == TERMINAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_imported_is_carried() {
        let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert!(names.contains(&SERVER), "{names:?}");
        for (name, text) in FILES {
            // A type is gone when the file runs; everything else has to be there.
            let imports = text.lines().filter(|line| line.contains(" from \"./"));
            for line in imports {
                let (_, from) = line.rsplit_once("\"./").unwrap();
                let stem = from.trim_end_matches(['"', ';']).trim_end_matches(".js");
                let there = |ending: &str| names.contains(&format!("{stem}{ending}").as_str());
                assert!(there(".ts") || there(".tsx"), "{name}: {line}");
            }
        }
    }
}
