//! Builds the command line that collects a sample.

use crate::spark_submit::LABEL_PREFIX;
use crate::{CommandTemplate, Configuration, Context, Engine, MachineType, Mode, NumberFormat, Resizing, Workload};

/// Placeholder for the master's address, which samples do not record.
const MASTER: &str = "spark://HOST:7077";

/// Returns the `foreglow collect …` command that measures one run of a job, quoted for a shell.
/// `place` is the option, with its value, for the destination of the sample; `None` for the store.
///
/// Returns `None` for jobs that Foreglow does not measure: of a CNN, inference with several epochs,
/// training whose optimiser is unknown, other units of work than images and texts, and several
/// machines or accelerators per executor. For a Spark cluster the user must replace the placeholder
/// `spark://HOST:7077`. The learning rate and the normalisation of images are omitted because they
/// do not change the time.
pub fn collect_command(
    context: &Context,
    configuration: &Configuration,
    sampling_rate: f64,
    place: Option<(&str, &str)>,
) -> Option<String> {
    let workload = &context.workload;
    if let Some(command) = &workload.command {
        return Some(program_command(command, context, configuration, sampling_rate, place));
    }
    if workload.unit.is_some() || context.accelerators_per_executor.is_some() || context.machines.is_some() {
        return None;
    }
    let training = match workload.mode {
        Mode::Inference if workload.epochs == 1 => Vec::new(),
        Mode::Inference => return None,
        Mode::Training => training_options(workload)?,
    };
    let mut words = vec!["foreglow".to_owned(), "collect".to_owned()];
    if context.engine == Engine::Spark {
        words.extend(["--engine", "spark", "--master", MASTER].map(str::to_owned));
        // The names of the hardware came from these properties, and the context must stay the same.
        for (label, name) in [("cpu", &context.host.cpu), ("adapter", &context.host.adapter)] {
            let property = name.as_ref().map(|name| shell_word(&format!("{LABEL_PREFIX}{label}={name}")));
            words.extend(property.into_iter().flat_map(|property| ["--spark-conf".to_owned(), property]));
        }
    }
    words.extend(training);
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), shell_word(&value)]);
    option("--model", workload.network.as_ref().unwrap_or(&workload.model).clone());
    option("--images", workload.images.to_string());
    match workload.classes {
        Some(classes) => option("--classes", classes.to_string()),
        // Otherwise the folders of the data set would determine the classes.
        None if workload.mode == Mode::Training && workload.data_path().is_some() && workload.network.is_none() => {
            option("--classes", "own".to_owned());
        }
        None => {}
    }
    let text = workload.text.as_ref();
    match text {
        None => option("--image-px", workload.image_px.to_string()),
        Some(text) => option("--words", text.words.to_string()),
    }
    let (resizing, usual) = (workload.resizing(), Resizing::default());
    if resizing.fit != usual.fit {
        option("--resize", resizing.fit.to_string());
    }
    if let Some(px) = resizing.resize_px {
        option("--resize-px", px.to_string());
    }
    if resizing.interpolation != usual.interpolation {
        option("--interpolation", resizing.interpolation.to_string());
    }
    option("--batch-size", workload.batch_size.to_string());
    if workload.has_drawn_digits() {
        option("--draw", "digits".to_owned());
    }
    if let Some(path) = workload.data_path() {
        option("--data", path.to_owned());
    }
    // Texts have only one format.
    if let Some(format) = workload.data_format.clone().filter(|_| text.is_none()) {
        option("--data-format", format);
    }
    if let Some(vocabulary) = text.and_then(|text| text.vocabulary) {
        option("--vocabulary", vocabulary.to_string());
    }
    if let Some(vectors) = text.and_then(|text| text.vectors.clone()) {
        option("--vectors", vectors);
    }
    let is_on_cluster = context.engine == Engine::Spark;
    option(
        "--device",
        match &configuration.accelerator {
            None => "cpu".into(),
            Some(_) if is_on_cluster => "gpu".into(),
            Some(name) => name.clone(),
        },
    );
    let format = workload.number_format();
    if format != NumberFormat::F32 {
        option("--dtype", format.to_string());
    }
    option("--executors", configuration.executors.to_string());
    let (name, cores) = configuration.split().cores_option();
    option(name, cores.to_string());
    option("--memory", configuration.memory_per_executor_mib.to_string());
    option("--partition-size", configuration.partition_size.to_string());
    option("--sampling-rate", sampling_rate.to_string());
    if let Some((name, path)) = place {
        option(name, path.to_owned());
    }
    if let Some(share) = context.host.core_share {
        words.extend(["--core-share".to_owned(), share.to_string()]);
    }
    if context.shares_accelerators {
        words.push("--share-gpu".to_owned());
    }
    if let Some(machine) = context.host.machine.as_ref().filter(|machine| MachineType::is_name(machine)) {
        words.extend(["--machine".to_owned(), shell_word(machine)]);
    }
    Some(words.join(" "))
}

