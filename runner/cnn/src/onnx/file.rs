//! An ONNX file on disk: opening, fingerprint, and reading the weights.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_exit::{open_data, unreadable, unusable};
use foreglow_onnx::{Argument, Network, Plan, WeightRange};
use foreglow_shared::Fingerprint;

/// A network in a file.
#[derive(Debug)]
pub struct OnnxFile {
    /// Absolute path.
    pub path: PathBuf,
    /// Name of the file.
    pub name: String,
    /// The graph.
    pub network: Network,
}

impl OnnxFile {
    /// Reads the graph of a file and checks that its weights are there.
    ///
    /// # Errors
    /// The file is missing or is not an ONNX file, or a file of weights is missing or too short.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let name =
            path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        let file = open_data(path).map_err(|error| unreadable(path, &error))?;
        let network = Network::read(&mut BufReader::with_capacity(1 << 16, file))
            .map_err(|error| unusable(format!("{name}: {error}")))?;
        let path = path.canonicalize().with_context(|| format!("{name} has no absolute path"))?;
        let file = Self { path, name, network };
        file.check_outside()?;
        Ok(file)
    }

    /// Hashes the file; weights in other files count by name and size.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn fingerprint(&self) -> anyhow::Result<String> {
        let read = || -> std::io::Result<String> {
            let (mut fingerprint, mut file) = (Fingerprint::default(), open_data(&self.path)?);
            let mut bytes = vec![0; 1 << 20];
            loop {
                match file.read(&mut bytes)? {
                    0 => break,
                    count => fingerprint.add(&bytes[..count]),
                }
            }
            for (name, path) in self.outside() {
                fingerprint.add(name.as_bytes());
                fingerprint.add(&path.metadata()?.len().to_le_bytes());
            }
            Ok(fingerprint.to_string())
        };
        read().with_context(|| format!("{} cannot be read", self.path.display()))
    }

    /// Returns the numbers per image in the output of a plan.
    pub fn classes(&self, plan: &Plan) -> usize {
        plan.shapes[plan.output].iter().product::<usize>() / plan.shapes[0][0].max(1)
    }

    /// Returns a reader of the weights.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn reader(&self) -> anyhow::Result<Reader<'_>> {
        let file = open_data(&self.path).with_context(|| format!("{} cannot be opened", self.path.display()))?;
        Ok(Reader { file: self, source: file, others: BTreeMap::new() })
    }

    /// Returns the other files with weights.
    fn outside(&self) -> BTreeMap<&str, PathBuf> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let names = self.network.weights.iter().filter_map(|weight| match &weight.place {
            WeightRange::Outside(name, ..) => Some(name.as_str()),
            _ => None,
        });
        names.map(|name| (name, folder.join(name))).collect()
    }

    fn check_outside(&self) -> anyhow::Result<()> {
        let mut lengths = BTreeMap::new();
        for (name, path) in self.outside() {
            let there = path.metadata().map_err(|_| {
                unusable(format!(
                    "{} needs the file {name} with its weights in the same folder, and it is missing",
                    self.name
                ))
            })?;
            lengths.insert(name, there.len());
        }
        for weight in &self.network.weights {
            if let (WeightRange::Outside(name, at, len), Some(bytes)) = (&weight.place, weight.bytes()) {
                let end = at.checked_add(len.unwrap_or(bytes));
                if end.is_none_or(|end| end > lengths.get(name.as_str()).copied().unwrap_or(0)) {
                    return Err(unusable(format!("{name} is truncated: it ends before the weight {}", weight.name)));
                }
            }
        }
        Ok(())
    }

    /// Returns the first weight that several steps of a plan would train separately.
    pub fn shared_weight(&self, plan: &Plan) -> Option<&str> {
        let mut seen = vec![false; self.network.weights.len()];
        for step in &plan.steps {
            let mut of_step: Vec<usize> = self.network.learned(step).collect();
            of_step.sort_unstable();
            of_step.dedup();
            for weight in of_step {
                if std::mem::replace(&mut seen[weight], true) {
                    return Some(&self.network.weights[weight].name);
                }
            }
        }
        None
    }

    /// Returns whether training changes a weight of a plan: the scores have a derivative by it.
    pub fn is_trainable(&self, plan: &Plan) -> bool {
        let mut has_derivative = vec![false; plan.shapes.len()];
        for step in &plan.steps {
            let is_learned = step.differentiable().any(|argument| match argument {
                Argument::Weight(weight) => self.network.is_learned(*weight),
                Argument::Value(value) => has_derivative[*value],
                Argument::Known(_) => false,
            });
            step.results.iter().for_each(|result| has_derivative[*result] = is_learned);
        }
        has_derivative[plan.output]
    }
}

/// Reads weights from the file and from those beside it.
pub struct Reader<'a> {
    file: &'a OnnxFile,
    source: File,
    others: BTreeMap<PathBuf, File>,
}

impl Reader<'_> {
    /// Returns the floats of a weight.
    ///
    /// # Errors
    /// They cannot be read, or one is NaN or infinite.
    pub fn floats(&mut self, weight: usize) -> anyhow::Result<Vec<f32>> {
        let name = &self.file.name;
        let weight = &self.file.network.weights[weight];
        let bytes = match &weight.place {
            WeightRange::Here(bytes) => bytes.clone(),
            WeightRange::Numbers(_) => Vec::new(),
            WeightRange::Inside(at, len) => {
                read(&mut self.source, *at, *len).with_context(|| format!("{name} cannot be read"))?
            }
            WeightRange::Outside(other, at, len) => {
                let path = self.file.path.with_file_name(other);
                let file = match self.others.entry(path.clone()) {
                    std::collections::btree_map::Entry::Occupied(file) => file.into_mut(),
                    std::collections::btree_map::Entry::Vacant(place) => {
                        place.insert(File::open(&path).with_context(|| format!("{} cannot be opened", path.display()))?)
                    }
                };
                let len = len.or(weight.bytes()).context("the weight has no length")?;
                read(file, *at, len).with_context(|| format!("{other} cannot be read"))?
            }
        };
        weight.floats(&bytes).map_err(|error| unusable(format!("{name}: {error}")))
    }
}

fn read(file: &mut File, at: u64, len: u64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len)?];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
