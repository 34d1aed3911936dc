//! Temporary files that are complete before they replace a file.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// Writes `text` to a temporary file in the directory of `path`.
///
/// The file has the given permissions. A new one can be written by its owner alone, also under an
/// umask that allows more: a host runs what is written here.
pub(crate) fn stage(
    path: &Path,
    text: &str,
    permissions: Option<Permissions>,
) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".flame-");
    // `tempfile` makes private files (0600); the umask still applies to 0644.
    #[cfg(unix)]
    let permissions = permissions.or_else(|| {
        use std::os::unix::fs::PermissionsExt as _;
        Some(Permissions::from_mode(0o644))
    });
    if let Some(permissions) = permissions {
        builder.permissions(permissions);
    }
    let dir = path.parent().unwrap_or_else(|| Path::new("."));
    let staged = builder.tempfile_in(dir).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        Ok(file)
    });
    staged.map_err(|error| with_path(path, &error))
}

/// Adds the path to an error's message.
pub(crate) fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
