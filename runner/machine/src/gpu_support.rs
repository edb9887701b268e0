//! Whether this build can use GPUs.

use std::fs;
use std::path::Path;

/// The reason why this build cannot use GPUs; `None` with GPU support.
pub const UNSUPPORTED: Option<&str> = if cfg!(feature = "gpu") {
    None
} else {
    Some("this build of foreglow has no GPU support; `make build GPU=1` builds one that has")
};

/// Returns whether the machine seems to have a GPU that this build cannot use.
pub fn is_gpu_out_of_reach() -> bool {
    UNSUPPORTED.is_some() && has_gpu()
}

fn has_gpu() -> bool {
    let has_render_node = fs::read_dir("/dev/dri")
        .is_ok_and(|nodes| nodes.flatten().any(|node| node.file_name().as_encoded_bytes().starts_with(b"renderD")));
    has_render_node || ["/dev/nvidia0", "/dev/dxg"].iter().any(|node| Path::new(node).exists())
}
