//! File format of a replica: a line of JSON as header, its numbers as little-endian f32, and a
//! checksum of both.

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;

use anyhow::Context as _;
use foreglow_exit::create_in_place;
use foreglow_shared::Fingerprint;
use serde::{Deserialize, Serialize};

use super::peers::mean;
use super::replica::Snapshot;

const FORMAT: u32 = 2;
/// Digits of the checksum.
const CHECKSUM: usize = 16;
/// Numbers written at a time.
const CHUNK: usize = 1 << 14;

#[derive(Serialize, Deserialize)]
struct Header {
    foreglow_replica: u32,
    model: String,
    /// Training images since the last average: the replica's weight in the next one.
    images: u64,
    /// Steps that its optimiser has taken.
    steps: u64,
    /// Number of parameters and running statistics.
    numbers: usize,
    /// Number of values in the optimiser's state.
    state: usize,
}

/// Saves a replica that has trained on `images` images since the last average.
///
/// # Errors
/// The file cannot be written.
pub fn save(path: &Path, model: &str, snapshot: &Snapshot, images: u64) -> anyhow::Result<()> {
    let header = Header {
        foreglow_replica: FORMAT,
        model: model.to_owned(),
        images,
        steps: snapshot.steps,
        numbers: snapshot.numbers,
        state: snapshot.list.len() - snapshot.numbers,
    };
    let write = || -> anyhow::Result<()> {
        let mut file = BufWriter::with_capacity(1 << 20, create_in_place(path)?);
        let mut checksum = Fingerprint::default();
        let mut write = |bytes: &[u8]| {
            checksum.add(bytes);
            file.write_all(bytes)
        };
        let mut line = serde_json::to_vec(&header)?;
        line.push(b'\n');
        write(&line)?;
        for numbers in snapshot.list.chunks(CHUNK) {
            write(&numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>())?;
        }
        file.write_all(checksum.to_string().as_bytes())?;
        Ok(file.flush()?)
    };
    write().with_context(|| format!("the replica could not be saved to {}", path.display()))
}

/// Loads the mean of the replicas that the executors saved, by rank, weighted by their numbers of
/// training images. If the optimiser's state is not averaged, it is taken from the executor's own
/// file.
///
/// # Errors
/// A file cannot be read, or belongs to another CNN.
pub fn load(files: &[impl AsRef<Path>], rank: usize, model: &str, is_state_averaged: bool) -> anyhow::Result<Snapshot> {
    let mut all = Vec::new();
    for path in files {
        let path = path.as_ref();
        all.push(read(path, model).with_context(|| format!("the replica {} could not be loaded", path.display()))?);
    }
    let own = if all.len() > 1 { rank } else { 0 };
    let (mut own, _) = all
        .get(own)
        .cloned()
        .with_context(|| format!("there are {} replicas and none of executor {}", all.len(), rank + 1))?;
    let alike = |snapshot: &Snapshot| (snapshot.list.len(), snapshot.numbers) == (own.list.len(), own.numbers);
    anyhow::ensure!(
        all.iter().all(|(snapshot, _)| alike(snapshot)),
        "the replicas are of different CNNs or optimisers"
    );
    if all.len() > 1 && all.iter().any(|(_, images)| *images > 0) {
        let averaged = own.averaged(is_state_averaged);
        let lists: Vec<_> =
            all.iter().map(|(snapshot, images)| (snapshot.list[..averaged].to_vec(), *images as f64)).collect();
        own.list[..averaged].copy_from_slice(&mean(&lists));
    }
    Ok(own)
}

fn read(path: &Path, model: &str) -> anyhow::Result<(Snapshot, u64)> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut line = Vec::new();
    file.by_ref().take(4096).read_until(b'\n', &mut line)?;
    let header: Header = serde_json::from_slice(&line).context("it is not a replica saved by an executor")?;
    anyhow::ensure!(header.foreglow_replica == FORMAT, "another version of Foreglow saved it");
    anyhow::ensure!(header.model == model, "it is of a {}, not of a {model}", header.model);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let expected = header.numbers.checked_add(header.state).and_then(|numbers| numbers.checked_mul(4));
    let expected = expected.context("its header is damaged")?;
    let (numbers, written) = bytes.split_at(bytes.len().saturating_sub(CHECKSUM));
    anyhow::ensure!(numbers.len() == expected, "it has {} bytes of numbers and not {expected}", numbers.len());
    let mut checksum = Fingerprint::default();
    [line.as_slice(), numbers].into_iter().for_each(|part| checksum.add(part));
    anyhow::ensure!(checksum.to_string().as_bytes() == written, "its checksum is wrong: the file is damaged");
    let list = numbers.chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    let snapshot = Snapshot { list: list.collect(), numbers: header.numbers, steps: header.steps };
    Ok((snapshot, header.images))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(list: &[f32]) -> Snapshot {
        Snapshot { list: list.to_vec(), numbers: 2, steps: 5 }
    }

    #[test]
    fn a_saved_replica_is_loaded_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let saved = snapshot(&[1.5, f32::MIN_POSITIVE, -0.0]);
        save(&path, "lenet5", &saved, 8).unwrap();
        assert_eq!(load(&[&path], 3, "lenet5", true).unwrap(), saved);
    }

    #[test]
    fn the_mean_is_weighted_by_images_and_may_exclude_the_state() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| folder.path().join(name));
        save(&paths[0], "lenet5", &snapshot(&[1.0, 2.0, 10.0]), 3).unwrap();
        save(&paths[1], "lenet5", &snapshot(&[5.0, 6.0, 20.0]), 1).unwrap();
        assert_eq!(load(&paths, 1, "lenet5", false).unwrap().list, [2.0, 3.0, 20.0]);
        assert_eq!(load(&paths, 1, "lenet5", true).unwrap().list, [2.0, 3.0, 12.5]);
    }

    #[test]
    fn invalid_replicas_and_those_of_another_cnn_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let said = |path: &Path| format!("{:#}", load(&[path], 0, "vgg16", false).unwrap_err());
        assert!(said(&path).contains("could not be loaded"), "{}", said(&path));
        std::fs::write(&path, "shopping list\n").unwrap();
        assert!(said(&path).contains("not a replica saved by an executor"), "{}", said(&path));
        save(&path, "lenet5", &snapshot(&[1.0, 2.0]), 3).unwrap();
        assert!(said(&path).contains("it is of a lenet5, not of a vgg16"), "{}", said(&path));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.pop();
        std::fs::write(&path, &bytes).unwrap();
        assert!(format!("{:#}", load(&[&path], 0, "lenet5", false).unwrap_err()).contains("bytes of numbers"));
        save(&path, "lenet5", &snapshot(&[1.0, 2.0]), 3).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 1;
            std::fs::write(&path, changed).unwrap();
            assert!(load(&[&path], 0, "lenet5", false).is_err(), "a bit of byte {place}");
        }
        // The sum, or its size in bytes, exceeds 64 bits.
        for [numbers, state] in [[u64::MAX, 1], [1 << 62, 0]] {
            let header = serde_json::json!({
                "foreglow_replica": FORMAT, "model": "lenet5", "images": 3, "steps": 5, "numbers": numbers, "state": state,
            });
            std::fs::write(&path, format!("{header}\n")).unwrap();
            assert!(format!("{:#}", load(&[&path], 0, "lenet5", false).unwrap_err()).contains("header is damaged"));
        }
    }
}
