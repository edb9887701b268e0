//! A job without samples: its prediction from public measurements, and what the page shows of them.

use foreglow_model::{
    Candidate, Comparison, Decision, Gpus, JointPredictor, Measurements, Plan, PublicBasis, PublicData, PublicJob,
    Source, UnmeasuredJob,
};
use foreglow_shared::{Catalog, JobGroup, MachineType, Mode, format_count, format_duration, format_integer};

use super::view::{Hardware, PublicView};
use super::why::{Explained, Reason, reasons};

/// Limit on the size of the tables, bytes, far above that of the built-in ones.
const MOST_BYTES: usize = 4 << 20;
const BYTES_PER_GIB: f64 = 1_073_741_824.0;

/// Reads the compressed tables of public measurements.
///
/// # Errors
/// They are damaged or of another version; a clause.
pub fn public_data(compressed: &[u8]) -> Result<PublicData, String> {
    let packed = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(compressed, MOST_BYTES)
        .map_err(|_| "they are damaged")?;
    Measurements::unpack(&packed).map(PublicData::new).map_err(|error| error.to_string())
}

/// What a session knows of the public measurements.
pub(super) struct Public {
    job: UnmeasuredJob,
    basis: PublicBasis,
    comparison: Comparison,
    gpus: Gpus,
    /// A line on each source.
    sources: Vec<String>,
}

impl Public {
    /// Predicts a job on all machine types of the catalog that have GPUs.
    ///
    /// # Errors
    /// As [`PublicData::predict`].
    pub fn predict(job: &UnmeasuredJob, data: &mut PublicData) -> Result<(JobGroup, JointPredictor, Self), String> {
        let catalog = Catalog::built_in();
        let machines: Vec<&MachineType> =
            catalog.machines.iter().filter(|machine| machine.accelerators.is_some()).collect();
        let PublicJob { group, predictor, basis, comparison } =
            data.predict(job, &machines, &[]).map_err(|error| error.to_string())?;
        let table = data.table();
        let source = |source: &Source| {
            format!("{}: {} ({}), software: {}", source.name, source.address, source.licence, source.kind.name())
        };
        let sources = table.sources.iter().map(source).collect();
        Ok((group, predictor, Self { job: job.clone(), basis, comparison, gpus: table.gpus.clone(), sources }))
    }

    /// Describes the hardware of a machine type, and the next step there.
    pub fn hardware(&self, machine: &str, catalog: &Catalog) -> Option<Hardware> {
        let MachineType { provider, region, accelerators, .. } = catalog.find(machine).ok()?;
        let accelerators = accelerators.as_ref()?;
        let gib = self.gpus.find(&accelerators.name, accelerators.memory_mib).ok()?.memory_gib;
        let needed = at_least(self.basis.bytes_per_gpu / BYTES_PER_GIB);
        Some(Hardware {
            gpus: format!("{} × {}", accelerators.count, accelerators.name),
            place: format!("{provider} {region}").trim_end().to_owned(),
            memory: format!(
                "{needed} of {gib:.0} GiB{}",
                if self.doubt(machine).is_some() { ", may not fit" } else { "" }
            ),
            command: self.job.measuring_command(machine, accelerators.count),
        })
    }

    /// Returns why the batch may not fit the GPUs of a machine type.
    fn doubt(&self, machine: &str) -> Option<&str> {
        let found = self.basis.may_not_fit.iter().find(|(name, _)| name == machine);
        found.map(|(_, reason)| reason.as_str())
    }

    /// Returns a sentence for each machine type that cannot run the job.
    pub fn left_out(&self) -> impl Iterator<Item = String> {
        self.basis.left_out.iter().map(|(machine, reason)| format!("{machine}: {reason}"))
    }

    /// Describes the basis of a decision.
    pub fn view(&self, plan: &Plan, decision: &Decision) -> PublicView {
        let order = self.comparison.order(plan, decision);
        PublicView {
            basis: self.basis.to_string(),
            order: PublicBasis { order, ..self.basis.clone() }.describe_order(),
            notes: self.basis.notes.clone(),
            command: self.job.plan_command(),
        }
    }

