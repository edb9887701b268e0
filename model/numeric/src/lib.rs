//! Numerical methods of Foreglow's mathematics. They are independent of runs and configurations.
//!
//! They use `+ − × ÷ √`, which IEEE 754 defines to the last digit, and `libm`, which uses only
//! these, so that the same input gives the same bytes on every machine and in the browser.

mod elementary;
pub mod lbfgs;
mod linalg;
mod metric;
mod nnls;
mod outliers;
mod process;
mod products;
mod sparse;
pub mod student_t;

pub use crate::elementary::{exponentials, logarithms};
pub use crate::linalg::{Cholesky, Envelope, Matrix};
pub use crate::metric::{MetricError, mape};
pub use crate::nnls::nnls;
pub use crate::outliers::{MEDIAN_OF_NORMAL, median, outliers, outlying_errors};
pub use crate::process::{GroupedProcess, rows_of};
pub use crate::products::{add_scaled, dot};
pub use crate::sparse::SparseRows;
