# The commands for people: run, test, bench, accuracy. Each sets up what it needs first (setup.sh), and only what is absent.

# GPU=1 builds with GPU support, GPU=0 without; the default depends on the machine.
ifeq ($(origin GPU),undefined)
  GPU := $(shell ./setup.sh gpu)
  GPU_NOTE := $(if $(filter 0,$(GPU)),this machine has no GPU: building without GPU support; GPU=1 builds with it)
endif
export GPU

# Always the whole workspace: a part of it has other features of the same dependencies, and would compile them again.
CARGO_FLAGS := --release --locked --workspace $(if $(filter 0,$(GPU)),--no-default-features --features foreglow-web/page)
WASM        := wasm32-unknown-unknown
WASM_CARGO   = env $(shell ./setup.sh wasm-env) cargo
# A target directory of its own: another compiler may build it, and cargo would rebuild everything at each change of compiler.
WEB_TARGET  := target/web
WEB_WASM    := $(WEB_TARGET)/$(WASM)/planner/foreglow-web.wasm
# Fetched on demand: what reads files and advises.
READER      := $(WEB_TARGET)/$(WASM)/planner/foreglow-reader.wasm
COMPARISON  := $(WEB_TARGET)/$(WASM)/planner/foreglow_comparison.wasm
# The comparison of all learners takes two thirds of the page's compile time: `make run` embeds it
# only if it was built before, and the page says so.
COMPARED    := $(if $(filter-out run,$(or $(MAKECMDGOALS),run)),$(COMPARISON),$(wildcard $(COMPARISON)))
PLANNER     := target/planner
WASM_RUNNER := target/bundle/release/foreglow-wasm-runner
FOREGLOW    := target/release/foreglow
SKLEARN     := target/sklearn/bin/python

# Gradients and weight files, compiled by themselves; PyTorch for the processor and the graphics card is some 6 GB.
PARITY := target/parity

.PHONY: run test bench bench-page screenshots fuzz parity accuracy development bench-decision build planner spark lint unit wasm-unit help FORCE

help:
	@echo 'make run    measure a real CNN on this machine, predict the whole job, serve the planner'
	@echo 'make check  format, prose, lints and unit tests of what changed: seconds'
	@echo 'make test   lints and every test, the browser tests included'
	@echo 'make bench  every benchmark; each writes target/bench/NAME.json'
	@echo 'make bench-gpu  the CNNs on the GPU, in at most 10 minutes; bench-gpu-archive packs it for a bare machine'
	@echo 'make accuracy  every predictor on own, simulated and public runs (DATA), clean and with slow runs; writes target/accuracy.json and docs/accuracy.md'
	@echo 'make accuracy-check  a quick run beside the committed figures; fails where one is worse by over a twentieth'
	@echo 'make development  the questions on which the constants of the intervals were chosen, and contexts with few runs'
	@echo 'make sweep  two CNNs, inference and training, on 1 %, 10 % and all of the images: the built-in example, half an hour'
	@echo 'make parity the CNNs against PyTorch with the same weights; CNNS="vgg16 xception" for some of them'
	@echo 'make screenshots  the pictures of the planner in docs/'
	@echo 'make fuzz   everything that reads links and files'
	@echo 'GPU=1 or GPU=0 after any of them: with or without GPU support, which doubles the time of the first build'

run: setup-run build
	$(FOREGLOW) demo

test: setup-test lint build unit wasm-unit

# Format, prose, lints and unit tests of the crates that changed since main.
.PHONY: check
check:
	@CARGO_FLAGS='$(CARGO_FLAGS)' tests/check.sh

.PHONY: setup-run setup-test
setup-run setup-test: setup-%:
	@$(if $(GPU_NOTE),echo '$(GPU_NOTE)' >&2)
	@./setup.sh $*

