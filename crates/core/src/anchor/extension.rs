//! File extensions by which a path is known as one.

/// Sorted, so that looking one up is a binary search.
const EXTENSIONS: [&str; 76] = [
    "bash", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "css", "csv", "dart", "diff", "env",
    "ex", "exs", "fish", "go", "gradle", "h", "hpp", "htm", "html", "ini", "ipynb", "java", "js",
    "json", "jsonl", "jsx", "kdl", "kt", "kts", "lock", "log", "lua", "m", "md", "mdx", "mjs",
    "mod", "nix", "patch", "php", "pkl", "plist", "proto", "ps1", "psm1", "py", "pyi", "rb", "rs",
    "rst", "scala", "scss", "sh", "snap", "sql", "sum", "svelte", "svg", "swift", "tcl", "tf",
    "tmpl", "toml", "ts", "tsx", "txt", "usage", "vim", "vue", "xml", "yaml", "yml", "zsh",
];

/// The longest of them. Most words behind a dot are no extension, and longer.
const LONGEST: usize = 6;

/// Whether files have this extension.
pub(super) fn is_extension(text: &str) -> bool {
    (1..=LONGEST).contains(&text.len()) && EXTENSIONS.binary_search(&text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(EXTENSIONS.is_sorted());
        assert!(EXTENSIONS.iter().all(|known| is_extension(known)));
        assert!(is_extension("rs") && !is_extension("RS") && !is_extension(""));
    }
}
