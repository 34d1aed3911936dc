//! Names of enums, declared once.

/// Declares an enum whose variants have names, with `ALL`, `as_str` and `from_name`.
///
/// The names are part of the journal, of tools and of `--json`: they never change.
#[macro_export]
macro_rules! enum_names {
    ($(#[$about:meta])* $vis:vis enum $type:ident {
        $($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?
    }) => {
        $(#[$about])*
        $vis enum $type {
            $($(#[$doc])* $variant,)+
        }

        impl $type {
            /// All values, in order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns the name in files, tools and `--json`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            /// Parses a name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use enum_names;
