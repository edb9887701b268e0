//! Links that the page opens.

use foreglow_shared::{Context, LinkError, Question, ShortLink, View};
use leptos::prelude::*;

use super::Planner;
use super::history::is_short;
use crate::data::edits::resized;
use crate::data::job::Space;

impl Planner {
    /// The address fragment of the page; reactive. It contains the runs, unless it should be
    /// `short` or there are too many runs: the collector or session storage then has the measured
    /// runs.
    pub fn fragment(&self, short: bool) -> Option<String> {
        let (view, mut shown) = (self.view()?, self.shown());
        let link = if short || !view.fits_in_link() {
            let Context { workload, .. } = &view.job.context;
            let measured = self.measured(&view.job.context);
            shown.size = (measured.workload != *workload).then_some((workload.images, workload.epochs));
            ShortLink::new(&measured, view.question).to_fragment()
        } else {
            view.to_fragment()
        };
        Some(link + &shown.suffix())
    }

    /// Opens the fragment of a full or short link, a short one with the images and epochs of its
    /// suffix. An invalid link changes nothing.
    ///
    /// # Errors
    /// One sentence without its full stop.
    pub fn open_fragment(&self, fragment: &str, size: Option<(u64, u32)>) -> Result<(), String> {
        if !is_short(fragment) {
            return self.open_link(fragment).map_err(|error| error.to_string());
        }
        let ShortLink { job, question } = ShortLink::from_fragment(fragment).map_err(|error| error.to_string())?;
        let shown = self.jobs.with_untracked(|jobs| {
            let contexts = jobs.iter().map(|known| (known.context.clone(), untrack(|| self.measured(&known.context))));
            contexts.enumerate().find(|(_, (_, measured))| measured.fingerprint() == job)
        });
        let (place, (shown, measured)) = shown.ok_or(
            "it is a short link, which holds the question but not the runs, and its job is unknown here; open it at the \
             collector where it was made, or ask for the full link or the file of runs",
        )?;
        let (images, epochs) = size.unwrap_or((measured.workload.images, measured.workload.epochs));
        if resized(&shown, images, epochs) != shown {
            self.resize(&shown, images, epochs)?;
        }
        self.select(place);
        self.ask(question);
        self.alert.set(None);
        Ok(())
    }

    /// Opens a full link. An invalid one changes nothing.
    pub fn open_link(&self, link: &str) -> Result<(), LinkError> {
        let View { job, question, pins, left_out, compared } = View::from_link(link)?;
        self.choose();
        // The same runs need no new fit for another question.
        let fitted = untrack(|| self.job()).as_ref() == Some(&job) && untrack(|| self.fitted()).is_some();
        // The page shows each job in one size.
        self.show_size(&job.context);
        self.edits.update(|edits| edits.left_out.set(&job.context, left_out));
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
