//! Data of the page: jobs, questions, views, and their texts. All modules are tested natively.

pub mod candidate_list;
pub mod edits;
pub mod example;
pub mod job;
pub mod left_out;
pub mod machine_choice;
pub mod neighbours;
pub mod run_table;
pub mod switch;
pub mod text;
pub mod unmeasured;
pub mod view;
pub mod view_state;
pub mod workload;
