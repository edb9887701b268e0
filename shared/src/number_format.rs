//! Number format in which a CNN computes.

use serde::{Deserialize, Serialize};

use crate::names::names;

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

names!(
    NumberFormat { F32 => "f32", F16 => "f16", Bf16 => "bf16" },
    |text| format!("there is no number format {text}; choose f32, f16 or bf16")
);

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
