//! Output of `foreglow read-test`.

use foreglow_console::output::Format;
use foreglow_console::table::{aligned, csv_of, table};
use foreglow_data::speed::Speed;
use foreglow_model::{line_through, median};
use serde_json::{Value, json};

/// A finished test.
pub struct Test {
    /// Index in the plan.
    pub place: u64,
    /// Location of the images.
    pub data: String,
    /// Format of the images.
    pub format: &'static str,
    /// Whether the files were in the page cache.
    pub is_cached: bool,
    /// Images per batch.
    pub batch_size: usize,
    /// Number of batches.
    pub batches: usize,
    /// Repetition, from 1.
    pub repetition: u32,
    /// Measured throughput.
    pub speed: Speed,
}

/// Throughput of the CNN on one thread.
pub struct CnnSpeed {
    /// Name of the CNN.
    pub model: String,
    /// Name of the device.
    pub device: String,
    /// Images per second of one slot, without reading and decoding.
    pub images_per_sec: f64,
}

/// Results of all measurements.
pub struct Report {
    /// Tests in the order of the plan.
    pub tests: Vec<Test>,
    /// Threads that read and decoded.
    pub threads: usize,
    /// Side of the decoded images, pixels.
    pub image_px: u32,
    /// Throughput of the CNN, unless it was not measured.
    pub cnn: Option<CnnSpeed>,
}

/// Tests of one data set with the same state of the cache.
struct Input<'a> {
    tests: Vec<&'a Test>,
    images_per_sec: f64,
    /// Share of a slot's time for reading and decoding.
    share_percent: Option<f64>,
}

/// Name of a parameter, and its value in a test.
type Parameter = (&'static str, fn(&Test) -> f64);

/// Parameters that the throughput may depend on, as in Javaheri, "Data Processing and Machine
/// Learning in the Cloud", §2d and table 1, where "data size" is the number of images.
const PARAMETERS: [Parameter; 4] = [
    ("batch_size", |test| test.batch_size as f64),
    ("batches", |test| test.batches as f64),
    ("repetition", |test| f64::from(test.repetition)),
    ("images", |test| (test.batch_size * test.batches) as f64),
];

impl Report {
    /// Renders the report in a format.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Table => self.table(),
            Format::Json => format!("{:#}\n", self.json()),
            Format::Csv => self.csv(),
        }
    }

    fn inputs(&self) -> Vec<Input<'_>> {
        let same = |a: &Test, b: &Test| a.data == b.data && a.is_cached == b.is_cached;
        self.tests
            .chunk_by(same)
            .map(|tests| {
                let images_per_sec = median(tests.iter().map(|test| test.speed.images_per_sec()));
                let share_percent = self.cnn.as_ref().map(|cnn| {
                    let (input, cnn) = (self.threads as f64 / images_per_sec, 1.0 / cnn.images_per_sec);
                    100.0 * input / (input + cnn)
                });
                Input { tests: tests.iter().collect(), images_per_sec, share_percent }
            })
            .collect()
    }

    fn json(&self) -> Value {
        let tests: Vec<Value> = self.tests.iter().map(test_json).collect();
        let inputs: Vec<Value> = self.inputs().iter().map(Input::json).collect();
        let cnn = self
            .cnn
            .as_ref()
            .map(|cnn| json!({ "model": cnn.model, "device": cnn.device, "images_per_sec": cnn.images_per_sec }));
        json!({
            "schema": 1,
            "threads": self.threads,
            "image_px": self.image_px,
            "cnn": cnn,
            "inputs": inputs,
            "tests": tests,
        })
    }

    fn csv(&self) -> String {
        let columns = "data,format,is_cached,batch_size,batches,repetition,images,broken,secs,read_secs,decode_secs,\
            images_per_sec";
        csv_of(columns, self.tests.iter().map(test_json))
    }

    fn table(&self) -> String {
        let inputs = self.inputs();
        let columns = aligned(["<format", "<files", "tests", "images/s", "reading", "share of a slot", "<bottleneck"]);
        let speeds = table(
            &columns,
            inputs.iter().map(|input| {
                vec![
                    input.format().to_owned(),
                    cached(input.is_cached()).to_owned(),
                    input.tests.len().to_string(),
                    format!("{:.1}", input.images_per_sec),
                    format!("{:.0} %", input.reading_percent()),
                    input.share_percent.map_or_else(|| "unknown".into(), |share| format!("{share:.1} %")),
                    input.bottleneck().unwrap_or("unknown").to_owned(),
                ]
            }),
        );
        let columns = aligned(["<format", "<files", "<parameter", "R", "slope, images/s per unit"]);
        let lines = inputs.iter().flat_map(|input| {
            PARAMETERS.map(|(name, of)| {
                let (r, slope) = input.line(of).map_or_else(
                    || ("unknown".into(), "unknown".into()),
                    |line| (format!("{:.3}", line.r), format!("{:.2}", line.slope)),
                );
                vec![input.format().to_owned(), cached(input.is_cached()).to_owned(), name.to_owned(), r, slope]
            })
        });
        let cnn = self.cnn.as_ref().map_or_else(String::new, |cnn| {
            format!("\n{} takes {:.1} images/s on one slot of {}.\n", cnn.model, cnn.images_per_sec, cnn.device)
        });
        let verdicts: String = inputs.iter().filter_map(|input| input.verdict(self.threads)).collect();
        format!("{speeds}{cnn}{verdicts}\n{}", table(&columns, lines))
    }
}

