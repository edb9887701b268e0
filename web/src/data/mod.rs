//! What the page is about: jobs, questions, views, and what is said of them. Everything here is
//! tested natively.

pub mod duration;
pub mod edits;
pub mod example;
pub mod job;
pub mod left_out;
pub mod machine_choice;
pub mod neighbours;
pub mod run_table;
pub mod switch;
pub mod text;
pub mod view;
pub mod why;
pub mod workload;