/// Returns the command that measures a run of the user's own program.
fn program_command(
    command: &CommandTemplate,
    context: &Context,
    configuration: &Configuration,
    sampling_rate: f64,
    place: Option<(&str, &str)>,
) -> String {
    let workload = &context.workload;
    let mut words = vec!["foreglow".to_owned(), "collect".to_owned()];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), shell_word(&value)]);
    if workload.mode == Mode::Inference {
        option("--mode", Mode::Inference.as_str().to_owned());
    }
    option(if workload.unit.as_deref() == Some("steps") { "--steps" } else { "--images" }, workload.images.to_string());
    match workload.unit.as_deref() {
        None => option("--image-px", workload.image_px.to_string()),
        Some("images" | "steps") => {}
        Some(unit) => option("--unit", unit.to_owned()),
    }
    for (name, count) in [("--epochs", workload.epochs), ("--batch-size", workload.batch_size)] {
        if count > 1 {
            option(name, count.to_string());
        }
    }
    if let Some(path) = workload.data_path() {
        option("--data", path.to_owned());
    }
    match configuration.accelerators_per_machine() {
        None => option("--device", "cpu".to_owned()),
        Some(gpus) => option("--gpus", gpus.to_string()),
    }
    if configuration.accelerator.is_none() || configuration.accelerators_per_executor.is_some() {
        option("--executors", configuration.executors.to_string());
    }
    if let Some(machines) = configuration.machines.filter(|machines| *machines > 1) {
        option("--nodes", machines.to_string());
    }
    option("--cores", configuration.cores_per_executor.to_string());
    option("--memory", configuration.memory_per_executor_mib.to_string());
    match command.bound() {
        Some(_) => option("--sampling-rate", sampling_rate.to_string()),
        // Foreglow itself ends such a program.
        None if sampling_rate < 1.0 => {
            option("--stop-after", format!("{}%", crate::number(&format!("{sampling_rate}e2")).unwrap_or(100.0)))
        }
        None => {}
    }
    if let Some((name, path)) = place {
        option(name, path.to_owned());
    }
    if let Some(machine) = context.host.machine.as_ref().filter(|machine| MachineType::is_name(machine)) {
        option("--machine", machine.clone());
    }
    words.push("--".to_owned());
    words.extend(command.words().iter().map(|word| shell_word(word)));
    words.join(" ")
}

/// Returns the options of a training job; `None` if its optimiser is unknown.
fn training_options(workload: &Workload) -> Option<Vec<String>> {
    let optimizer = match workload.optimizer.as_deref()? {
        "sgd" => "sgd --momentum 0",
        "sgd_momentum" => "sgd",
        other => other,
    };
    let mut options = format!("--mode training --epochs {} --optimizer {optimizer}", workload.epochs);
    for (option, value) in [("--average-every", workload.average_every), ("--share-size", workload.share_size)] {
        if let Some(value) = value {
            options.push_str(&format!(" {option} {value}"));
        }
    }
    if let Some(share) = workload.validation {
        options.push_str(&format!(" --validation {share}"));
    }
    if workload.average_optimizer_state == Some(true) {
        options.push_str(" --average-optimizer-state");
    }
    Some(options.split(' ').map(shell_word).collect())
}

