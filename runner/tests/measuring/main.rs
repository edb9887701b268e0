//! The measuring commands end to end, with the real binary and real images and texts.

#[cfg(test)]
mod adapters;
#[cfg(test)]
mod bench_folder;
#[cfg(test)]
mod calibrate;
#[cfg(test)]
mod collect;
mod core_share;
#[cfg(test)]
mod data;
#[cfg(test)]
mod enforced;
#[cfg(test)]
mod leftovers;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod long_run;
#[cfg(test)]
mod output;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod programs;
#[cfg(test)]
mod run;
#[cfg(test)]
mod texts;
#[cfg(test)]
mod trained_networks;
#[cfg(test)]
mod training;
#[cfg(test)]
mod training_rounds;
#[cfg(test)]
mod uneven;
