//! The configurations and prices to choose from.

use foreglow_shared::{Catalog, CatalogError, CoreSplit, Job, PriceSheet, Question, distinct};

use super::Pricing;
use crate::{Arm, DecideError, JointPredictor};

/// The configurations and prices to choose from.
#[derive(Clone, Debug, Default)]
pub struct Space {
    /// Machine types with prices.
    pub catalog: Option<Catalog>,
    /// Prices per executor, core and GiB, for machines that the catalog lacks. A published list
    /// applies to the hardware that it names; other hardware has its own published list.
    pub sheet: Option<PriceSheet>,
    /// Whether the sheet prices all hardware, even if it is a published list.
    pub keeps_sheet: bool,
    /// Names of the machine types to choose from; empty for all that were measured.
    pub machines: Vec<String>,
    /// Numbers of executors; empty for 1 to the largest measured one of each machine type, or for
    /// fewer of them if there are more than 4,096 configurations.
    pub executors: Vec<u32>,
    /// Numbers of cores per executor; empty as for the executors.
    pub cores_per_executor: Vec<u32>,
    /// Total numbers of cores, each divided among every number of executors, in place of
    /// `cores_per_executor`; empty for equal executors.
    pub total_cores: Vec<u32>,
    /// Memory of each executor, MiB; `None` for the memory that the measured peaks require, or the
    /// largest measured memory if there are no peaks.
    pub memory_per_executor_mib: Option<u32>,
    /// Batch sizes, measured or between measured ones; empty for all that were measured.
    pub batch_sizes: Vec<u32>,
    /// Images of one task; `None` for the best of the measured sizes of each machine type.
    pub partition_size: Option<u32>,
}

impl Space {
    /// Returns the executors, cores, memory and prices of a question about one context.
    ///
    /// # Errors
    /// [`DecideError::NoConfiguration`]: the question has no executors or no cores.
    pub fn from_question(question: &Question) -> Result<Self, DecideError> {
        if question.executors.is_empty() || question.cores_per_executor.is_empty() {
            return Err(DecideError::NoConfiguration);
        }
        Ok(Self {
            sheet: Some(question.prices.clone()),
            keeps_sheet: true,
            executors: question.executors.clone(),
            cores_per_executor: question.cores_per_executor.clone(),
            memory_per_executor_mib: Some(question.memory_per_executor_mib),
            ..Self::default()
        })
    }

    /// Returns the space of a question about a job. What the question has in common with its
    /// default was not asked for: each configuration has the memory that the measured peaks
    /// require, and the numbers of executors and cores are those of the runs.
    ///
    /// # Errors
    /// As [`Space::from_question`].
    pub fn from_context(question: &Question, job: &Job) -> Result<Self, DecideError> {
        let space = Self::from_question(question)?;
        let usual = Question::about_job(job);
        let asked = |counts: Vec<u32>, usual: &[u32]| if counts == usual { Vec::new() } else { counts };
        Ok(Self {
            memory_per_executor_mib: space
                .memory_per_executor_mib
                .filter(|memory| *memory != usual.memory_per_executor_mib),
            executors: asked(space.executors, &usual.executors),
            cores_per_executor: asked(space.cores_per_executor, &usual.cores_per_executor),
            ..space
        })
    }

    /// Whether all executors have equally many cores, so that the configurations are a grid of
    /// executors and cores.
    pub(super) fn is_grid(&self) -> bool {
        self.total_cores.is_empty()
    }

    /// Returns the configurations of these numbers of executors: each with each number of cores, or
    /// with each total, without duplicates.
    pub(super) fn splits(&self, executors: &[u32], cores: &[u32]) -> Vec<CoreSplit> {
        if self.is_grid() {
            let with = |executors: u32| cores.iter().map(move |cores| CoreSplit::even(executors, *cores));
            return executors.iter().copied().flat_map(with).collect();
        }
        distinct(CoreSplit::all(executors, &self.total_cores))
    }

    /// Checks the counts and the prices.
    pub(super) fn check(&self) -> Result<(), DecideError> {
        let counts = [&self.executors, &self.cores_per_executor, &self.total_cores];
        let counts = counts.into_iter().flatten().chain(&self.memory_per_executor_mib);
        if counts.chain(&self.batch_sizes).chain(&self.partition_size).any(|count| *count == 0) {
            return Err(DecideError::ZeroConfiguration);
        }
        if let Some(sheet) = &self.sheet {
            sheet.check()?;
        }
        match (&self.catalog, &self.sheet) {
            (Some(catalog), Some(sheet)) if catalog.currency != sheet.currency => {
                let (first, second) = (catalog.currency.clone(), sheet.currency.clone());
                Err(DecideError::Catalog(CatalogError::TwoCurrencies { first, second }))
            }
            _ => Ok(()),
        }
    }

    /// Returns the currency of all prices.
    pub(super) fn currency(&self) -> String {
        match (&self.catalog, &self.sheet) {
            (Some(catalog), _) => catalog.currency.clone(),
            (None, Some(sheet)) => sheet.currency.clone(),
            (None, None) => "USD".to_owned(),
        }
    }

    /// Whether the machine type and the batch size of an arm are among the choices.
    pub(crate) fn has(&self, arm: &Arm) -> bool {
        (self.machines.is_empty() || self.machines.contains(&arm.machine))
            && (self.batch_sizes.is_empty() || self.batch_sizes.contains(&arm.batch_size))
    }

    /// Returns the prices of an arm: those of the catalog, or else those of the sheet if it covers
    /// the arm's hardware.
    pub(crate) fn pricing(&self, predictor: &JointPredictor, arm: usize) -> Pricing {
        let context = &predictor.fitted(arm).job.context;
        let arm = &predictor.arms()[arm];
        let in_catalog = self.catalog.as_ref().and_then(|catalog| catalog.find(&arm.machine).ok());
        if let Some(machine) = in_catalog.filter(|_| arm.is_named) {
            return Pricing::Machines(machine.clone());
        }
        let accelerated = arm.accelerator.is_some();
        let fitting = |sheet: PriceSheet| {
            if self.keeps_sheet { sheet } else { sheet.or_usual_for(arm.accelerator.as_deref()) }
        };
        match self.sheet.clone().map(fitting) {
            Some(sheet) if sheet.check_for(arm.accelerator.as_deref()).is_ok() => {
                let sheet = sheet.for_cores_of(context.host.core_share);
                Pricing::Sheet { sheet, accelerated, shared_accelerators: context.shared_accelerators() }
            }
            _ => Pricing::Unknown,
        }
    }
}
