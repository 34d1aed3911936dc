//! What a name is.

/// What a name is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameKind {
    /// A file.
    Path,
    /// Something in a program.
    Identifier,
    /// A web address.
    Address,
    /// A ticket, a pull request, a commit.
    Reference,
    /// The code of an error.
    ErrorCode,
    /// A version.
    Version,
    /// A number with its unit, and the words before it.
    Quantity,
}

impl NameKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Path,
        Self::Identifier,
        Self::Address,
        Self::Reference,
        Self::ErrorCode,
        Self::Version,
        Self::Quantity,
    ];

    /// What tables call it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Identifier => "identifier",
            Self::Address => "address",
            Self::Reference => "reference",
            Self::ErrorCode => "error code",
            Self::Version => "version",
            Self::Quantity => "quantity",
        }
    }
}

/// By what a path is told from others: its last two parts. The same file is named from the root,
/// from the project and from a folder inside it; whole paths would make three of it.
pub fn path_key(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    let mut parts = path.rmatch_indices('/');
    let Some((_, _)) = parts.next() else {
        return path;
    };
    let start = parts.next().map_or(0, |(at, _)| at + 1);
    let key = path.get(start..).unwrap_or(path);
    ["./", "../", "~/", "/"]
        .into_iter()
        .find_map(|nowhere| key.strip_prefix(nowhere))
        .unwrap_or(key)
}

/// How a name is told from others of its kind.
pub fn key(kind: NameKind, text: &str) -> &str {
    match kind {
        NameKind::Path => path_key(text),
        NameKind::Reference if !text.starts_with('#') && !text.contains('-') => {
            text.get(..7).unwrap_or(text)
        }
        NameKind::Version => text.trim_start_matches('v'),
        NameKind::Quantity => super::quantity::bare(text),
        _ => text,
    }
}
