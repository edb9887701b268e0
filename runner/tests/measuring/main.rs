//! The measuring commands, end to end, with the real binary and real images.

mod bench_folder;
mod collect;
mod lists;
mod processes;
mod run;
