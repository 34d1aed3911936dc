//! Reads workflow declarations: those of the user, of the team and of the project.
//!
//! A declaration that cannot be read or used is reported, and the others work.

use std::path::{Path, PathBuf};

use flamestack_brief::workflow::{DeclarationError, Workflows};

use crate::project::{Home, Project};

/// Maximum size of a declaration, in bytes: a longer file is something else.
const MAX_BYTES: u64 = 256 * 1024;
/// Maximum number of declarations in a folder.
const MAX_FILES: usize = 64;

/// Returns the built-in workflows and those of the user, the team and the project; later ones replace
/// earlier ones of the same name.
pub fn gather_workflows(home: &Home, project: &Project) -> Workflows {
    let mut workflows = Workflows::built_in();
    for folder in [
        home.config.join("workflows"),
        project.root.join(".flamestack/workflows"),
        project.dir.join("workflows"),
    ] {
        add_folder(&mut workflows, &folder);
    }
    workflows
}

fn add_folder(workflows: &mut Workflows, folder: &Path) {
    let Ok(entries) = fs_err::read_dir(folder) else {
        return;
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let declarations = paths.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let mut files: Vec<PathBuf> = declarations.take(MAX_FILES).collect();
    files.sort();
    for file in files {
        match read(&file) {
            Ok(text) => workflows.add(&file, &text),
            Err(problem) => workflows.problems.push(DeclarationError {
                file,
                line: None,
                problem,
                remedy: "make it a readable text file, or remove it".to_owned(),
            }),
        }
    }
}

fn read(file: &Path) -> Result<String, String> {
    let metadata = fs_err::metadata(file).map_err(|error| error.to_string())?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(format!(
            "it is not a file of at most {} kB",
            MAX_BYTES / 1024
        ));
    }
    fs_err::read_to_string(file).map_err(|error| error.to_string())
}
