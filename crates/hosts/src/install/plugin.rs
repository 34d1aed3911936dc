//! The files of the OpenCode plugin, embedded in the binary: nothing has to be downloaded, and plugin
//! and sidecar are always from the same release.

/// The files by name. OpenCode runs TypeScript directly.
pub(super) const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/opencode_plugin.rs"));

/// The folder of the files. It identifies our entries, even those that the user wrote.
pub(super) const FOLDER: &str = "flamestack-opencode";
/// The file that OpenCode's server loads.
pub(super) const SERVER: &str = "index.ts";
/// The file that OpenCode's terminal interface loads.
pub(super) const TERMINAL: &str = "tui.tsx";

/// Returns true if the plugin has a part for the terminal interface.
pub(super) fn has_terminal() -> bool {
    FILES.iter().any(|(name, _)| *name == TERMINAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imported_files_are_embedded() {
        let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert!(names.contains(&SERVER), "{names:?}");
        for (name, text) in FILES {
            let imports = text.lines().filter(|line| line.contains(" from \"./"));
            for line in imports {
                let (_, from) = line.rsplit_once("\"./").unwrap();
                let stem = from.trim_end_matches(['"', ';']).trim_end_matches(".js");
                let exists = |ending: &str| names.contains(&format!("{stem}{ending}").as_str());
                assert!(exists(".ts") || exists(".tsx"), "{name}: {line}");
            }
        }
    }
}
