//! Lists the files of the OpenCode plugin, so that the binary carries all of them.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let folder = Path::new(&root).join("../../plugins/opencode/src");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".ts") || name.ends_with(".tsx") {
            names.push(name);
        }
    }
    names.sort();
    let mut list = String::from("&[\n");
    for name in names {
        let path = folder.join(&name);
        println!("cargo::rerun-if-changed={}", path.display());
        list.push_str(&format!("({name:?}, include_str!({path:?})),\n"));
    }
    list.push_str("]\n");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("opencode_plugin.rs"), list)
}