impl Input<'_> {
    fn format(&self) -> &'static str {
        self.tests.first().map_or("", |test| test.format)
    }

    fn is_cached(&self) -> bool {
        self.tests.first().is_some_and(|test| test.is_cached)
    }

    fn line(&self, of: fn(&Test) -> f64) -> Option<foreglow_model::Line> {
        let points: Vec<_> = self.tests.iter().map(|test| (of(test), test.speed.images_per_sec())).collect();
        line_through(&points)
    }

    /// Returns the share of the threads' time that is spent reading.
    fn reading_percent(&self) -> f64 {
        let sum = |part: fn(&Speed) -> f64| self.tests.iter().map(|test| part(&test.speed)).sum::<f64>();
        let read = sum(|speed| speed.read_secs);
        100.0 * read / (read + sum(|speed| speed.decode_secs)).max(1e-9)
    }

    fn bottleneck(&self) -> Option<&'static str> {
        self.share_percent.map(|share| if share > 50.0 { "the input" } else { "the CNN" })
    }

    fn verdict(&self, threads: usize) -> Option<String> {
        let share = self.share_percent.filter(|share| *share > 50.0)?;
        let advice = match (self.reading_percent() > 50.0, self.format()) {
            (true, "folder" | "drawn images") => {
                "many small files; pack them with `foreglow pack`, or keep them in \
                memory"
            }
            (true, _) => "the disk; keep the files in memory, or on a faster disk",
            (false, _) => "decoding; store smaller images, or give each GPU more cores",
        };
        let (format, files, speed) = (self.format(), cached(self.is_cached()), self.images_per_sec);
        let threads = if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        Some(format!(
            "From {format}, {files}, the input is the bottleneck: {speed:.1} images/s on {threads}, {share:.0} % of \
            a slot's time. The cause: {advice}.\n"
        ))
    }

    fn json(&self) -> Value {
        let regressions: Vec<Value> = PARAMETERS
            .iter()
            .map(|(name, of)| {
                let line = self.line(*of);
                json!({
                    "parameter": name,
                    "r": line.map(|line| line.r),
                    "slope": line.map(|line| line.slope),
                    "intercept": line.map(|line| line.intercept),
                })
            })
            .collect();
        json!({
            "data": self.tests.first().map(|test| &test.data),
            "format": self.format(),
            "is_cached": self.is_cached(),
            "tests": self.tests.len(),
            "images_per_sec": self.images_per_sec,
            "reading_percent": self.reading_percent(),
            "input_percent": self.share_percent,
            "bottleneck": self.share_percent.map(|share| if share > 50.0 { "input" } else { "cnn" }),
            "regressions": regressions,
        })
    }
}

