//! Speeds from the built-in public measurements.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use foreglow_public::{
    Case, Conditions, Gpus, KnownSpeed, Measurements, NetworkCosts, Precision, PublicModel, SoftwareKind, Speed,
    Variances, years,
};
use foreglow_shared::Mode;

struct Fitted {
    table: Measurements,
    model: PublicModel,
    resnet50: NetworkCosts,
}

impl Fitted {
    fn new() -> Self {
        let table = Measurements::built_in();
        let model = table.model_for("resnet50", &Variances::built_in()).unwrap();
        let resnet50 = table.costs("resnet50", 224).unwrap();
        Self { table, model, resnet50 }
    }

    fn case(&self, gpu: &str, gpus: u32) -> Case<'_> {
        let place = self.table.gpus.place(gpu, None).unwrap();
        let conditions = Conditions {
            network: usize::MAX,
            gpu: place,
            mode: Mode::Training,
            format: Precision::Mixed,
            gpus,
            nodes: 1,
            batch: Some(128),
        };
        let gpu = &self.table.gpus.all()[place];
        self.model.own_case(&self.resnet50, gpu, conditions, SoftwareKind::Plain, years("2025"))
    }

    fn speed(&self, gpu: &str, known: &[KnownSpeed<'_>], kind: Option<SoftwareKind>) -> Speed {
        self.model.speeds(&[self.case(gpu, 1)], known, kind)[0].unwrap()
    }

    fn known(&self, gpu: &str, images_per_sec: f64) -> KnownSpeed<'_> {
        KnownSpeed { case: self.case(gpu, 1), images_per_sec, variance: 0.0 }
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the test reads the files of the tables")]
fn the_built_in_tables_are_complete_small_and_free_of_scores() {
    let data = |name: &str| std::fs::read(format!("{}/data/{name}.csv", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let all: Vec<u8> =
        ["sources", "networks", "measurements", "deviations", "gpus"].iter().flat_map(|name| data(name)).collect();
    let compressed = miniz_oxide::deflate::compress_to_vec(&all, 9);
    assert!(compressed.len() <= 150_000, "{} bytes", compressed.len());
    let table = Measurements::built_in();
    assert!(table.rows.len() > 3_000, "{} rows", table.rows.len());
    for row in &table.rows {
        let source = &table.sources[row.source];
        assert!(row.date.len() >= 4 && !source.licence.is_empty() && !source.address.is_empty(), "{row:?}");
        assert!(source.kind != SoftwareKind::Tuned || source.name == "tuned", "{row:?}");
    }
    assert_ne!(Variances::built_in(), Variances::default());
}

#[test]
fn a_known_speed_moves_all_others_and_narrows_their_intervals() {
    let fitted = Fitted::new();
    let kind = Some(SoftwareKind::Plain);
    for (gpu, factor) in [("A100", 1.5), ("L4", 0.6)] {
        let before = fitted.speed(gpu, &[], kind);
        let expected = fitted.speed("RTX 3090", &[], kind).images_per_sec();
        let after = fitted.speed(gpu, &[fitted.known("RTX 3090", expected * factor)], kind);
        assert!(after.log_deviation < 0.8 * before.log_deviation, "{before:?} {after:?}");
        let moved = after.log_mean - before.log_mean;
        assert!(moved * libm::log(factor) > 0.0, "{moved}");
        let twice = [fitted.known("RTX 3090", expected * factor), fitted.known("T4", expected * factor / 4.0)];
        assert!(fitted.speed(gpu, &twice, kind).log_deviation < after.log_deviation);
    }
}

#[test]
fn many_own_numbers_on_a_gpu_outweigh_the_public_ones() {
    let fitted = Fitted::new();
    let own = fitted.speed("L4", &[], None).images_per_sec() * 2.0;
    let known: Vec<KnownSpeed> = std::iter::repeat_n(fitted.known("L4", own), 20).collect();
    let after = fitted.speed("L4", &known, None);
    assert!((after.images_per_sec() / own - 1.0).abs() < 0.1, "{} {own}", after.images_per_sec());
}

#[test]
fn the_less_certain_an_own_number_is_the_less_it_says() {
    let fitted = Fitted::new();
    let kind = Some(SoftwareKind::Plain);
    let known = fitted.known("RTX 3090", fitted.speed("RTX 3090", &[], kind).images_per_sec() * 2.0);
    let with = |variance: f64| fitted.speed("A100", &[KnownSpeed { variance, ..known }], kind);
    let (none, exact, rough, useless) = (fitted.speed("A100", &[], kind), with(0.0), with(0.3), with(1e9));
    assert!(exact.log_mean > rough.log_mean && rough.log_mean > useless.log_mean);
    assert!(exact.log_deviation < rough.log_deviation && rough.log_deviation < useless.log_deviation);
    assert!((useless.log_mean - none.log_mean).abs() < 1e-6, "{useless:?} {none:?}");
}

#[test]
fn software_of_unknown_kind_is_less_certain_than_plain_software() {
    let fitted = Fitted::new();
    let [unknown, plain, tuned] =
        [None, Some(SoftwareKind::Plain), Some(SoftwareKind::Tuned)].map(|kind| fitted.speed("A100", &[], kind));
    assert!(unknown.log_deviation > plain.log_deviation);
    assert!(tuned.log_mean > plain.log_mean);
}

#[test]
fn newer_gpus_are_faster_and_several_are_faster_than_one() {
    let fitted = Fitted::new();
    let speed = |gpu: &str| fitted.speed(gpu, &[], None).images_per_sec();
    assert!(speed("T4") < speed("L4") && speed("L4") < speed("A100") && speed("A100") < speed("H100"));
    let [one, eight] = [1, 8].map(|gpus| fitted.model.speeds(&[fitted.case("A100", gpus)], &[], None)[0].unwrap());
    let ratio = eight.images_per_sec() / one.images_per_sec();
    assert!((4.0..8.5).contains(&ratio), "{ratio}");
}

#[test]
fn a_gpu_without_units_for_the_format_has_no_speed() {
    let fitted = Fitted::new();
    let case = fitted.case("P100", 1);
    let conditions = Conditions { format: Precision::Int8, ..case.conditions };
    assert_eq!(fitted.model.speeds(&[Case { conditions, ..case }], &[], None), [None]);
    assert!(!Gpus::built_in().find("P100", None).unwrap().has(Precision::Int8));
}

/// `model/tests/behaviour/public.rs` has the same digits, natively and in a browser.
#[test]
fn the_times_of_a_training_with_a_known_speed_have_these_digits() {
    let fitted = Fitted::new();
    let known = [fitted.known("RTX 3090", 812.0)];
    let images = libm::log(1_281_167.0 * 90.0);
    let digits = [("L4", 1), ("NVIDIA A100-SXM4-40GB", 1), ("H100", 8)].map(|(gpu, gpus)| {
        let speed = fitted.model.speeds(&[fitted.case(gpu, gpus)], &known, None)[0].unwrap();
        format!("{:e}", libm::exp(images - speed.log_mean))
    });
    assert_eq!(digits, ["2.3054462788794513e5", "5.848600864215775e4", "5.1780581234226065e3"]);
}