    /// Explains every figure of a configuration.
    pub fn reasons(&self, explained: &Explained<'_>) -> Vec<Reason> {
        let mut reasons = reasons(explained);
        if let Some(time) = reasons.first_mut() {
            time.lines = self.time(explained.candidate);
        }
        let machine = &explained.plan.predictor().arms()[explained.candidate.placement.arm].machine;
        let catalog = explained.plan.space().catalog.as_ref();
        if let Some((hardware, catalog)) = catalog.and_then(|catalog| Some((self.hardware(machine, catalog)?, catalog)))
        {
            let date = catalog.find(machine).ok().and_then(|machine| machine.date);
            let dated = date.map_or_else(|| "of an unknown date".to_owned(), |date| format!("of {date}"));
            let price = format!("The price is that of {}, {dated}.", hardware.place);
            reasons.iter_mut().filter(|reason| reason.title.starts_with("Cost")).for_each(|reason| {
                reason.lines.push(price.clone());
            });
            reasons.push(self.memory(machine, &hardware));
            reasons.push(Reason {
                command: Some(hardware.command),
                ..Reason::new(
                    "Next step: measure it there".into(),
                    vec!["Put your own program after the two dashes. Samples take the place of this answer.".into()],
                )
            });
        }
        reasons.push(Reason::new("Sources of the public measurements".into(), self.sources.clone()));
        reasons
    }

    fn time(&self, candidate: &Candidate) -> Vec<String> {
        let images = self.job.images as f64 * f64::from(self.job.epochs);
        let mut lines = vec![self.basis.to_string()];
        if let Some(secs) = candidate.prediction.completion_time_secs {
            lines.push(format!(
                "{} images × {} at {:.0} images/s on {} = {}",
                format_integer(self.job.images),
                self.job.epochs,
                images / secs,
                format_count(candidate.placement.executors as usize, "GPU"),
                format_duration(secs)
            ));
        }
        lines
    }

    fn memory(&self, machine: &str, hardware: &Hardware) -> Reason {
        let line = format!(
            "Tensors alive at the peak of a step with a batch of {}{}, and what frameworks and drivers add.",
            self.job.batch_size,
            if self.job.mode == Mode::Training { ", gradients and momenta" } else { "" },
        );
        let doubt = self.doubt(machine).map(|doubt| format!("Note: {doubt}."));
        let lines = [line].into_iter().chain(doubt).collect();
        Reason::new(format!("Memory of a GPU: {}", hardware.memory), lines)
    }
}

/// Writes an amount of memory in GiB.
fn at_least(gib: f64) -> String {
    if gib < 9.5 { format!("{gib:.1}") } else { format!("{gib:.0}") }
}

#[cfg(test)]
mod tests {
    use foreglow_model::{NetworkSource, Precision};

    use super::super::{PlanAnswer, PlanQuestion, Session};
    use super::*;
    use crate::data::machine_choice::MachineChoice;
    use crate::data::view_state::ViewState;

    /// The tables of the usual networks as the page gets them.
    const USUAL: &[u8] = include_bytes!("../../../assets/public-measurements.bin");
    /// Those of all networks.
    const ALL: &[u8] = include_bytes!("../../../assets/public-networks.bin");

    fn data() -> PublicData {
        public_data(USUAL).unwrap()
    }

    fn question() -> PlanQuestion {
        PlanQuestion {
            context: None,
            question: ViewState::default().question(),
            choice: MachineChoice::default(),
            chosen: None,
            pins: Vec::new(),
            explained: None,
        }
    }

    fn answer(job: &UnmeasuredJob, question: PlanQuestion) -> PlanAnswer {
        Session::unmeasured(job, &mut data()).unwrap().answer(question)
    }

    #[test]
    fn the_tables_of_the_page_are_those_of_the_command_line() {
        let built_in = PublicData::built_in();
        assert_eq!(data().table(), &built_in.table().of_usual_networks(), "run `make pack-public-measurements`");
        assert_eq!(public_data(ALL).unwrap().table(), built_in.table(), "run `make pack-public-measurements`");
        assert!(public_data(b"no tables").is_err());
        // The first visit fetches only the usual ones.
        assert!(USUAL.len() < 40_000 && ALL.len() < 100_000, "{} and {} bytes", USUAL.len(), ALL.len());
    }

