//! A placeholder for an npm installation, so that OpenCode's first request does not wait for npm.
//!
//! If any plugin is configured, OpenCode installs `@opencode-ai/plugin` into each of its configuration
//! folders before it answers. That takes about a minute, and longer without a network. Our plugin does
//! not import the package, so the installation is useless for it.
//!
//! OpenCode skips the installation if `node_modules` exists and if the lock file lists the package
//! along with everything that `package.json` depends on. It does not check the content of
//! `node_modules`. So an empty `node_modules` and a forged `package.json` and `package-lock.json` are
//! enough. `package.json` says where it comes from and how to replace it by the real thing.
//!
//! A folder with packages, plugins or tools of the user may need the real package and is left alone.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::change;
use super::entry::{Document, PluginEntry};
use super::error::InstallError;

/// The package that OpenCode installs.
pub(super) const PACKAGE: &str = "@opencode-ai/plugin";

const PACKAGE_JSON: &str = r#"{
  "private": true,
  "description": "Made by `flame init`: spares OpenCode's first request an npm install. Run `npm install` here if plugins or tools of your own need @opencode-ai/plugin.",
  "dependencies": {
    "@opencode-ai/plugin": "*"
  }
}
"#;

const LOCK: &str = r#"{
  "lockfileVersion": 3,
  "packages": {
    "": {
      "dependencies": {
        "@opencode-ai/plugin": "*"
      }
    }
  }
}
"#;

/// The files that OpenCode itself keeps out of a repository.
const IGNORE: &str = "node_modules\npackage.json\npackage-lock.json\nbun.lock\n.gitignore\n";

/// The files of the placeholder, by name.
pub(super) const FILES: [(&str, &str); 2] =
    [("package.json", PACKAGE_JSON), ("package-lock.json", LOCK)];
/// The file that keeps the placeholder out of a repository.
pub(super) const GITIGNORE: (&str, &str) = (".gitignore", IGNORE);
/// The folder of the placeholder, which stays empty.
pub(super) const MODULES: &str = "node_modules";

/// The folders of the user's plugins and tools, which may import the package.
const USER_FOLDERS: [&str; 4] = ["plugin", "plugins", "tool", "tools"];

/// The state of a configuration folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FolderState {
    /// It has no packages, or an incomplete placeholder.
    NeedsPlaceholder,
    /// The package is installed.
    Installed,
    /// It has packages, plugins or tools of the user, so it is left to the user.
    HasUserContent(&'static str),
    /// It has a placeholder, and the user has added plugins or tools since.
    PlaceholderWithUserContent,
}

/// Determines the state of a configuration folder.
pub(super) fn inspect(folder: &Path, entry: &PluginEntry) -> Result<FolderState, InstallError> {
    let [package, lock] = FILES.map(|(name, _)| change::read(&folder.join(name)));
    let (package, lock) = (package?, lock?);
    let modules = folder.join(MODULES);
    let is_placeholder = [(&package, PACKAGE_JSON), (&lock, LOCK)]
        .iter()
        .all(|(existing, placeholder)| existing.as_ref().is_none_or(|text| text == placeholder));
    if is_placeholder && is_empty(&modules) {
        return Ok(match (has_user_plugins(folder, entry), package.is_some()) {
            (true, true) => FolderState::PlaceholderWithUserContent,
            (true, false) => FolderState::HasUserContent("plugins or tools"),
            (false, _) => FolderState::NeedsPlaceholder,
        });
    }
    if modules.is_dir() && lock_is_complete(package.as_deref(), lock.as_deref()) {
        return Ok(FolderState::Installed);
    }
    Ok(FolderState::HasUserContent("packages"))
}

/// Returns true if git would list the placeholder as untracked.
pub(super) fn is_visible_to_git(gitignore: &str) -> bool {
    let lines: BTreeSet<&str> = gitignore
        .lines()
        .map(|line| line.trim().trim_start_matches('/'))
        .collect();
    !lines.contains("*") && FILES.iter().any(|(name, _)| !lines.contains(name))
}

