//! Links that the page opens.

use foreglow_shared::{LinkError, Question, ShortLink, View};
use leptos::prelude::*;

use super::Planner;
use super::history::is_short;
use crate::data::job::Space;

impl Planner {
    /// Opens the fragment of a link, full or short. An invalid one changes nothing.
    ///
    /// # Errors
    /// One sentence without its full stop.
    pub fn open_fragment(&self, fragment: &str) -> Result<(), String> {
        if !is_short(fragment) {
            return self.open_link(fragment).map_err(|error| error.to_string());
        }
        let ShortLink { job, question } = ShortLink::from_fragment(fragment).map_err(|error| error.to_string())?;
        let place = self.jobs.with_untracked(|jobs| jobs.iter().position(|known| known.context.fingerprint() == job));
        let place = place.ok_or(
            "it is a short link, which holds the question but not the runs, and its job is unknown here; open it at the \
             collector where it was made, or ask for the full link",
        )?;
        self.select(place);
        self.ask(question);
        self.alert.set(None);
        Ok(())
    }

    /// Opens a full link. An invalid one changes nothing.
    pub fn open_link(&self, link: &str) -> Result<(), LinkError> {
        let View { job, question, pins, left_out, compared } = View::from_link(link)?;
        self.choose();
        self.left_out.update(|runs| runs.set(&job.context, left_out));
        // Another question about the same runs needs no new fit.
        let fitted = untrack(|| self.job()).as_ref() == Some(&job) && untrack(|| self.fitted()).is_some();
        self.jobs.update(|jobs| match jobs.iter_mut().position(|known| known.context == job.context) {
            Some(place) => {
                jobs[place] = job.clone();
                self.selected.set(place);
            }
            None => {
                jobs.insert(0, job.clone());
                self.selected.set(0);
            }
        });
        compared.into_iter().for_each(|job| self.add_job(job));
        self.ask(question);
        self.pins.set(pins);
        self.alert.set(None);
        if !fitted {
            self.refit();
        }
        Ok(())
    }

    /// Sets the question about the selected job.
    pub fn ask(&self, question: Question) {
        self.space.set(Space::of(&question));
        self.deadline_secs.set(question.deadline_secs);
        self.budget.set(question.budget);
        self.min_accuracy.set(question.min_accuracy);
        self.probability.set(question.probability);
        self.prices.set(question.prices);
        self.what_if.set(question.what_if);
    }
}