fn test_json(test: &Test) -> Value {
    let speed = &test.speed;
    json!({
        "data": test.data,
        "format": test.format,
        "is_cached": test.is_cached,
        "batch_size": test.batch_size,
        "batches": test.batches,
        "repetition": test.repetition,
        "images": speed.images,
        "broken": speed.broken,
        "secs": speed.secs,
        "read_secs": speed.read_secs,
        "decode_secs": speed.decode_secs,
        "images_per_sec": speed.images_per_sec(),
    })
}

fn cached(is_cached: bool) -> &'static str {
    if is_cached { "in memory" } else { "on disk" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(place: u64, is_cached: bool, batch_size: usize, images_per_sec: f64) -> Test {
        let images = batch_size as u64 * 2;
        let secs = images as f64 / images_per_sec;
        let speed = Speed { images, secs, read_secs: secs * 0.75, decode_secs: secs * 0.25, ..Speed::default() };
        let data = "photos".to_owned();
        Test { place, data, format: "folder", is_cached, batch_size, batches: 2, repetition: 1, speed }
    }

    fn report(cnn: f64) -> Report {
        let tests =
            vec![test(0, false, 2, 100.0), test(1, false, 4, 200.0), test(2, true, 2, 900.0), test(3, true, 4, 900.0)];
        let cnn = Some(CnnSpeed { model: "resnet18".into(), device: "cpu".into(), images_per_sec: cnn });
        Report { tests, threads: 1, image_px: 64, cnn }
    }

    #[test]
    fn the_table_shows_the_bottleneck_with_advice() {
        insta::assert_snapshot!(report(450.0).render(Format::Table), @r"
        format   files       tests   images/s   reading   share of a slot   bottleneck
        ────────────────────────────────────────────────────────────────────────────────
        folder   on disk         2      150.0      75 %            75.0 %   the input
        folder   in memory       2      900.0      75 %            33.3 %   the CNN

        resnet18 takes 450.0 images/s on one slot of cpu.
        From folder, on disk, the input is the bottleneck: 150.0 images/s on 1 thread, 75 % of a slot's time. The cause: many small files; pack them with `foreglow pack`, or keep them in memory.

        format   files       parameter          R   slope, images/s per unit
        ──────────────────────────────────────────────────────────────────────
        folder   on disk     batch_size     1.000                      50.00
        folder   on disk     batches      unknown                    unknown
        folder   on disk     repetition   unknown                    unknown
        folder   on disk     images         1.000                      25.00
        folder   in memory   batch_size   unknown                    unknown
        folder   in memory   batches      unknown                    unknown
        folder   in memory   repetition   unknown                    unknown
        folder   in memory   images       unknown                    unknown
        ");
    }

    #[test]
    fn json_has_the_regressions_and_shares() {
        let json = report(150.0).json();
        let cold = &json["inputs"][0];
        assert_eq!((cold["images_per_sec"].as_f64(), cold["input_percent"].as_f64()), (Some(150.0), Some(50.0)));
        let line = &cold["regressions"][0];
        assert_eq!((line["parameter"].as_str(), line["slope"].as_f64()), (Some("batch_size"), Some(50.0)));
        assert!((line["r"].as_f64().unwrap() - 1.0).abs() < 1e-12, "{line}");
        assert_eq!(json["inputs"][1]["regressions"][0]["r"], Value::Null, "a constant parameter has no regression");
        assert_eq!(json["tests"].as_array().unwrap().len(), 4);
    }

    #[test]
    fn two_threads_need_twice_the_throughput_to_feed_a_slot_each() {
        let two = Report { threads: 2, ..report(150.0) };
        assert!((two.inputs()[0].share_percent.unwrap() - 200.0 / 3.0).abs() < 1e-9);
    }
}