fn is_empty(folder: &Path) -> bool {
    fs_err::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

/// Returns true if there are other plugins or tools, which may import the package.
fn has_user_plugins(folder: &Path, entry: &PluginEntry) -> bool {
    let lists_others = |name: &str| {
        let path = folder.join(name);
        let others = change::read(&path).and_then(|text| match text {
            Some(text) => Document::parse(&path, &text)?.count_others(entry),
            None => Ok(0),
        });
        // A file that cannot be parsed may list anything.
        others.map_or(true, |count| count > 0)
    };
    USER_FOLDERS
        .iter()
        .any(|name| !is_empty(&folder.join(name)))
        || super::opencode::CONFIGS
            .iter()
            .any(|name| lists_others(name))
}

/// Returns true if the lock file lists the package and all dependencies in `package.json`.
fn lock_is_complete(package: Option<&str>, lock: Option<&str>) -> bool {
    let parsed = |text: Option<&str>| -> Value {
        text.and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    };
    let declared = |manifest: &Value| -> BTreeSet<String> {
        [
            "dependencies",
            "devDependencies",
            "peerDependencies",
            "optionalDependencies",
        ]
        .iter()
        .filter_map(|kind| manifest.get(kind).and_then(Value::as_object))
        .flat_map(|some| some.keys().cloned())
        .collect()
    };
    let mut required = declared(&parsed(package));
    required.insert(PACKAGE.to_owned());
    let lock = parsed(lock);
    let root = lock.pointer("/packages/").cloned().unwrap_or_default();
    required.is_subset(&declared(&root))
}

#[cfg(test)]
mod tests {
    use super::super::entry::ConfigFormat;
    use super::*;

    fn state(files: &[(&str, &str)]) -> FolderState {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            if name.ends_with('/') {
                fs_err::create_dir_all(path).unwrap();
            } else {
                fs_err::write(path, text).unwrap();
            }
        }
        let entry = PluginEntry {
            format: ConfigFormat::V1,
            url: "file:///data/flamestack-opencode/index.ts".to_owned(),
            command: "flame".to_owned(),
        };
        inspect(folder.path(), &entry).unwrap()
    }

    #[test]
    fn only_folders_without_user_content_need_a_stub() {
        let needs_stub = [
            &[][..],
            &[("opencode.json", "{}")],
            &[("agent/review.md", "Review.")],
            &[("node_modules/", ""), ("package.json", PACKAGE_JSON)],
            &[(
                "opencode.json",
                r#"{"plugin":["/x/flamestack-opencode/index.ts"]}"#,
            )],
        ];
        for files in needs_stub {
            assert_eq!(state(files), FolderState::NeedsPlaceholder, "{files:?}");
        }
        let user_content = [
            &[("package.json", "{}")][..],
            &[("package-lock.json", "{}")],
            &[("node_modules/zod/index.js", "")],
            &[("tool/deploy.ts", "")],
            &[("plugins/mine.js", "")],
            &[("opencode.jsonc", r#"{"plugin":["other"]}"#)],
            &[("opencode.json", "{ not json")],
            &[
                ("package.json", r#"{"dependencies":{"zod":"4"}}"#),
                ("package-lock.json", LOCK),
                ("node_modules/", ""),
            ],
        ];
        for files in user_content {
            let state = state(files);
            assert!(matches!(state, FolderState::HasUserContent(_)), "{files:?}");
        }
        let installed = [
            &[
                ("package-lock.json", LOCK),
                ("node_modules/@opencode-ai/plugin/package.json", "{}"),
            ][..],
            &[
                (
                    "package.json",
                    r#"{"dependencies":{"@opencode-ai/plugin":"1.18.33"}}"#,
                ),
                ("package-lock.json", LOCK),
                ("node_modules/@opencode-ai/plugin/package.json", "{}"),
            ],
        ];
        for files in installed {
            assert_eq!(state(files), FolderState::Installed, "{files:?}");
        }
    }

    #[test]
    fn a_gitignore_can_hide_the_stub() {
        assert!(!is_visible_to_git(IGNORE));
        assert!(!is_visible_to_git("*\n!opencode.json\n"));
        assert!(!is_visible_to_git("/package.json\n/package-lock.json\r\n"));
        assert!(is_visible_to_git("node_modules\n"));
    }
}
