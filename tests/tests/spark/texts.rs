//! Text classifiers on Spark.

use std::fs;
use std::path::Path;

use foreglow_shared::{Outcome, TextInput};
use foreglow_tests::Cluster;

use crate::support::{collect, only_sample, run};
use crate::training::learns_as_here;

/// Runs inference with the text CNN and training with the LSTM on a folder of texts with 2-d GloVe
/// vectors; the training is compared with the local engine.
pub fn a_folder_of_texts_is_read_and_learned(cluster: &Cluster) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let data = write_news(home.path())?;
    let job = format!("--model text_cnn {data} --sampling-rate 1 --memory 600 --executors 2 --cores 1");
    let arguments = collect(cluster, home.path(), &job);
    let asked = only_sample(&run(home.path(), &arguments));
    assert_eq!(asked.outcome, Outcome::Completed, "{:?}", asked.reason);
    let vectors = home.path().join("glove.2d.txt").display().to_string();
    let text =
        TextInput { words: 12, vector_dims: 2, vocabulary: Some(5000), vectors: Some(vectors), ..TextInput::default() };
    assert_eq!(asked.workload.text, Some(text));
    assert_eq!((asked.workload.images, asked.images_processed), (16, Some(16)));

    // The cluster's CPU model is known only once executors run; a resumed collection still
    // recognises its file.
    assert!(asked.host.cpu.is_some());
    let again = run(home.path(), &arguments);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""), "{}", again.stderr);

    let job = format!(
        "--model text_lstm --mode training {data} --sampling-rate 1 --batch-size 4 --epochs 2 --average-every 2 --memory 600 \
         --executors 2 --cores 1"
    );
    let learned = only_sample(&run(home.path(), &collect(cluster, home.path(), &job)));
    assert_eq!(learned.outcome, Outcome::Completed, "{:?}", learned.reason);
    assert_eq!(learns_as_here(&learned, home.path(), &job)?, 2);
    Ok(())
}

/// Writes two classes of eight texts and a GloVe file, and returns the arguments that name them.
/// The ten most frequent words are stop words.
fn write_news(home: &Path) -> anyhow::Result<String> {
    let (texts, vectors) = (home.join("news"), home.join("glove.2d.txt"));
    for (class, topic) in [("rec.autos", "engine wheel brake"), ("sci.space", "moon orbit rocket")] {
        fs::create_dir_all(texts.join(class))?;
        for number in 0..8 {
            let body = format!("{topic} the of and to a in is that it for {}", format!("{topic} ").repeat(number % 3));
            fs::write(texts.join(class).join(number.to_string()), body)?;
        }
    }
    fs::write(&vectors, "engine 1 0\nwheel 0.9 0.1\nbrake 0.8 0\nmoon 0 1\norbit 0.1 0.9\nrocket 0 0.8\n")?;
    Ok(format!("--data {} --vectors {} --words 12", texts.display(), vectors.display()))
}
