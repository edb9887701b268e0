//! The accuracies of training runs: read from samples, grouped with the times, carried by links.

use foreglow_shared::{
    JobDefinition, LinkError, Question, Sample, TrainedAccuracy, View, group_by_context, group_by_definition,
    measured_choices, parse_line,
};
use serde_json::{Value, json};

use crate::words::{EXAMPLE, observation, view};

/// A whole training run with a seed, an averaging interval and the field `training`.
fn trained(number: u32, average_every: u32, training: Value) -> Sample {
    let mut value: Value = serde_json::from_str(EXAMPLE).unwrap();
    value["id"] = json!(format!("01939c5e-7c00-7000-8000-{number:012}"));
    value["workload"]["mode"] = json!("training");
    value["workload"]["images"] = json!(12000);
    value["workload"]["epochs"] = json!(3);
    value["workload"]["average_every"] = json!(average_every);
    value["sampling_rate"] = json!(0.5);
    value["seed"] = json!(number);
    value["training"] = training;
    parse_line(&value.to_string()).unwrap()
}

fn held_out(accuracy: f64) -> Value {
    json!({
        "learning_rate": 0.02, "schedule": "cosine", "optimizer": {"sgd": {"momentum": 0.9}},
        "epochs": [{"accuracy": 0.1}, {"accuracy": 0.5, "validation": {"accuracy": 0.6}}],
        "held_out": {"images": 1000, "loss": 0.1, "accuracy": accuracy},
    })
}

#[test]
fn the_accuracy_of_a_run_is_that_of_its_test_images_with_what_decided_it() {
    let accuracy = TrainedAccuracy::of(&trained(7, 1, held_out(0.97))).unwrap();
    assert_eq!((accuracy.executors, accuracy.images, accuracy.epochs, accuracy.seed), (2, 6000, 3, 7));
    assert_eq!(accuracy.accuracy, 0.97);
    assert_eq!(accuracy.conditions, "on test images, learning rate 0.02, cosine, sgd momentum 0.9");
}

#[test]
fn without_test_images_the_validation_of_the_last_epoch_counts_and_the_training_accuracy_never_does() {
    let mut training = held_out(0.97);
    training.as_object_mut().unwrap().remove("held_out");
    let accuracy = TrainedAccuracy::of(&trained(7, 1, training.clone())).unwrap();
    assert_eq!(accuracy.accuracy, 0.6);
    assert!(accuracy.conditions.starts_with("on validation images"), "{accuracy:?}");
    training["epochs"] = json!([{"accuracy": 0.9}]);
    assert_eq!(TrainedAccuracy::of(&trained(7, 1, training)), None);
    assert_eq!(TrainedAccuracy::of(&parse_line(EXAMPLE).unwrap()), None);
}

#[test]
fn a_run_that_did_not_complete_and_an_accuracy_that_is_no_share_are_left_out() {
    let mut stopped = trained(1, 1, held_out(0.97));
    stopped.outcome = foreglow_shared::Outcome::TimedOut;
    assert_eq!(TrainedAccuracy::of(&stopped), None);
    assert_eq!(TrainedAccuracy::of(&trained(1, 1, held_out(97.0))), None);
    assert_eq!(TrainedAccuracy::of(&trained(1, 1, json!("none"))), None);
}

#[test]
fn averaging_intervals_are_settings_of_one_job_with_titles_of_their_own() {
    let samples = [trained(1, 1, held_out(0.97)), trained(2, 8, held_out(0.96))];
    let jobs = group_by_context(&samples);
    assert_eq!(jobs.iter().map(|job| job.accuracies.len()).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(JobDefinition::of(&jobs[0].context), JobDefinition::of(&jobs[1].context));
    assert_eq!(group_by_definition(&samples).len(), 1);
    assert_eq!(measured_choices(&jobs, &jobs[0].context), 2);
    let titles: Vec<String> = jobs.iter().map(|job| job.context.title()).collect();
    assert!(!titles[0].contains("averaged") && titles[1].contains("averaged every 8 mini-batches"), "{titles:?}");
}

#[test]
fn a_link_carries_accuracies_and_the_minimum() {
    let mut shown = view(vec![observation(1, 1, 0.1, 101.25)]);
    shown.job.accuracies = vec![TrainedAccuracy::of(&trained(7, 1, held_out(0.97))).unwrap()];
    shown.question.min_accuracy = Some(0.95);
    assert_eq!(View::from_link(&shown.to_fragment()), Ok(shown.clone()));
    let json = serde_json::to_value(&shown).unwrap();
    assert_eq!(json["accuracies"][0][3], 0.97, "a row, as the runs are");

    shown.job.accuracies[0].accuracy = 1.5;
    assert!(matches!(View::from_link(&shown.to_fragment()), Err(LinkError::Form(_))));
    shown.job.accuracies.clear();
    shown.question = Question { min_accuracy: Some(95.0), ..shown.question };
    assert!(matches!(View::from_link(&shown.to_fragment()), Err(LinkError::Form(_))));
}
