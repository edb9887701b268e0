//! Short links: `<planner>#q1.<payload>`, the question without the runs, for whoever reads from the same collector.
//!
//! The runs are those that the collector has when the link is opened; the fingerprint names the job that they belong to.

use serde::{Deserialize, Serialize};

use crate::link::{check_question, pack, unpack};
use crate::{Context, LinkError, Question};

/// How the fragment of a short link begins.
pub const SHORT_PREFIX: &str = "q1.";

/// A question about a job that the reader's collector knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShortLink {
    /// The job, as [`Context::fingerprint`] names it.
    pub job: String,
    /// What is asked.
    pub question: Question,
}

impl ShortLink {
    /// The short form of a question about the job of a context.
    pub fn new(context: &Context, question: Question) -> Self {
        Self { job: context.fingerprint(), question }
    }

    /// The fragment, without `#`.
    pub fn to_fragment(&self) -> String {
        format!("{SHORT_PREFIX}{}", pack(self))
    }

    /// The whole link to a planner at `planner`.
    pub fn to_link(&self, planner: &str) -> String {
        let base = planner.split('#').next().unwrap_or_default();
        format!("{base}#{}", self.to_fragment())
    }

    /// Opens a fragment without `#`.
    ///
    /// # Errors
    /// [`LinkError`]: no short link, or a damaged one.
    pub fn from_fragment(fragment: &str) -> Result<Self, LinkError> {
        let link: Self = unpack(fragment.trim().strip_prefix(SHORT_PREFIX).ok_or(LinkError::NotALink)?)?;
        check_question(&link.question)?;
        Ok(link)
    }
}
