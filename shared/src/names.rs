//! Enumerations whose values have names in files and on the command line.

/// Gives an enumeration `ALL`, `as_str`, `Display` and, with a sentence for other texts, `FromStr`
/// without regard to case.
macro_rules! names {
    ($kind:ident { $($value:ident => $name:literal),+ $(,)? }) => {
        impl $kind {
            /// All values.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// Returns the name, as in files and on the command line.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $name),+
                }
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
    ($kind:ident { $($value:ident => $name:literal),+ $(,)? }, |$text:ident| $unknown:expr) => {
        $crate::names::names!($kind { $($value => $name),+ });

        impl std::str::FromStr for $kind {
            type Err = String;

            fn from_str($text: &str) -> Result<Self, Self::Err> {
                let named = Self::ALL.into_iter().find(|value| value.as_str().eq_ignore_ascii_case($text));
                named.ok_or_else(|| $unknown)
            }
        }
    };
}
pub(crate) use names;
