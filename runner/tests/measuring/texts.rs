//! The text classifiers end to end: generated texts and the user's own, inference and training, and
//! invalid input.

use std::path::{Path, PathBuf};

use foreglow_shared::{Context, Mode, Outcome, Sample, TextInput};

use crate::bench_folder::{answer, sample, text};

fn run(model: &str, options: &str) -> (i32, Sample) {
    let command = format!("run --model {model} --device cpu --format json {options}");
    sample(&command.split_whitespace().collect::<Vec<_>>())
}

fn completed(model: &str, options: &str) -> Sample {
    let (code, sample) = run(model, options);
    assert_eq!((code, sample.outcome), (0, Outcome::Completed), "{options}: {:?}", sample.reason);
    sample
}

fn trained(model: &str, options: &str) -> Sample {
    completed(model, &format!("--mode training {options}"))
}

fn losses(sample: &Sample) -> Vec<f64> {
    let epochs = sample.extra["training"]["epochs"].as_array().unwrap();
    epochs.iter().map(|epoch| epoch["loss"].as_f64().unwrap()).collect()
}

fn assert_close(left: &[f64], right: &[f64]) {
    assert_eq!(left.len(), right.len());
    for (a, b) in left.iter().zip(right) {
        assert!((a - b).abs() <= 1e-4 * a.abs().max(1.0), "{left:?} and {right:?}");
    }
}

fn told(sample: &Sample) -> f64 {
    let held_out = &sample.extra["training"]["held_out"];
    assert_eq!(held_out["images"], 200);
    held_out["accuracy"].as_f64().unwrap()
}

/// A folder with the structure of 20 Newsgroups (class folders of texts named by numbers), and a
/// GloVe file with eight dimensions.
struct News(tempfile::TempDir);

const COMMON: &str = "the of and to a in is that it for ";
const TOPICS: [(&str, &str); 2] = [("rec.autos", "engine wheel brake"), ("sci.space", "moon orbit rocket")];

impl News {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (class, topic) in TOPICS {
            std::fs::create_dir_all(folder.texts().join(class)).unwrap();
            for number in 0..8 {
                let body = format!(
                    "From: me@here ({number})\n\n>> {}{topic} {COMMON}",
                    format!("{topic} ").repeat(number % 3)
                );
                std::fs::write(folder.texts().join(class).join(format!("{}", 60_000 + number)), body).unwrap();
            }
        }
        let words = TOPICS.iter().flat_map(|(_, topic)| topic.split(' ')).chain(["the", "unheard"]);
        let line = |(place, word): (usize, &str)| {
            let numbers: Vec<String> =
                (0..8).map(|dim| format!("{:.2}", ((place * 5 + dim) % 7) as f64 / 3.5 - 1.0)).collect();
            format!("{word} {}\n", numbers.join(" "))
        };
        std::fs::write(folder.vectors(), words.enumerate().map(line).collect::<String>()).unwrap();
        folder
    }

    fn texts(&self) -> PathBuf {
        self.0.path().join("20_newsgroups")
    }

    fn vectors(&self) -> PathBuf {
        self.0.path().join("glove.8d.txt")
    }

    fn first(&self) -> PathBuf {
        self.texts().join("rec.autos/60000")
    }

    fn options(&self) -> String {
        format!("--data {} --vectors {} --words 12", text(&self.texts()), text(&self.vectors()))
    }
}

#[test]
fn generated_texts_run_on_executors_and_threads() {
    for model in ["text_cnn", "text_lstm"] {
        let sample =
            completed(model, "--images 40 --words 30 --sampling-rate 0.5 --batch-size 4 --executors 2 --cores 2");
        let workload = &sample.workload;
        assert_eq!((workload.mode, workload.images, workload.image_px), (Mode::Inference, 40, 1));
        assert_eq!(workload.text, Some(TextInput { words: 30, vector_dims: 200, ..TextInput::default() }));
        assert_eq!(workload.describe_data(), "40 texts of 30 words");
        assert_eq!(sample.images_processed, Some(20));
        assert!(sample.extra["phases"]["decode_secs"].as_f64().unwrap() > 0.0);
        let longer = completed(model, "--images 40 --words 60 --sampling-rate 0.5 --batch-size 4");
        assert_ne!(Context::of(&sample), Context::of(&longer), "longer texts take another time");
    }
}

