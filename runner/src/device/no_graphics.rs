//! Replaces `graphics` in a build without the cargo feature `gpu`: the CPU is the only device.

use std::fs;
use std::path::Path;

use burn::tensor::Device;

use super::{Adapter, Place};

const SENTENCE: &str = "this build of foreglow has no GPU support; `make build GPU=1` builds one that has";

/// The reason why this build finds no GPU on a machine that has one.
pub const UNSUPPORTED: Option<&str> = Some(SENTENCE);

/// Tells whether the machine seems to have a GPU that this build cannot use.
pub fn is_gpu_out_of_reach() -> bool {
    let has_render_node = fs::read_dir("/dev/dri")
        .is_ok_and(|nodes| nodes.flatten().any(|node| node.file_name().as_encoded_bytes().starts_with(b"renderD")));
    has_render_node || ["/dev/nvidia0", "/dev/dxg"].iter().any(|node| Path::new(node).exists())
}

/// Opens no device.
///
/// # Errors
/// Always: this build has no GPU support.
pub fn open(_: Place) -> anyhow::Result<Device> {
    anyhow::bail!(SENTENCE)
}

/// Returns no adapter.
pub fn adapters() -> Vec<Adapter> {
    Vec::new()
}
