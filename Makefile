# The commands for people: run, test, bench. Each sets up what it needs first (setup.sh), and only what is absent.

# Always the whole workspace: a part of it has other features of the same dependencies, and would compile them again.
CARGO_FLAGS := --release --locked --workspace
WASM        := wasm32-unknown-unknown
WASM_CARGO   = env $(shell ./setup.sh wasm-env) cargo
# A target directory of its own: another compiler may build it, and cargo would rebuild everything at each change of compiler.
WEB_TARGET  := target/web
WEB_WASM    := $(WEB_TARGET)/$(WASM)/planner/foreglow_web.wasm
PLANNER     := target/planner
WASM_RUNNER := target/bundle/release/foreglow-wasm-runner
FOREGLOW    := target/release/foreglow

.PHONY: run test bench build planner lint unit wasm-unit help FORCE

help:
	@echo 'make run    measure a real CNN on this machine, predict the whole job, serve the planner'
	@echo 'make test   lints and every test, the browser tests included'
	@echo 'make bench  every benchmark; each writes target/bench/NAME.json'

run: setup-run build
	$(FOREGLOW) demo

test: setup-test lint build unit wasm-unit

.PHONY: setup-run setup-test
setup-run setup-test: setup-%:
	@./setup.sh $*

# The planner is embedded in the binary, so it comes first.
build: planner
	cargo build $(CARGO_FLAGS)

planner: $(PLANNER)/index.html

# Bundled anew only when something of it changed: the binary embeds these files, and would be linked again each time.
$(PLANNER)/index.html: $(WEB_WASM) index.html $(wildcard web/assets/* web/bundle/src/* web/bundle/Cargo.*)
	cargo run --locked --release --manifest-path web/bundle/Cargo.toml --target-dir target/bundle -- --wasm $(WEB_WASM) --out $(PLANNER)

# Cargo knows what the page is made of, and leaves the file alone when nothing changed.
$(WEB_WASM): FORCE | setup-run
	$(WASM_CARGO) build --locked --profile planner --target $(WASM) --target-dir $(WEB_TARGET) -p foreglow-web

FORCE:

lint: | setup-test
	cargo fmt --all --check
	cargo fmt --check --manifest-path web/bundle/Cargo.toml
	cargo fmt --check --manifest-path bench/cpu-devices/Cargo.toml
	cargo fmt --check --manifest-path tests/wasm-runner/Cargo.toml
	cargo clippy $(CARGO_FLAGS) --all-targets -- -D warnings
	cargo clippy --locked --release --manifest-path web/bundle/Cargo.toml --target-dir target/bundle -- -D warnings
	$(WASM_CARGO) clippy --locked --target $(WASM) --target-dir $(WEB_TARGET) -p foreglow-shared -p foreglow-model -p foreglow-web -- -D warnings

# cargo-nextest runs the tests side by side where it is installed; it does not run the examples in the documentation.
unit: build | setup-test
	@if cargo nextest --version >/dev/null 2>&1; then \
	  cargo nextest run $(CARGO_FLAGS) && cargo test $(CARGO_FLAGS) --doc; \
	else cargo test $(CARGO_FLAGS); fi

# The laws of the mathematics hold in the browser too: the same tests, compiled for wasm32, in headless Chromium.
wasm-unit: $(WASM_RUNNER) | setup-test
	CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER=$(abspath $(WASM_RUNNER)) $(WASM_CARGO) test --release --locked --target $(WASM) --target-dir $(WEB_TARGET) -p foreglow-model

$(WASM_RUNNER): $(wildcard tests/wasm-runner/src/* tests/wasm-runner/Cargo.*) | setup-run
	cargo build --locked --release --manifest-path tests/wasm-runner/Cargo.toml --target-dir target/bundle

bench: setup-run bench-input
	RAYON_NUM_THREADS=1 cargo run --release --locked --manifest-path bench/cpu-devices/Cargo.toml --target-dir target/cpu-devices

# PyTorch, to be held against: an environment of its own, or any Python that has it (make bench-input PYTORCH=python3).
PYTORCH ?= target/pytorch/bin/python

.PHONY: bench-input
bench-input: build $(filter target/%,$(PYTORCH))
	$(PYTORCH) bench/input/run.py

target/pytorch/bin/python:
	@echo 'setup: installing PyTorch into target/pytorch (some gigabytes)' >&2
	python3 -m venv target/pytorch
	target/pytorch/bin/pip install --quiet -r bench/input/requirements.txt || { rm -rf target/pytorch; exit 2; }
