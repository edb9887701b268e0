//! Short links: `<planner>#q1.<payload>`, a question without the runs, for readers of the same
//! collector.
//!
//! The planner loads the runs from the collector when the link is opened; the fingerprint
//! identifies the job.

use serde::{Deserialize, Serialize};

use crate::link::{SHORT_PREFIX, check_question, pack, unpack};
use crate::{Context, LinkError, Question};

/// A question about a job that the collector knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShortLink {
    /// Fingerprint of the job's context, [`Context::fingerprint`].
    pub job: String,
    /// The question.
    pub question: Question,
}

impl ShortLink {
    /// Creates a short link for a question about the job with this context.
    pub fn new(context: &Context, question: Question) -> Self {
        Self { job: context.fingerprint(), question }
    }

    /// Returns the fragment, without `#`.
    pub fn to_fragment(&self) -> String {
        format!("{SHORT_PREFIX}{}", pack(self))
    }

    /// Returns the whole link for the planner at the URL `planner`.
    pub fn to_link(&self, planner: &str) -> String {
        let base = planner.split('#').next().unwrap_or_default();
        format!("{base}#{}", self.to_fragment())
    }

    /// Opens a fragment without `#`.
    ///
    /// # Errors
    /// [`LinkError`]: not a short link, or a damaged one.
    pub fn from_fragment(fragment: &str) -> Result<Self, LinkError> {
        let link: Self = unpack(fragment.trim().strip_prefix(SHORT_PREFIX).ok_or(LinkError::NotALink)?)?;
        check_question(&link.question)?;
        Ok(link)
    }
}