# The planner and the driver of the Spark engine are embedded in the binary, so they come first.
# `--bin` leaves out what only the tests need, and `--workspace` gives its dependencies the features
# that the tests will ask for.
build: planner spark
	$(call announce,$(FOREGLOW),the binary$(if $(filter 0,$(GPU)), without GPU support,),$(if $(filter 0,$(GPU)),12,22))
	cargo build $(CARGO_FLAGS) --bin foreglow

# Changes nothing where it is up to date, or where no JDK and no Spark are: the binary is built without it then.
spark:
	@runner/spark/build.sh

planner: $(PLANNER)/index.html

# Bundled anew only when something of it changed: the binary embeds these files, and would be linked again each time.
$(PLANNER)/index.html: $(WEB_WASM) $(READER) $(COMPARED) index.html $(wildcard web/assets/* web/bundle/src/* web/bundle/Cargo.*)
	cargo run --locked --release --manifest-path web/bundle/Cargo.toml --target-dir target/bundle -- --wasm $(WEB_WASM) \
	  --reader $(READER) $(if $(COMPARED),--comparison $(COMPARISON)) --out $(PLANNER)

# Cargo knows what the page is made of, and leaves the file alone when nothing changed.
$(WEB_WASM): FORCE | setup-run
	$(call announce,$@,the planner,2)
	$(WASM_CARGO) build --locked --profile planner --target $(WASM) --target-dir $(WEB_TARGET) -p foreglow-web --bins

# Both are made by one command.
$(READER): $(WEB_WASM) ;

# The comparison of all learners with Burn, which most visits never fetch.
$(COMPARISON): FORCE | setup-run
	$(call announce,$@,the planner's comparison of all learners,4)
	$(WASM_CARGO) build --locked --profile planner --target $(WASM) --target-dir $(WEB_TARGET) -p foreglow-comparison

FORCE:

# $(call announce,FILE,WHAT,MINUTES): says what is built, and how long that takes the first time.
announce = @[ -e $(1) ] || echo "building $(2): about $(3) minutes on 2 cores, once" >&2

# The page is linted with the profile that it is built with: what runs while it compiles is compiled once.
lint: | setup-test
	tests/prose.sh
	cargo fmt --all --check
	cargo fmt --check --manifest-path web/bundle/Cargo.toml
	cargo fmt --check --manifest-path bench/cpu-devices/Cargo.toml
	cargo fmt --check --manifest-path bench/decision/Cargo.toml
	cargo fmt --check --manifest-path runner/parity/Cargo.toml
	cargo fmt --check --manifest-path tests/wasm-runner/Cargo.toml
	cargo fmt --check --manifest-path bench/scenario-grid/Cargo.toml
	cargo clippy $(CARGO_FLAGS) --all-targets -- -D warnings
	cargo clippy --locked --release --manifest-path web/bundle/Cargo.toml --target-dir target/bundle -- -D warnings
	$(WASM_CARGO) clippy --locked --profile planner --target $(WASM) --target-dir $(WEB_TARGET) -p foreglow-shared -p foreglow-model -p foreglow-web -- -D warnings

# cargo-nextest runs the tests side by side where it is installed; it does not run the examples in the documentation. What is to
# be measured by hand (tests/examples) is linted and not built here.
TESTS := --lib --bins --tests
unit: build | setup-test
	@if cargo nextest --version >/dev/null 2>&1; then cargo nextest run $(CARGO_FLAGS) $(TESTS); else cargo test $(CARGO_FLAGS) $(TESTS); fi
	cargo test $(CARGO_FLAGS) --doc

# All tests of a file run before the browser answers again. The runner would wait for 20 s, and the browser's driver for 30.
IN_BROWSER := WASM_BINDGEN_TEST_TIMEOUT=1200 WASM_BINDGEN_TEST_WEBDRIVER_JSON=$(abspath tests/wasm-runner/webdriver.json) \
  CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER=$(abspath $(WASM_RUNNER))
# The laws of the mathematics hold in the browser too: the same tests, compiled for wasm32, in headless Chromium.
wasm-unit: $(WASM_RUNNER) | setup-test
	$(IN_BROWSER) $(WASM_CARGO) test --release --locked --target $(WASM) --target-dir $(WEB_TARGET) -p foreglow-model

$(WASM_RUNNER): $(wildcard tests/wasm-runner/src/* tests/wasm-runner/Cargo.*) | setup-run
	cargo build --locked --release --manifest-path tests/wasm-runner/Cargo.toml --target-dir target/bundle

# In the browser first; the native half then writes the figures of both.
bench-decision: $(WASM_RUNNER)
	mkdir -p target/bench
	$(IN_BROWSER) $(WASM_CARGO) test --release --locked --target $(WASM) \
	  --manifest-path bench/decision/Cargo.toml --target-dir target/decision-web --test browser -- --nocapture | tee target/bench/decision.log
	cargo run --release --locked --manifest-path bench/decision/Cargo.toml --target-dir target/decision -- target/bench/decision.log

# The search for a configuration, replayed on the public table of TrimTuner; DATA=FOLDER as for `make accuracy`.
.PHONY: bench-search
bench-search:
	cargo run $(CARGO_FLAGS) -p foreglow-accuracy --example search -- $(DATA)

# The published grid in the planner as people get it, in a real browser, beside the binary on one core and on two.
.PHONY: bench-grid-page
bench-grid-page: build | setup-test
	cargo build $(CARGO_FLAGS) --example grid_in_page
	target/release/examples/grid_in_page

# The planner's slider, its fit and its heap in a real browser.
.PHONY: bench-planner
bench-planner: build | setup-test
	cargo build $(CARGO_FLAGS) --example bench_planner
	target/release/examples/bench_planner

# A decision and a prediction, natively, on a machine with few processors and on a cluster.
.PHONY: bench-decide
bench-decide: build
	cargo build $(CARGO_FLAGS) --example bench_decide
	target/release/examples/bench_decide

# The longest task while a link is opened and fitted, by the time that the page's thread works.
.PHONY: bench-opening
bench-opening: build | setup-test
	python3 bench/opening/run.py

# What a first visit transfers and how long it takes, in headless Chromium; writes target/bench/page-load.json.
bench-page: build | setup-test
	cargo build $(CARGO_FLAGS) --example page_load
	target/release/examples/page_load

# The pictures of docs/: light, dark and a phone's.
screenshots: build | setup-test
	cargo build $(CARGO_FLAGS) --example screenshots
	target/release/examples/screenshots docs/screenshots

# Fuzzes what reads links and files, SECS seconds a target.
SECS := 1200
fuzz:
	fuzz/run.sh $(SECS)

bench: setup-run bench-decision bench-grid-page bench-decide bench-planner bench-opening bench-page bench-input bench-overhead bench-cnns bench-training bench-spark bench-simulation bench-event-log $(SKLEARN)
	RAYON_NUM_THREADS=1 cargo run --release --locked --manifest-path bench/cpu-devices/Cargo.toml --target-dir target/cpu-devices
	cargo run --release --locked --manifest-path bench/scenario-grid/Cargo.toml --target-dir target/scenario-grid -- $(SKLEARN)

# The peer of the benchmark: three minutes on two cores.
$(SKLEARN):
	python3 -m venv target/sklearn
	target/sklearn/bin/pip install --quiet scikit-learn==1.9.1

# The folder of the public data sets, which are no part of the project (docs/accuracy.md says what they are).
DATA := ../shared/data

# By itself: it needs neither Burn nor the page. ARGS are options of the program (--only TEXT,
# --quick, --predictor TEXT; --help), without which every figure is measured and written into the
# page.
ACCURACY := cargo build --release --locked -p foreglow-accuracy && target/release/accuracy
accuracy:
	$(ACCURACY) $(DATA) $(or $(ARGS),--page docs/accuracy.md)

# A quick run beside tests/accuracy/reference.csv, which accuracy-reference writes anew.
.PHONY: accuracy-check accuracy-reference
accuracy-check:
	$(ACCURACY) $(DATA) --check

accuracy-reference:
	$(ACCURACY) $(DATA) --refresh

# What the constants of the intervals were chosen on, and what a context with few runs gains from others.
development:
	cargo build --release --locked -p foreglow-accuracy --example development
	target/release/examples/development $(DATA)

# Our CNNs and the reference implementations with the same weights; not in CI.
parity: $(PARITY)/venv/installed
	rm -rf $(PARITY)/cnns
	cargo run --release --locked --manifest-path runner/parity/Cargo.toml --target-dir $(PARITY)/build -- $(PARITY)/cnns $(CNNS)
	$(PARITY)/venv/bin/python runner/parity/reference.py $(PARITY)/cnns

$(PARITY)/venv/installed: runner/parity/requirements.txt
	python3 -m venv $(PARITY)/venv
	$(PARITY)/venv/bin/pip install --quiet -r $<
	touch $@

# PyTorch's data loader, of the environment in which the CNNs are compared, or of any Python that has it (PYTORCH=python3).
PYTORCH ?= $(PARITY)/venv/bin/python

.PHONY: bench-spark setup-spark
setup-spark:
	@./setup.sh spark

bench-spark: setup-spark build
	python3 bench/spark/run.py

# How near `foreglow simulate` is on other configurations than the log's own.
.PHONY: bench-simulation
bench-simulation: setup-spark build
	python3 bench/spark/simulation.py

# A whole sweep on a Spark cluster of this machine, from the runs to the scenario table.
.PHONY: sweep-spark
sweep-spark: setup-spark build
	cargo build $(CARGO_FLAGS) --example spark_sweep
	target/release/examples/spark_sweep

.PHONY: bench-input
bench-input: build $(if $(filter $(PARITY)/%,$(PYTORCH)),$(PARITY)/venv/installed)
	$(PYTORCH) bench/input/run.py

# Needs 1 GB of disk for a while.
.PHONY: bench-event-log
bench-event-log: build
	python3 bench/event-log/run.py

# What the engine costs over the CNN alone.
.PHONY: bench-overhead
bench-overhead: build
	python3 bench/overhead/run.py

# ResNet-18 training, ResNet-50 and MobileNet-v2 inference on the processor, against PyTorch.
.PHONY: bench-cnns
bench-cnns: build $(if $(filter $(PARITY)/%,$(PYTORCH)),$(PARITY)/venv/installed)
	$(PYTORCH) bench/cnns/run.py

# Measures the planner's built-in example on an otherwise idle machine: half an hour on 2 cores.
.PHONY: sweep
sweep: build
	bench/sweep/run.sh target/sweep

# What distribution costs in accuracy.
.PHONY: bench-training
bench-training: build
	python3 bench/training/run.py

# The CNNs on this machine's GPU, against PyTorch if PYTORCH names a Python that has it: at most 10
# minutes.
.PHONY: bench-gpu bench-gpu-archive
bench-gpu: build
	$(GPU_PYTHON) bench/gpu/run.py $(BENCH_GPU)

# Everything that a bare machine with a GPU needs, without a network: unpack it there and run
# foreglow-bench-gpu/run.py.
GPU_ARCHIVE := target/foreglow-bench-gpu.tar.xz
bench-gpu-archive: build
	rm -rf target/foreglow-bench-gpu && mkdir -p target/foreglow-bench-gpu
	cp bench/gpu/run.py target/foreglow-bench-gpu/
	strip -o target/foreglow-bench-gpu/foreglow $(FOREGLOW)
	tar -C target -cJf $(GPU_ARCHIVE) foreglow-bench-gpu
	@size=$$(stat -c %s $(GPU_ARCHIVE)); echo "$(GPU_ARCHIVE): $$((size >> 20)) MiB"; [ $$size -lt $$((60 << 20)) ]

GPU_PYTHON ?= python3
