//! Lists the files of the OpenCode plugin, so that the binary carries all of them.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let folder = Path::new(&root).join("../../plugins/opencode/src");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let runs = path
            .extension()
            .is_some_and(|end| end == "ts" || end == "tsx");
        if let Some(name) = path.file_name().filter(|_| runs) {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    let mut list = String::from("&[\n");
    for name in names {
        let path = folder.join(&name).display().to_string();
        println!("cargo::rerun-if-changed={path}");
        list.push_str(&format!("({name:?}, include_str!({path:?})),\n"));
    }
    list.push_str("]\n");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("opencode_plugin.rs"), list)
}