#[test]
fn the_default_is_500_words_of_generated_texts() {
    let (code, out, err) = answer(&["run", "--model", "text-cnn", "--sampling-rate", "0.01", "--device", "cpu"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("texts") && out.contains("3200 of 500 words, 8 at once"), "{out}");
}

#[test]
fn the_text_cnn_learns_to_classify_held_out_texts() {
    learns_to_tell_texts_that_it_has_not_seen("text_cnn", "--words 60 --epochs 5 --learning-rate 0.002");
}

#[test]
fn the_text_lstm_learns_to_classify_held_out_texts() {
    learns_to_tell_texts_that_it_has_not_seen("text_lstm", "--words 30 --epochs 6 --learning-rate 0.003");
}

fn learns_to_tell_texts_that_it_has_not_seen(model: &str, options: &str) {
    let usual = "--images 800 --sampling-rate 1 --batch-size 32 --optimizer adam --test-images 200 --cores 2";
    let sample = trained(model, &format!("{usual} {options}"));
    let losses = losses(&sample);
    assert!(losses[losses.len() - 1] < losses[0] / 3.0, "{losses:?}");
    assert!(told(&sample) > 0.9, "{} of the texts are told", told(&sample));
}

#[test]
fn the_loss_depends_neither_on_threads_nor_on_the_division_of_a_mini_batch() {
    for model in ["text_cnn", "text_lstm"] {
        let options = "--images 48 --words 20 --sampling-rate 1 --epochs 2 --optimizer adam";
        // With dropout, whose masks are drawn per share.
        let curves = [1, 3]
            .map(|cores| losses(&trained(model, &format!("{options} --batch-size 8 --share-size 4 --cores {cores}"))));
        assert_close(&curves[0], &curves[1]);
        let again = format!("{options} --batch-size 8 --executors 2 --average-every 2");
        assert_close(&losses(&trained(model, &again)), &losses(&trained(model, &format!("{again} --cores 2"))));
    }
}

#[test]
fn a_folder_of_texts_is_classified_and_learned() {
    let news = News::new();
    let options = news.options();
    for model in ["text_cnn", "text_lstm"] {
        let sample = completed(model, &format!("{options} --sampling-rate 1 --executors 2"));
        let workload = &sample.workload;
        assert_eq!(workload.images, 16);
        let data = workload.data.as_deref().unwrap();
        assert!(Path::new(data).is_absolute() && data.ends_with("20_newsgroups"), "{data}");
        let vectors = Some(text(&news.vectors()).to_owned());
        let expected = TextInput { words: 12, vector_dims: 8, vocabulary: Some(5000), vectors, ..TextInput::default() };
        assert_eq!(workload.text.as_ref(), Some(&expected));
        assert_eq!(sample.images_processed, Some(16));
        let options =
            format!("{options} --sampling-rate 1 --batch-size 4 --epochs 10 --optimizer adam --learning-rate 0.01");
        let sample = trained(model, &format!("{options} --test-data {}", text(&news.texts())));
        let losses = losses(&sample);
        assert!(losses[9] < losses[0] / 2.0, "{model}: {losses:?}");
        assert_eq!(sample.extra["training"]["held_out"]["images"], 16);
    }
}

#[test]
fn broken_texts_are_skipped_up_to_the_limit() {
    let news = News::new();
    std::fs::write(news.first(), b"\x7fELF\0\0 no text").unwrap();
    std::fs::write(news.texts().join("sci.space/60007"), "1, 2, 3").unwrap();
    let options = format!("{} --sampling-rate 1 --partition-size 16", news.options());
    let (code, sample) = run("text_cnn", &options);
    assert_eq!((code, sample.outcome), (2, Outcome::Failed));
    let reason = sample.reason.unwrap();
    assert!(reason.contains("broken texts: 2, more than the 0 that --max-broken allows"), "{reason}");
    assert!(reason.contains("60000 (it is not a text)") || reason.contains("60007 (it has no word"), "{reason}");
    let sample = completed("text_cnn", &format!("{options} --max-broken 2"));
    assert_eq!((sample.images_processed, &sample.extra["broken_images"]["count"]), (Some(14), &2.into()));
}

#[test]
fn invalid_input_is_rejected_with_one_sentence() {
    let news = News::new();
    let (texts, vectors, words) = (news.texts(), news.vectors(), news.0.path());
    let write = |name: &str, content: &str| {
        std::fs::write(words.join(name), content).unwrap();
        words.join(name)
    };
    let whole = std::fs::read_to_string(&vectors).unwrap();
    let cut = write("cut.txt", &whole[..whole.len() - 12]);
    let word2vec = write("word2vec.txt", &format!("8 8\n{whole}"));
    let garbled = write("garbled.txt", &whole.replace("moon -0.71", "moon one"));
    let foreign = write("foreign.txt", "mond 1 2 3\n");
    std::fs::create_dir(words.join("empty")).unwrap();
    let (empty, absent) = (words.join("empty"), words.join("absent"));
    let said = |model: &str, data: &Path, options: &[&str]| {
        let command = [&["run", "--model", model, "--device", "cpu", "--data", text(data)], options].concat();
        let (code, out, err) = answer(&command);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert_eq!(err.trim().lines().count(), 1, "one sentence: {err}");
        err
    };
    let expect = |model: &str, data: &Path, options: &[&str], sentence: &str| {
        let said = said(model, data, options);
        assert!(said.contains(sentence), "{said}");
    };
    let with = |path: &PathBuf| ["--vectors".to_owned(), text(path).to_owned()];
    let vectors_of = |data: &Path, path: &PathBuf, sentence: &str| {
        let options = with(path);
        expect("text_cnn", data, &[&options[0], &options[1]], sentence);
    };
    vectors_of(&empty, &vectors, "holds no text; put text files into sub-folders");
    vectors_of(&absent, &vectors, "does not exist; give an existing folder of texts with --data");
    vectors_of(&texts, &absent, "absent cannot be read: No such file or directory");
    vectors_of(&texts, &cut, "cut.txt, line 8: 6 numbers follow the word, and 8 in line 1; is the file complete?");
    vectors_of(&texts, &word2vec, "word2vec.txt, line 1: 1 numbers follow the word; name a GloVe file");
    vectors_of(&texts, &garbled, "garbled.txt, line 4: \"one\" is not a number");
    vectors_of(&texts, &foreign, "words of the vocabulary has a vector in");
    expect("text_cnn", &texts, &[], "text_cnn needs word vectors; give a GloVe file");
    let [option, path] = with(&vectors);
    let known = [option.as_str(), path.as_str()];
    expect(
        "text_cnn",
        &texts,
        &[&known[..], &["--words", "4"]].concat(),
        "cannot take texts of 4 words; choose --words from 5",
    );
    expect(
        "text_cnn",
        &texts,
        &[&known[..], &["--image-px", "32"]].concat(),
        "--image-px is for images, and text_cnn takes texts",
    );
    expect("text_lstm", &texts, &[&known[..], &["--vocabulary", "0"]].concat(), "write a whole number, 1 or more");
    expect("text_lstm", &texts, &[&known[..], &["--vocabulary", "10"]].concat(), "no word of --vocabulary 10 is left");
    expect("lenet5", &texts, &known, "--vectors is for texts, and lenet5 takes images");
    expect("lenet5", &texts, &["--words", "9"], "--words is for texts, and lenet5 takes images");
    expect("lenet5", &texts, &[], "holds no image, only other files");
    let (code, _, err) = answer(&["run", "--model", "text_cnn", "--draw", "digits"]);
    assert!(code == 2 && err.contains("--draw digits is for images, and text_cnn takes texts"), "{err}");
    let (code, _, err) = answer(&["read-test", "--model", "text_cnn"]);
    assert!(code == 2 && err.contains("read-test reads images, and text_cnn takes texts"), "{err}");
}

#[test]
fn a_sweep_over_text_lengths_starts_short_and_resumes() {
    let news = News::new();
    let file = news.0.path().join("samples.jsonl");
    let (texts, vectors) = (news.texts(), news.vectors());
    let arguments = [
        &["collect", "--model", "text_cnn", "--data", text(&texts), "--vectors", text(&vectors)][..],
        &["--words", "24,12", "--executors", "1", "--cores", "1", "--sampling-rate", "0.5,1", "--device", "cpu"],
        &["--output", text(&file)],
    ]
    .concat();
    let (code, out, err) = answer(&[&arguments[..], &["--dry-run"]].concat());
    assert_eq!(code, 0, "{err}");
    assert!(out.lines().any(|line| line.contains("   words   ")), "{out}");
    let (code, _, err) = answer(&arguments);
    assert_eq!(code, 0, "{err}");
    let kept = std::fs::read_to_string(&file).unwrap();
    let runs: Vec<_> = kept
        .lines()
        .map(|line| foreglow_shared::parse_line(line).unwrap())
        .map(|sample| (sample.workload.text.unwrap().words, sample.sampling_rate))
        .collect();
    assert_eq!(runs, [(12, 0.5), (24, 0.5), (12, 1.0), (24, 1.0)]);
    let (code, _, err) = answer(&arguments);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("4 of 4 runs are already in"), "{err}");
}
