//! Number format in which a CNN computes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Workload;

/// Name of the workload field that holds a [`NumberFormat`].
const FIELD: &str = "dtype";

/// Number format of weights and activations, the workload's field `dtype`. It is absent for 32-bit
/// floats, as in samples of earlier versions.
///
/// ```
/// # use foreglow_shared::{NumberFormat, Workload};
/// let mut workload: Workload = serde_json::from_str(
///     r#"{"model":"vgg16","mode":"inference","image_px":32,"images":9,"epochs":1,
///         "batch_size":8}"#,
/// )?;
/// assert_eq!(workload.number_format(), NumberFormat::F32);
/// workload.set_number_format(NumberFormat::F16);
/// assert_eq!(workload.extra["dtype"], "f16");
/// # Ok::<(), serde_json::Error>(())
/// ```
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

impl Workload {
    /// Returns the number format in which the CNN computes; 32-bit floats if the field is missing
    /// or of a later version.
    pub fn number_format(&self) -> NumberFormat {
        let name = self.extra.get(FIELD).and_then(serde_json::Value::as_str);
        name.and_then(|name| name.parse().ok()).unwrap_or_default()
    }

    /// Sets the number format. 32-bit floats are not written, so that such jobs stay comparable
    /// with samples of earlier versions.
    pub fn set_number_format(&mut self, format: NumberFormat) {
        match format {
            NumberFormat::F32 => drop(self.extra.remove(FIELD)),
            other => drop(self.extra.insert(FIELD.to_owned(), other.as_str().into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_in_32_bit_floats_is_written_as_in_earlier_versions() {
        let text = r#"{"model":"lenet5","mode":"inference","image_px":32,"images":8,"epochs":1,"batch_size":8}"#;
        let mut workload: Workload = serde_json::from_str(text).unwrap();
        workload.set_number_format(NumberFormat::F32);
        assert_eq!(serde_json::to_string(&workload).unwrap(), text);
        for format in NumberFormat::ALL {
            workload.set_number_format(format);
            assert_eq!((workload.number_format(), format.to_string().parse()), (format, Ok(format)));
        }
        workload.set_number_format(NumberFormat::F32);
        assert_eq!(serde_json::to_string(&workload).unwrap(), text, "the field is removed again");
        assert!("int8".parse::<NumberFormat>().unwrap_err().contains("choose f32, f16 or bf16"));
    }
}