/// Quotes a word for a POSIX shell.
pub fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./,:".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataSet, Fit, Interpolation, TextInput};

    #[test]
    fn a_program_is_collected_with_its_template() {
        let words = r#"["torchrun","--nproc_per_node={gpus}","train.py","--max-steps","{steps}"]"#;
        let context = |workload: &str, more: &str| -> Context {
            serde_json::from_str(&format!(
                r#"{{"workload":{{"model":"train.py","mode":"training","image_px":1,"images":1281167,"epochs":90,"batch_size":256,
                    "command":{words}{workload}}},"engine":"command","host":{{"cpu":"A CPU"}}{more}}}"#
            ))
            .unwrap()
        };
        let configuration = |json: &str| -> Configuration {
            let common = r#""cores_per_executor":4,"memory_per_executor_mib":1024,"partition_size":256"#;
            serde_json::from_str(&format!("{{{common},{json}}}")).unwrap()
        };
        let gpus = configuration(r#""executors":8,"machines":2,"accelerator":"A100""#);
        let command = collect_command(&context(r#","unit":"images""#, ""), &gpus, 0.05, None).unwrap();
        assert_eq!(
            command,
            "foreglow collect --images 1281167 --epochs 90 --batch-size 256 --gpus 4 --nodes 2 --cores 4 --memory 1024 \
             --sampling-rate 0.05 -- torchrun '--nproc_per_node={gpus}' train.py --max-steps '{steps}'"
        );
        let cpu = configuration(r#""executors":1,"accelerator":null"#);
        let mut unbounded = context(r#","unit":"texts""#, "");
        unbounded.workload.command = CommandTemplate::new(vec!["./train".into(), "--fast".into()]).ok();
        assert_eq!(
            collect_command(&unbounded, &cpu, 0.07, Some(("--output", "a.jsonl"))).unwrap(),
            "foreglow collect --images 1281167 --unit texts --epochs 90 --batch-size 256 --device cpu --executors 1 --cores 4 \
             --memory 1024 --stop-after '7%' --output a.jsonl -- ./train --fast"
        );
    }

    #[test]
    fn a_job_on_a_cluster_is_collected_with_spark() {
        let context = |engine: &str, host: &str| -> Context {
            serde_json::from_str(&format!(
                r#"{{"workload":{{"model":"lenet5","mode":"inference","image_px":32,"images":400,"epochs":1,"batch_size":8}},
                    "engine":"{engine}","host":{host}}}"#
            ))
            .unwrap()
        };
        let configuration: Configuration = serde_json::from_str(
            r#"{"executors":2,"cores_per_executor":1,"memory_per_executor_mib":600,"partition_size":8,"accelerator":null}"#,
        )
        .unwrap();
        let command = |engine, host| {
            collect_command(&context(engine, host), &configuration, 0.1, Some(("--output", "a.jsonl"))).unwrap()
        };
        let rest = "--model lenet5 --images 400 --image-px 32 --batch-size 8 --device cpu --executors 2 --cores 1 --memory 600 \
                    --partition-size 8 --sampling-rate 0.1 --output a.jsonl";
        assert_eq!(command("local", r#"{"cpu":"A CPU"}"#), format!("foreglow collect {rest}"));
        let on_spark = "foreglow collect --engine spark --master spark://HOST:7077";
        assert_eq!(command("spark", "{}"), format!("{on_spark} {rest}"));
        // Otherwise the sample would be of another job.
        let named = r#"{"cpu":"A CPU","machine":"n1-standard-4+1xT4"}"#;
        assert_eq!(command("local", named), format!("foreglow collect {rest} --machine 'n1-standard-4+1xT4'"));
        let described = r#"{"cpu":"A CPU","machine":"Some CPU, 8 processors"}"#;
        assert_eq!(command("local", described), format!("foreglow collect {rest}"), "it is no name");
        assert_eq!(
            command("spark", r#"{"cpu":"A CPU"}"#),
            format!("{on_spark} --spark-conf 'spark.foreglow.cpu=A CPU' {rest}")
        );
    }

    #[test]
    fn a_text_workload_names_words_and_vectors_instead_of_pixels() {
        let mut context: Context = serde_json::from_str(
            r#"{"workload":{"model":"text_lstm","mode":"inference","image_px":9,"images":20,"epochs":1,"batch_size":8,"data":"news"},
                "engine":"local","host":{}}"#,
        )
        .unwrap();
        let configuration =
            r#"{"executors":2,"cores_per_executor":1,"memory_per_executor_mib":512,"partition_size":8}"#;
        let configuration: Configuration = serde_json::from_str(configuration).unwrap();
        let text = TextInput {
            words: 50,
            vector_dims: 100,
            vocabulary: Some(900),
            vectors: Some("glove.txt".into()),
            ..TextInput::default()
        };
        context.workload.set_text(text);
        assert_eq!(context.workload.image_px, 1);
        assert_eq!(
            collect_command(&context, &configuration, 0.1, Some(("--output", "a.jsonl"))).unwrap(),
            "foreglow collect --model text_lstm --images 20 --words 50 --batch-size 8 --data news --vocabulary 900 \
             --vectors glove.txt --device cpu --executors 2 --cores 1 --memory 512 --partition-size 8 --sampling-rate 0.1 \
             --output a.jsonl"
        );
    }

    #[test]
    fn the_command_names_the_data_where_they_are() {
        let mut workload: Workload = serde_json::from_str(
            r#"{"model":"lenet5","mode":"inference","image_px":32,"images":400,"epochs":1,"batch_size":8}"#,
        )
        .unwrap();
        let command = |workload: &Workload| {
            let context = Context {
                workload: workload.clone(),
                engine: Engine::Local,
                host: Default::default(),
                accelerator: None,
                shares_accelerators: false,
                accelerators_per_executor: None,
                machines: None,
            };
            let configuration =
                r#"{"executors":2,"cores_per_executor":1,"memory_per_executor_mib":600,"partition_size":8}"#;
            collect_command(&context, &serde_json::from_str(configuration).unwrap(), 0.1, Some(("--output", "a.jsonl")))
                .unwrap()
        };
        assert!(!command(&workload).contains("--data"), "{}", command(&workload));
        workload.set_drawn_digits();
        assert!(command(&workload).contains(" --draw digits "), "{}", command(&workload));
        let (path, format) = ("/data/my photos".to_owned(), "folder".to_owned());
        workload.set_data_set(DataSet { path, format, items: 400, fingerprint: "00".into() });
        let said = command(&workload);
        assert!(said.contains(" --data '/data/my photos' --data-format folder "), "{said}");
        assert!(!said.contains("--draw"), "{said}");
        assert!(!said.contains("--dtype"), "{said}");
        workload.set_number_format(NumberFormat::F16);
        assert!(command(&workload).contains(" --dtype f16 "), "{}", command(&workload));
    }

    #[test]
    fn a_training_job_keeps_its_training_options() {
        let context = |epochs: u32, mode: &str, more: &str| -> Context {
            serde_json::from_str(&format!(
                r#"{{"workload":{{"model":"lenet5","mode":"{mode}","image_px":32,"images":400,"epochs":{epochs},"batch_size":8{more}}},
                    "engine":"local","host":{{}}}}"#
            ))
            .unwrap()
        };
        let configuration =
            r#"{"executors":2,"cores_per_executor":1,"memory_per_executor_mib":600,"partition_size":8}"#;
        let configuration: Configuration = serde_json::from_str(configuration).unwrap();
        let command = |context: &Context| collect_command(context, &configuration, 0.1, Some(("--output", "a.jsonl")));
        let said = |more: &str, options: &str| {
            let command = command(&context(3, "training", more)).unwrap();
            let expected =
                format!("foreglow collect --mode training --epochs 3 {options} --model lenet5 --images 400 ");
            assert!(command.starts_with(&expected), "{command}");
        };
        let sgd = r#","optimizer":"sgd_momentum","average_every":1,"average_optimizer_state":false,"share_size":4"#;
        said(sgd, "--optimizer sgd --average-every 1 --share-size 4");
        said(r#","optimizer":"sgd""#, "--optimizer sgd --momentum 0");
        let adam = r#","optimizer":"adam","average_every":20,"average_optimizer_state":true"#;
        said(adam, "--optimizer adam --average-every 20 --average-optimizer-state");
        assert_eq!(command(&context(3, "training", "")), None, "its optimiser is unknown");
        assert_eq!(command(&context(3, "inference", "")), None);
    }

    #[test]
    fn classes_and_validation_are_those_of_the_job() {
        let mut context: Context = serde_json::from_str(
            r#"{"workload":{"model":"resnet18","mode":"training","image_px":32,"images":400,"epochs":1,"batch_size":8,
                "optimizer":"adam","data":"/photos","data_format":"folder","data_items":400,"data_fingerprint":"00"},
                "engine":"local","host":{}}"#,
        )
        .unwrap();
        let configuration =
            r#"{"executors":2,"cores_per_executor":1,"memory_per_executor_mib":600,"partition_size":8}"#;
        let configuration: Configuration = serde_json::from_str(configuration).unwrap();
        let command = |context: &Context| collect_command(context, &configuration, 0.1, None).unwrap();
        // A sample of an earlier version has the CNN's own classes, independent of the folders.
        assert!(command(&context).contains(" --classes own "), "{}", command(&context));
        context.workload.classes = Some(12);
        context.workload.validation = Some(0.1);
        assert!(command(&context).contains(" --classes 12 "), "{}", command(&context));
        assert!(command(&context).contains(" --validation 0.1 "), "{}", command(&context));
        assert!(context.title().contains(", 12 classes, "), "{}", context.title());
        context.workload.mode = Mode::Inference;
        context.workload.classes = None;
        assert!(!command(&context).contains("--classes"), "{}", command(&context));
    }

    #[test]
    fn resizing_is_that_of_the_job() {
        let mut context: Context = serde_json::from_str(
            r#"{"workload":{"model":"resnet18","mode":"inference","image_px":32,"images":400,"epochs":1,"batch_size":8},
                "engine":"local","host":{}}"#,
        )
        .unwrap();
        let configuration =
            r#"{"executors":2,"cores_per_executor":1,"memory_per_executor_mib":600,"partition_size":8}"#;
        let configuration: Configuration = serde_json::from_str(configuration).unwrap();
        let command = |context: &Context| collect_command(context, &configuration, 0.1, None).unwrap();
        assert!(!command(&context).contains("--resize") && !command(&context).contains("--interpolation"));
        let usual = context.fingerprint();
        let (fit, interpolation) = (Fit::Stretch, Interpolation::Bicubic);
        context.workload.set_resizing(Resizing { fit, resize_px: Some(36), interpolation });
        let options = " --resize stretch --resize-px 36 --interpolation bicubic ";
        assert!(command(&context).contains(options), "{}", command(&context));
        assert!(context.title().contains(", stretched, cut from 36 px, bicubic, batch 8"), "{}", context.title());
        assert_ne!(context.fingerprint(), usual);
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(shell_word("runs/samples.jsonl"), "runs/samples.jsonl");
        assert_eq!(shell_word("my runs.jsonl"), "'my runs.jsonl'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
