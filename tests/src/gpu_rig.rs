//! GPUs for tests: a Vulkan layer that makes Mesa's software adapter look like discrete GPUs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::program::workspace_dir;

/// Search paths of the Vulkan loader for drivers.
const DRIVERS: [&str; 2] = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
const LAYER: &str = "VK_LAYER_FOREGLOW_rig";
const LIBRARY: &str = "libforeglow_rig.so";
const MANIFEST: &str = "VkLayer_foreglow_rig.json";

/// The environment in which `foreglow` finds the GPUs of the rig.
#[derive(Clone, Debug)]
pub struct GpuRig {
    variables: Vec<(&'static str, String)>,
}

impl GpuRig {
    /// Compiles the layer; `count` GPUs have this name. `None` if this machine has no software
    /// adapter, C compiler or Vulkan headers: the test is then skipped with a note.
    ///
    /// # Errors
    /// The layer cannot be compiled.
    pub fn with(count: u32, name: &str) -> anyhow::Result<Option<Self>> {
        let Some(driver) = software_driver() else {
            eprintln!("SKIPPED: this machine has no software Vulkan adapter; install mesa-vulkan-drivers");
            return Ok(None);
        };
        if !Path::new("/usr/include/vulkan/vk_layer.h").exists() {
            eprintln!("SKIPPED: this machine has no Vulkan headers; install libvulkan-dev");
            return Ok(None);
        }
        let version = Command::new(crate::foreglow()?).arg("--version").output()?;
        let has_gpu = |line: &str| line.starts_with("features:") && line.contains("gpu");
        if !String::from_utf8_lossy(&version.stdout).lines().any(has_gpu) {
            eprintln!("SKIPPED: the binary was built without GPU support; run make test GPU=1");
            return Ok(None);
        }
        let driver = driver.display().to_string();
        let variables = vec![
            ("VK_LAYER_PATH", layer()?.display().to_string()),
            ("VK_INSTANCE_LAYERS", LAYER.to_owned()),
            ("VK_DRIVER_FILES", driver.clone()),
            ("VK_ICD_FILENAMES", driver),
            // Tunes few candidates per kernel, because all would take minutes on the software
            // adapter.
            ("CUBECL_AUTOTUNE_LEVEL", "minimal".to_owned()),
            ("FOREGLOW_RIG_GPUS", count.to_string()),
            ("FOREGLOW_RIG_NAME", name.to_owned()),
        ];
        Ok(Some(Self { variables }))
    }

    /// The same rig with one more of the layer's settings; see `tests/gpu-rig/layer.c`.
    #[must_use]
    pub fn and(&self, setting: &'static str, value: impl Into<String>) -> Self {
        let mut rig = self.clone();
        rig.variables.push((setting, value.into()));
        rig
    }

    /// Environment variables of a process that uses the rig.
    pub fn variables(&self) -> &[(&'static str, String)] {
        &self.variables
    }
}

/// The manifest of Mesa's software driver.
fn software_driver() -> Option<PathBuf> {
    let files = DRIVERS.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
    paths.find(|path| path.to_string_lossy().contains("lvp_icd"))
}

/// Compiles the layer and returns its folder. Concurrent tests each compile it and replace it
/// atomically.
fn layer() -> anyhow::Result<PathBuf> {
    let (source, folder) = (workspace_dir().join("tests/gpu-rig"), workspace_dir().join("target/gpu-rig"));
    std::fs::create_dir_all(&folder)?;
    let own = tempfile::Builder::new().prefix("build-").tempdir_in(&folder)?;
    let library = own.path().join(LIBRARY);
    let output = Command::new("cc")
        .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-fvisibility=hidden", "-o"])
        .arg(&library)
        .arg(source.join("layer.c"))
        .arg("-lpthread")
        .output()
        .context("the C compiler cannot be started")?;
    anyhow::ensure!(output.status.success(), "the layer does not compile: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::copy(source.join(MANIFEST), own.path().join(MANIFEST))?;
    for file in [LIBRARY, MANIFEST] {
        std::fs::rename(own.path().join(file), folder.join(file))?;
    }
    Ok(folder)
}