    #[test]
    fn the_usual_question_has_an_answer_on_every_gpu_and_names_its_basis() {
        let answer = answer(&UnmeasuredJob::default(), question());
        let plan = answer.plan.unwrap().unwrap();
        assert!(plan.rows.len() > 30 && plan.recommended.is_some());
        for row in &plan.rows {
            assert!(row.interval.is_some() && row.cost.is_some() && row.success_probability.is_some(), "{row:?}");
            let arm = &plan.arms[row.arm];
            assert_eq!(arm.borrowed_from.as_deref(), Some("public measurements"));
            let hardware = arm.hardware.as_ref().unwrap();
            assert!(hardware.command.contains(&arm.machine), "{hardware:?}");
            assert!(hardware.memory.ends_with("GiB") && hardware.gpus.contains(" × "), "{hardware:?}");
        }
        let public = plan.public.unwrap();
        assert!(public.basis.starts_with("Nothing was measured here"), "{public:?}");
        assert!(public.order.unwrap().contains(" costs less than "));
        assert!(answer.what_if.unwrap().outcome.is_ok());
    }

    #[test]
    fn every_figure_is_explained_with_its_sources_and_the_next_step() {
        let plan = answer(&UnmeasuredJob::default(), question()).plan.unwrap().unwrap();
        let row = plan.rows.iter().find(|row| plan.arms[row.arm].machine == "g6.xlarge").unwrap();
        let asked = PlanQuestion { explained: Some(plan.selection(row)), ..question() };
        let reasons = answer(&UnmeasuredJob::default(), asked).reasons.unwrap();
        let titles: Vec<&str> = reasons.iter().map(|reason| reason.title.split(':').next().unwrap()).collect();
        assert_eq!(
            titles,
            [
                "Completion time",
                "Interval",
                "Probability",
                "Cost",
                "Memory of a GPU",
                "Next step",
                "Sources of the public measurements"
            ]
        );
        assert!(reasons[3].lines.iter().any(|line| line.contains("aws us-east-1, of 2026-")), "{:?}", reasons[3]);
        assert!(reasons[5].command.as_ref().unwrap().contains("--machine g6.xlarge --gpus 1"));
        assert!(reasons[6].lines.len() > 10);
    }

    #[test]
    fn machine_types_that_cannot_run_the_job_are_listed_with_the_reasons() {
        let job = UnmeasuredJob { batch_size: 512, precision: Precision::Fp32, ..UnmeasuredJob::default() };
        let plan = answer(&job, question()).plan.unwrap().unwrap();
        let reason = plan.omitted.iter().find(|reason| reason.starts_with("g4dn.xlarge: ")).unwrap();
        assert!(reason.contains("needs about") && reason.contains("smaller batch"), "{reason}");
        assert!(plan.arms.iter().all(|arm| arm.machine != "g4dn.xlarge"));
    }

    #[test]
    fn a_batch_that_may_not_fit_is_marked_with_the_batch_that_does() {
        let job = UnmeasuredJob { batch_size: 450, ..UnmeasuredJob::default() };
        let plan = answer(&job, question()).plan.unwrap().unwrap();
        let row = plan.rows.iter().find(|row| plan.arms[row.arm].machine == "g6.xlarge").unwrap();
        let asked = PlanQuestion { explained: Some(plan.selection(row)), ..question() };
        let reasons = answer(&job, asked).reasons.unwrap();
        let memory = reasons.iter().find(|reason| reason.title.starts_with("Memory of a GPU")).unwrap();
        assert!(memory.title.ends_with("GiB, may not fit"), "{}", memory.title);
        assert!(memory.lines[1].contains("certainly fits"), "{:?}", memory.lines);
    }

    #[test]
    fn unusable_questions_are_refused_with_similar_names() {
        let refused = |job: UnmeasuredJob| Session::unmeasured(&job, &mut data()).err().unwrap();
        let named =
            |name: &str| UnmeasuredJob { network: NetworkSource::Named(name.into()), ..UnmeasuredJob::default() };
        assert!(refused(named("resnet5")).contains("resnet50"));
        assert!(refused(UnmeasuredJob { image_px: Some(8), ..named("lenet5") }).contains("32 to 32 px"));
        let known = vec!["RTX 3O90=812/s".parse().unwrap()];
        assert!(refused(UnmeasuredJob { known, ..UnmeasuredJob::default() }).contains("RTX 3090"));
        let integers = UnmeasuredJob { precision: Precision::Int8, ..UnmeasuredJob::default() };
        assert!(refused(integers).contains("for inference"));
    }

    #[test]
    fn an_own_speed_that_contradicts_everything_is_said() {
        let known = vec!["RTX 3090=60000/s".parse().unwrap()];
        let plan = answer(&UnmeasuredJob { known, ..UnmeasuredJob::default() }, question()).plan.unwrap().unwrap();
        let notes = plan.public.unwrap().notes;
        assert!(notes[0].contains("times faster than public measurements suggest"), "{notes:?}");
    }
}
