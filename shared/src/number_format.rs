//! Number format in which a CNN computes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Number format of weights and activations, the workload's field `dtype`. It is absent for 32-bit
/// floats, as in samples of earlier versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumberFormat {
    /// 32-bit floats.
    #[default]
    F32,
    /// 16-bit floats of IEEE 754: 5 bits of exponent.
    F16,
    /// 16-bit floats with the 8 bits of exponent of a 32-bit float.
    Bf16,
}

impl NumberFormat {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::F32, Self::F16, Self::Bf16];

    /// Returns the name on the command line and in samples.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }
}

impl fmt::Display for NumberFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for NumberFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let format = Self::ALL.into_iter().find(|format| format.as_str().eq_ignore_ascii_case(text));
        format.ok_or_else(|| format!("there is no number format {text}; choose f32, f16 or bf16"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_format_is_read_by_its_name() {
        for format in NumberFormat::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert!("int8".parse::<NumberFormat>().unwrap_err().contains("choose f32, f16 or bf16"));
    }
}
