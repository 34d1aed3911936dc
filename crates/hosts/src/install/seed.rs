//! What spares OpenCode's first request an npm install.
//!
//! Where any plugin is configured, OpenCode installs `@opencode-ai/plugin` into each of its
//! configuration folders before it answers, which takes a minute and, without a network, longer. It
//! looks only whether `node_modules` is there and whether the lock file names what is wanted. Our
//! plugin imports nothing, so an empty folder and two small files are all it needs. A folder with
//! packages, plugins or tools of its own may need the real thing and is left alone.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::change;
use super::entry::{Document, Entry};
use super::error::InstallError;

/// The package that OpenCode wants.
pub(super) const WANTED: &str = "@opencode-ai/plugin";

const PACKAGE: &str = r#"{
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

/// What OpenCode itself keeps out of a repository.
const IGNORE: &str = "node_modules\npackage.json\npackage-lock.json\nbun.lock\n.gitignore\n";

/// The files of a seed, by name.
pub(super) const FILES: [(&str, &str); 2] =
    [("package.json", PACKAGE), ("package-lock.json", LOCK)];
/// What keeps the seed out of a repository.
pub(super) const GITIGNORE: (&str, &str) = (".gitignore", IGNORE);
/// The empty folder.
pub(super) const MODULES: &str = "node_modules";

/// Where OpenCode looks for plugins and tools, which may import the package.
const OWN: [&str; 4] = ["plugin", "plugins", "tool", "tools"];

/// What a configuration folder needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// A seed.
    Bare,
    /// Nothing: OpenCode finds what it looks for.
    Ready,
    /// Something that only its owner can decide on.
    Own(&'static str),
    /// It has a seed, and has got plugins or tools of its own since.
    Outgrown,
}

/// Judges a configuration folder.
pub(super) fn judge(folder: &Path, entry: &Entry) -> Result<Judged, InstallError> {
    let [package, lock] = FILES.map(|(name, _)| change::read(&folder.join(name)));
    let (package, lock) = (package?, lock?);
    let modules = folder.join(MODULES);
    let ours = [(&package, PACKAGE), (&lock, LOCK)]
        .iter()
        .all(|(there, seed)| there.as_ref().is_none_or(|there| there == seed));
    if ours && is_empty(&modules) {
        return Ok(match (has_own(folder, entry), package.is_some()) {
            (true, true) => Judged::Outgrown,
            (true, false) => Judged::Own("plugins or tools"),
            (false, _) => Judged::Bare,
        });
    }
    if modules.is_dir() && names(package.as_deref(), lock.as_deref()) {
        return Ok(Judged::Ready);
    }
    Ok(Judged::Own("packages"))
}

/// Whether the seed would show up in a repository.
pub(super) fn shows(gitignore: &str) -> bool {
    let lines: BTreeSet<&str> = gitignore
        .lines()
        .map(|line| line.trim().trim_start_matches('/'))
        .collect();
    !lines.contains("*") && FILES.iter().any(|(name, _)| !lines.contains(name))
}

fn is_empty(folder: &Path) -> bool {
    fs_err::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

/// Whether there are plugins or tools that may import the package.
fn has_own(folder: &Path, entry: &Entry) -> bool {
    let listed = |name: &str| {
        let path = folder.join(name);
        let others = change::read(&path).and_then(|text| match text {
            Some(text) => Document::parse(&path, &text)?.others(entry),
            None => Ok(0),
        });
        // What cannot be understood may name anything.
        others.map_or(true, |count| count > 0)
    };
    OWN.iter().any(|name| !is_empty(&folder.join(name)))
        || super::opencode::CONFIGS.iter().any(|name| listed(name))
}

/// Whether the lock file names the wanted package and everything that the manifest does.
fn names(package: Option<&str>, lock: Option<&str>) -> bool {
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
    let mut wanted = declared(&parsed(package));
    wanted.insert(WANTED.to_owned());
    let lock = parsed(lock);
    let root = lock.pointer("/packages/").cloned().unwrap_or_default();
    wanted.is_subset(&declared(&root))
}

#[cfg(test)]
mod tests {
    use super::super::entry::Dialect;
    use super::*;

    fn judged(files: &[(&str, &str)]) -> Judged {
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
        let entry = Entry {
            dialect: Dialect::One,
            url: "file:///data/flamestack-opencode/index.ts".to_owned(),
            command: "flame".to_owned(),
        };
        judge(folder.path(), &entry).unwrap()
    }

    #[test]
    fn only_folders_without_anything_of_their_own_are_seeded() {
        let bare = [
            &[][..],
            &[("opencode.json", "{}")],
            &[("agent/review.md", "Review.")],
            &[("node_modules/", ""), ("package.json", PACKAGE)],
            &[(
                "opencode.json",
                r#"{"plugin":["/x/flamestack-opencode/index.ts"]}"#,
            )],
        ];
        for files in bare {
            assert_eq!(judged(files), Judged::Bare, "{files:?}");
        }
        let own = [
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
        for files in own {
            assert!(matches!(judged(files), Judged::Own(_)), "{files:?}");
        }
        let ready = [
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
        for files in ready {
            assert_eq!(judged(files), Judged::Ready, "{files:?}");
        }
    }

    #[test]
    fn a_gitignore_that_hides_the_seed_is_enough() {
        assert!(!shows(IGNORE));
        assert!(!shows("*\n!opencode.json\n"));
        assert!(!shows("/package.json\n/package-lock.json\r\n"));
        assert!(shows("node_modules\n"));
    }
}
