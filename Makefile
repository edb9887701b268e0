# Commands for users and developers. Each first installs missing dependencies (setup.sh).

# GPU=1 builds with GPU support, GPU=0 without; the default depends on the machine.
ifeq ($(origin GPU),undefined)
  GPU := $(shell ./setup.sh gpu)
  GPU_NOTE := $(if $(filter 0,$(GPU)),this machine has no GPU: building without GPU support; GPU=1 builds with it)
endif
export GPU

# Always the whole workspace: a single package selects other features of shared dependencies, so
# that cargo compiles them again.
CARGO_FLAGS := --release --locked --workspace $(if $(filter 0,$(GPU)),--no-default-features --features foreglow-web/page)
WASM        := wasm32-unknown-unknown
# Panic messages name source files. Without the folders of cargo and of the toolchain, the page does
# not depend on the user's home; cargo names the files of the workspace relative to its root. Of
# several prefixes that match, rustc takes the last one. Cargo derives the last part of REGISTRY
# from the address of crates.io.
SOURCES     := $(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src/
REGISTRY    := $(SOURCES)index.crates.io-1949cf8c6b5b557f/
WASM_ENV     = env $(shell ./setup.sh wasm-env)
SYSROOT      = $(shell $(WASM_ENV) sh -c '"$${RUSTC:-rustc}" --print sysroot')
REMAPPED     = $(foreach folder,$(SYSROOT)/lib/rustlib/src/rust/ $(SOURCES) $(REGISTRY),"--remap-path-prefix=$(folder)=",)
WASM_CARGO   = $(WASM_ENV) cargo --config 'target.$(WASM).rustflags=[$(REMAPPED)]'
# Separate because another compiler may build the page, and cargo rebuilds a target directory when
# the compiler changes.
WEB_TARGET  := target/web
WEB_WASM    := $(WEB_TARGET)/$(WASM)/planner/foreglow-web.wasm
# The module that reads files and advises; the page fetches it on demand.
READER      := $(WEB_TARGET)/$(WASM)/planner/foreglow-reader.wasm
COMPARISON  := $(WEB_TARGET)/$(WASM)/planner/foreglow_comparison.wasm
# The comparison of all learners takes two thirds of the page's compile time: `make run` embeds it
# only if it was built before, and the page says so.
COMPARED    := $(if $(filter-out run,$(or $(MAKECMDGOALS),run)),$(COMPARISON),$(wildcard $(COMPARISON)))
PLANNER     := target/planner
WASM_RUNNER := target/bundle/release/foreglow-wasm-runner
FOREGLOW    := target/release/foreglow
SPARK_CLASSES := target/spark-classes/classes.jsa
SKLEARN     := target/sklearn/bin/python

# Comparison of the CNNs with PyTorch, compiled separately. PyTorch for processor and GPU takes
# about 6 GB.
PARITY := target/parity

.PHONY: brackets run test bench bench-page screenshots fuzz parity accuracy development bench-decision build planner spark lint unit wasm-unit help FORCE

define HELP
Use
  run                      measures a CNN here, predicts the whole job, serves the planner
  build                    the binary with the planner: target/release/foreglow
  dist                     a release: a smaller binary as an archive and a .deb
  wheel                    the binary and the Python package as a wheel for pip
  docs                     this documentation as a site: target/book/html
  site                     the planner and the documentation, to be hosted: target/site

Develop
  check                    format, prose, lints and unit tests of changed crates
  test                     lints and all tests, including those in a browser
  lint, unit, wasm-unit    the parts of `make test`; wasm-unit runs the model in a browser
  accuracy-check           accuracy of a quick run; fails if a figure is over 5 % worse (DATA)
  accuracy-reference       rewrites the figures that accuracy-check compares with (DATA)
  campaign                 FAULTS faults of a loaded collector; STORE=postgres for PostgreSQL
  fuzz                     fuzzes the readers of links and files, SECS seconds per target
  parity                   CNNs against PyTorch on the same weights (CNNS selects some)
  parity-onnx              ONNX exports of torchvision and timm against PyTorch (NETWORKS)
  schemas                  exported tasks against the schemas of Kubernetes and SkyPilot
  screenshots              the pictures of the planner in docs/

Measure (each bench-NAME writes target/bench/NAME.json; docs/performance.md has the figures)
  bench                    most benchmarks; docs/performance.md lists the others
  bench-NAME               one benchmark, such as bench-cnns or bench-spark
  bench-gpu                CNNs on the GPU, in at most 10 minutes
  bench-gpu-archive        the same, packed for a machine without a network
  bench-collector          throughput of a collector (SAMPLES, STORE)
  bench-collector-clients  a collector under many, slow or hostile clients (PART)
  bench-soak               a collector under load for an hour (SECS)
  accuracy                 error of all predictors; writes docs/accuracy.md (DATA, ARGS)
  public-measurements      writes the tables of public measurements (DATA)
  public-accuracy          error of the fit of public measurements (DATA)
  development              the choice of the interval constants (DATA)
  brackets                 error of the largest batch that fits a GPU (DATA)
  sweep                    the built-in example: two CNNs, half an hour
  sweep-paper              the published study on 24 slow cores, two hours
  sweep-paper-spark        a smaller grid on a Spark cluster of slow workers, half an hour
  sweep-spark              a sweep on a Spark cluster on this machine
  paper                    docs/paper.md from the samples of sweep-paper
  example-mnist            the built-in example of accuracy and time, 20 minutes

Variables
  GPU=1, GPU=0             with or without GPU support, which doubles the first build's time
  DATA=FOLDER              the public data sets, which docs/accuracy.md describes
endef

help:
	@: $(info $(HELP))

run: setup-run build
	$(FOREGLOW) demo

# While the lints compile, the packages that only the tests need are installed, and the page is
# linked on one processor. Nothing runs beside the unit tests, of which some measure, nor beside the
# model in a browser, whose driver gives up on a page that does not answer for five minutes.
test: setup-lint
	$(MAKE) --no-print-directory --jobs=4 setup-test lint planner $(SPARK_CLASSES)
	$(MAKE) --no-print-directory unit wasm-unit

# Format, prose, lints and unit tests of the crates that changed since main.
.PHONY: check
check:
	@CARGO_FLAGS='$(CARGO_FLAGS)' tests/check.sh

.PHONY: setup-run setup-lint setup-test setup-docs
setup-run setup-lint setup-test setup-docs: setup-%:
	@$(if $(GPU_NOTE),echo '$(GPU_NOTE)' >&2)
	@./setup.sh $*

# Builds only the binary. `--bin` leaves out the dependencies of the tests; `--workspace` selects
# the same features as the tests. The planner and the driver of the Spark engine come first because
# the binary embeds them.
build: planner spark
	$(call announce,$(FOREGLOW),the binary$(if $(filter 0,$(GPU)), without GPU support,),$(if $(filter 0,$(GPU)),11,13))
	cargo build $(CARGO_FLAGS) --bin foreglow

# Packs a release with the smallest binary, whose build takes twice as long.
.PHONY: dist
dist: planner spark
	cargo build $(patsubst --release,--profile dist,$(CARGO_FLAGS)) --bin foreglow --example foreglow_native
	packaging/package.sh

# The extension module of the wheel. It takes its interface from the features, not from the Python
# at hand.
export PYO3_NO_PYTHON := 1
export PYO3_BUILD_EXTENSION_MODULE := 1
.PHONY: extension
extension:
	cargo build $(CARGO_FLAGS) --example foreglow_native

# Packs the binary, the extension module and the Python package as a wheel for pip.
.PHONY: wheel
wheel: build extension
	FOREGLOW="$(abspath $(FOREGLOW))" python3 -m pip wheel --quiet --no-deps --wheel-dir target/packages ./python

# The documentation as a site. The copy has the folders of the project, so that links between pages
# hold, and only what the site shows, because mdBook publishes every file of its source.
BOOK := target/book
.PHONY: docs
docs: | setup-docs
	rm -rf $(BOOK)/src && mkdir -p $(BOOK)/src
	git ls-files -z '*.md' docs 'LICENSE-*' ':!python' ':!docs/site' | xargs -0 cp --parents --target-directory=$(BOOK)/src
	cp docs/site/SUMMARY.md $(BOOK)/src/ && cp docs/site/book.toml $(BOOK)/
	PATH="$(abspath target/mdbook/bin):$$PATH" MDBOOK_BOOK__TITLE="Foreglow $$(sed -n 's/^version = "\(.*\)"$$/\1/p' Cargo.toml | head -n 1)" mdbook build $(BOOK)

# The planner and the documentation as the static site that .github/workflows/site.yml publishes.
.PHONY: site
site: planner docs
	rm -rf target/site && cp -R target/planner target/site && cp -R $(BOOK)/html target/site/docs

# Does nothing if the driver is up to date. Without a JDK or Spark the binary has no driver.
spark:
	@runner/spark/build.sh

# A class data archive of Spark, made by a small job on one executor: it shortens the start of a
# JVM, and the tests start many.
$(SPARK_CLASSES): | setup-test
	mkdir -p $(@D)
	cd target/pyspark/lib/python3*/site-packages/pyspark && SPARK_LOCAL_IP=127.0.0.1 PYSPARK_PYTHON="$(abspath target/pyspark/bin/python3)" \
	  SPARK_SUBMIT_OPTS='-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ArchiveClassesAtExit=$(abspath $@)' \
	  SPARK_HOME=$$PWD bin/spark-submit --master 'local-cluster[1,1,512]' --conf spark.ui.enabled=false \
	  --conf spark.executor.memory=512m examples/src/main/python/pi.py 2 >"$(abspath $@).log" 2>&1 || \
	  echo 'Spark'"'"'s classes cannot be archived ($@.log): the tests with Spark take longer' >&2

planner: $(PLANNER)/index.html

# Bundled again only after a change, because the binary embeds these files and is linked again.
$(PLANNER)/index.html: $(WEB_WASM) $(READER) $(COMPARED) index.html $(wildcard web/assets/* bench/paper/samples/*.jsonl web/bundle/src/* web/bundle/Cargo.*)
	cargo run --locked --release --manifest-path web/bundle/Cargo.toml --target-dir target/bundle -- --wasm $(WEB_WASM) \
	  --reader $(READER) $(if $(COMPARED),--comparison $(COMPARISON)) --out $(PLANNER)

# Cargo tracks the sources of the page. It does not touch the file if nothing changed.
$(WEB_WASM): FORCE | setup-run
	$(call announce,$@,the planner,2)
	$(WASM_CARGO) build --locked --profile planner --target $(WASM) --target-dir $(WEB_TARGET) -p foreglow-web --bins

# Built by the rule of $(WEB_WASM).
$(READER): $(WEB_WASM) ;

# The comparison of all learners, which uses Burn and is fetched on demand.
$(COMPARISON): FORCE | setup-run
	$(call announce,$@,the planner's comparison of all learners,4)
	$(WASM_CARGO) build --locked --profile planner --target $(WASM) --target-dir $(WEB_TARGET) -p foreglow-comparison

FORCE:

# $(call announce,FILE,WHAT,MINUTES): before the first build of FILE, prints what is built and how
# long it takes.
announce = @[ -e $(1) ] || echo "building $(2): about $(3) minutes on 2 cores, once" >&2

# Clippy uses the profile that builds the page, so that build scripts and macros are compiled once.
lint: | setup-lint
	tests/prose.sh
	node tests/workflows.mjs
	@if cargo deny --version >/dev/null 2>&1; then \
	  cargo deny --offline --locked check licenses bans sources && \
	  if cargo deny fetch db >/dev/null 2>&1; then cargo deny --offline --locked check advisories; \
	  else echo 'advisories of dependencies: skipped, because their database cannot be fetched' >&2; fi; \
	else \
	  echo 'licences and sources of dependencies: skipped, because cargo-deny is missing (cargo install cargo-deny --locked)' >&2; \
	fi
	cargo fmt --all --check
	cargo fmt --check --manifest-path web/bundle/Cargo.toml
	cargo fmt --check --manifest-path bench/cpu-devices/Cargo.toml
	cargo fmt --check --manifest-path bench/decision/Cargo.toml
	cargo fmt --check --manifest-path runner/parity/Cargo.toml
	cargo fmt --check --manifest-path tests/wasm-runner/Cargo.toml
	cargo fmt --check --manifest-path fuzz/Cargo.toml
	cargo fmt --check --manifest-path bench/scenario-grid/Cargo.toml
	cargo clippy $(CARGO_FLAGS) --all-targets -- -D warnings
	cargo clippy --locked --release --manifest-path web/bundle/Cargo.toml --target-dir target/bundle -- -D warnings
	$(WASM_CARGO) clippy --locked --profile planner --target $(WASM) --target-dir $(WEB_TARGET) -p foreglow-shared -p foreglow-onnx -p foreglow-progress -p foreglow-spark-log -p foreglow-import -p foreglow-numeric -p foreglow-curve -p foreglow-learner -p foreglow-predictor -p foreglow-public -p foreglow-model -p foreglow-web -- -D warnings

# Runs the tests in parallel with cargo-nextest if it is installed; nextest does not run doc tests.
# The programs of tests/examples are linted but not built here.
TESTS := --lib --bins --tests
unit: planner spark extension $(SPARK_CLASSES) | setup-test
	@if cargo nextest --version >/dev/null 2>&1; then with='nextest run'; else with=test; fi; \
	tests/in-memory.sh cargo $$with --no-fail-fast $(CARGO_FLAGS) $(TESTS)
	cargo test $(CARGO_FLAGS) --doc

# A whole test file runs before the browser responds. The default time limits are 20 s (test runner)
# and 30 s (browser driver).
# The runner is a list, because cargo divides a text at the spaces of a path.
IN_BROWSER = WASM_BINDGEN_TEST_TIMEOUT=1200 WASM_BINDGEN_TEST_WEBDRIVER_JSON="$(abspath tests/wasm-runner/webdriver.json)" \
  $(WASM_CARGO) --config 'target.$(WASM).runner=["$(abspath $(WASM_RUNNER))"]'
# Runs the model's tests in headless Chromium, compiled for wasm32.
wasm-unit: $(WASM_RUNNER) | setup-test
	$(IN_BROWSER) test --release --locked --target $(WASM) --target-dir $(WEB_TARGET) -p foreglow-model --test behaviour

$(WASM_RUNNER): $(wildcard tests/wasm-runner/src/* tests/wasm-runner/Cargo.*) | setup-run
	cargo build --locked --release --manifest-path tests/wasm-runner/Cargo.toml --target-dir target/bundle

# The browser runs first; the native benchmark then writes both results.
bench-decision: $(WASM_RUNNER)
	mkdir -p target/bench
	$(IN_BROWSER) test --release --locked --target $(WASM) \
	  --manifest-path bench/decision/Cargo.toml --target-dir target/decision-web --test browser -- --nocapture | tee target/bench/decision.log
	cargo run --release --locked --manifest-path bench/decision/Cargo.toml --target-dir target/decision -- target/bench/decision.log

# Replays searches for a configuration on public tables (DATA=FOLDER).
.PHONY: bench-search
bench-search:
	cargo run --release --locked -p foreglow-accuracy --example search -- $(DATA)

# Measures the published grid in the planner in a real browser, and natively on one core and on two.
.PHONY: bench-grid-page
bench-grid-page: build | setup-test
	cargo build $(CARGO_FLAGS) --example grid_in_page
	target/release/examples/grid_in_page

# Measures the planner's sliders, fit and heap in a real browser.
.PHONY: bench-planner
bench-planner: build | setup-test
	cargo build $(CARGO_FLAGS) --example bench_planner
	target/release/examples/bench_planner

# Measures the planner with 100,000 configurations over 80 machine types in a real browser.
.PHONY: bench-machines
bench-machines: build | setup-test
	cargo build $(CARGO_FLAGS) --example bench_machines
	target/release/examples/bench_machines

# Measures native decisions and predictions, for a machine with few processors and for a cluster.
.PHONY: bench-decide
bench-decide: build
	cargo build $(CARGO_FLAGS) --example bench_decide
	target/release/examples/bench_decide

# Measures the collector with SAMPLES samples: throughput, response times, peak memory. STORE is
# sqlite, postgres (starts a temporary server), or the URL of an empty database.
SAMPLES := 1000000
STORE := sqlite
.PHONY: bench-collector bench-collector-clients campaign
bench-collector: build
	cargo build $(CARGO_FLAGS) --example bench_collector
	target/release/examples/bench_collector $(SAMPLES) $(STORE)

# Measures the page on collectors with 1,000 and 1,000,000 samples in a real browser.
.PHONY: bench-collector-page
bench-collector-page: build | setup-test
	cargo build $(CARGO_FLAGS) --example bench_collector_page
	target/release/examples/bench_collector_page

# Measures the collector under many, slow or hostile clients. PART selects one part, such as
# connections.
PART :=
bench-collector-clients: build
	cargo build $(CARGO_FLAGS) --example bench_collector_clients
	target/release/examples/bench_collector_clients $(PART)

# Measures a collector under a steady load for SECS seconds.
.PHONY: bench-soak
bench-soak: SECS := 3600
bench-soak: build
	cargo build $(CARGO_FLAGS) --example bench_collector_clients
	SECS=$(SECS) target/release/examples/bench_collector_clients soak

# Injects FAULTS faults into a collector. Checks that no acknowledged sample is lost, duplicated or
# altered, and that the figures of runs are right. STORE is sqlite, or postgres, which starts a
# temporary server with default durability.
FAULTS := 200
campaign: build
	cargo build $(CARGO_FLAGS) --example collector_faults
	target/release/examples/collector_faults $(FAULTS) $(STORE)

# Measures the thread time of the longest task while a link is opened and fitted.
.PHONY: bench-opening
bench-opening: build | setup-test
	python3 bench/opening/run.py

# Opens the served page in fresh browser profiles and counts those that stay blank, LOADS=200 of
# each server.
.PHONY: bench-loads
bench-loads: build | setup-test
	python3 bench/opening/loads.py

# Measures transfer size and time of a first visit in headless Chromium; writes
# target/bench/page-load.json.
bench-page: build | setup-test
	cargo build $(CARGO_FLAGS) --example page_load
	target/release/examples/page_load

# Takes the screenshots of docs/: light, dark, and on a phone.
screenshots: build | setup-test
	cargo build $(CARGO_FLAGS) --example screenshots
	target/release/examples/screenshots docs/screenshots

# Checks the golden files of `foreglow export` against the schemas in the Python packages of
# Kubernetes and SkyPilot.
.PHONY: schemas
schemas:
	runner/tests/launch/schemas.sh

# Fuzzes the readers of links and files for SECS seconds per target.
SECS := 1200
fuzz:
	fuzz/run.sh $(SECS)

bench: setup-run bench-decision bench-grid-page bench-decide bench-planner bench-machines bench-opening bench-loads bench-page bench-collector-page bench-input bench-overhead bench-core-share bench-cnns bench-onnx bench-training bench-spark bench-simulation bench-event-log $(SKLEARN)
	RAYON_NUM_THREADS=1 cargo run --release --locked --manifest-path bench/cpu-devices/Cargo.toml --target-dir target/cpu-devices
	cargo run --release --locked --manifest-path bench/scenario-grid/Cargo.toml --target-dir target/scenario-grid -- $(SKLEARN)

# scikit-learn, the benchmark's reference: three minutes on two cores.
$(SKLEARN):
	python3 -m venv target/sklearn
	target/sklearn/bin/pip install --quiet scikit-learn==1.9.1

# Folder of the public data sets (docs/accuracy.md describes them). They are not in the repository.
DATA := ../shared/data

# Built separately, because it needs neither Burn nor the page. ARGS are options of the program
# (--only TEXT, --quick, --predictor TEXT; --help). Without ARGS, all figures are measured and
# written to docs/accuracy.md.
ACCURACY := cargo build --release --locked -p foreglow-accuracy && target/release/accuracy
accuracy:
	$(ACCURACY) $(DATA) $(or $(ARGS),--page docs/accuracy.md)

# accuracy-check compares a quick run with tests/accuracy/reference.csv; accuracy-reference rewrites
# that file.
.PHONY: accuracy-check accuracy-reference
accuracy-check:
	$(ACCURACY) $(DATA) --check

accuracy-reference:
	$(ACCURACY) $(DATA) --refresh

# Writes the tables of model/public/data from the public files of DATA; `public-accuracy` measures
# the errors of their fit, with each source, GPU type and network left out, and writes
# target/public-accuracy.json; `public-accuracy-check` compares them with
# tests/public/reference.csv.
.PHONY: public-measurements pack-public-measurements public-accuracy public-accuracy-check
PUBLIC := cargo build --release --locked -p foreglow-public-measurements && target/release/public-measurements
public-measurements:
	$(PUBLIC) table $(DATA)
	$(MAKE) --no-print-directory pack-public-measurements

# Packs the tables of model/public/data for the page, after any change of them.
pack-public-measurements:
	$(PUBLIC) pack

public-accuracy:
	$(PUBLIC) accuracy $(DATA)

public-accuracy-check:
	$(PUBLIC) check $(DATA)

# Measures the interval constants on the questions for which they were chosen, and how much a
# context with few runs gains from other contexts.
development:
	cargo build --release --locked -p foreglow-accuracy --example development
	target/release/examples/development $(DATA)

# Measures how often the largest training batch that fits a GPU is predicted correctly, for timm.
brackets:
	cargo run --release --locked -p foreglow-accuracy --example brackets -- $(DATA)

# Compares the CNNs with the reference implementations on the same weights; not part of CI.
parity: $(PARITY)/venv/installed
	rm -rf $(PARITY)/cnns
	cargo run --release --locked --manifest-path runner/parity/Cargo.toml --target-dir $(PARITY)/build -- $(PARITY)/cnns $(CNNS)
	$(PARITY)/venv/bin/python runner/parity/reference.py $(PARITY)/cnns
	$(MAKE) parity-onnx

# Exports networks of torchvision and timm to ONNX and compares their outputs (NETWORKS selects
# some).
.PHONY: parity-onnx
parity-onnx: $(PARITY)/venv/installed
	rm -rf $(PARITY)/onnx
	$(PARITY)/venv/bin/python runner/parity/export.py $(PARITY)/onnx $(NETWORKS)
	cargo build $(CARGO_FLAGS) --example onnx_parity
	target/release/examples/onnx_parity $(PARITY)/onnx

$(PARITY)/venv/installed: runner/parity/requirements.txt
	python3 -m venv $(PARITY)/venv
	$(PARITY)/venv/bin/pip install --quiet -r $<
	touch $@

# A Python with PyTorch: by default the environment of `make parity`; PYTORCH=python3 for another.
PYTORCH ?= $(PARITY)/venv/bin/python

.PHONY: bench-spark setup-spark
setup-spark:
	@./setup.sh spark

bench-spark: setup-spark build
	python3 bench/spark/run.py

# Measures the error of `foreglow simulate` on configurations other than that of the log.
.PHONY: bench-simulation
bench-simulation: setup-spark build
	python3 bench/spark/simulation.py

.PHONY: bench-plan-logs
bench-plan-logs: setup-spark build
	python3 bench/spark/plan_logs.py

# Runs a sweep on a Spark cluster on this machine and prints the scenario table.
.PHONY: sweep-spark
sweep-spark: setup-spark build
	cargo build $(CARGO_FLAGS) --example spark_sweep
	target/release/examples/spark_sweep

.PHONY: bench-input
bench-input: build $(if $(filter $(PARITY)/%,$(PYTORCH)),$(PARITY)/venv/installed)
	$(PYTORCH) bench/input/run.py

# Needs 1 GB of disk temporarily.
.PHONY: bench-event-log
bench-event-log: build
	python3 bench/event-log/run.py

# Measures the engine's overhead over the bare CNN.
.PHONY: bench-overhead
bench-overhead: build
	python3 bench/overhead/run.py

# Measures and predicts whole jobs of public training programs; CLONES and PYTHON as
# bench/programs/run.py says.
.PHONY: bench-programs
bench-programs: build
	CLONES=$(CLONES) PYTHON=$(PYTHON) python3 bench/programs/run.py

# Measures what it costs to measure, follow and import a program.
.PHONY: bench-program-cost
bench-program-cost: build
	python3 bench/programs/cost.py

# Measures slow cores (--core-share) against whole processors.
.PHONY: bench-core-share
bench-core-share: build
	python3 bench/core-share/run.py

# Measures ResNet-18 training, and ResNet-50 and MobileNet-v2 inference, on the processor against
# PyTorch.
.PHONY: bench-cnns
bench-cnns: build $(if $(filter $(PARITY)/%,$(PYTORCH)),$(PARITY)/venv/installed)
	$(PYTORCH) bench/cnns/run.py

# Measures the built-in networks on the processor against their exports to ONNX.
.PHONY: bench-onnx
bench-onnx: build $(if $(filter $(PARITY)/%,$(PYTORCH)),$(PARITY)/venv/installed)
	$(PYTORCH) bench/onnx/run.py

# Measures the planner's built-in example. Needs an idle machine; half an hour on 2 cores.
.PHONY: sweep
sweep: build
	bench/sweep/run.sh target/sweep

# Measures the published study's grid on slow cores: about two hours for all three CNNs. The same
# command continues an interrupted sweep. `make paper` writes docs/paper.md from the samples.
.PHONY: sweep-paper sweep-paper-spark paper
sweep-paper: build
	python3 bench/paper/run.py target/paper
	$(MAKE) paper

# Measures a smaller grid on Spark: half an hour. Needs the permission to create control groups.
sweep-paper-spark: setup-spark build
	python3 bench/paper/spark.py target/paper-spark
	$(MAKE) paper

paper: build
	python3 bench/paper/report.py bench/paper/samples docs

# Measures the loss of accuracy by distributed training.
.PHONY: bench-training
bench-training: build
	python3 bench/training/run.py

# Trains LeNet-5 on MNIST with 1 to 8 executors: accuracy by averaging interval.
.PHONY: bench-mnist
bench-mnist: build
	python3 bench/mnist/run.py

# Measures the built-in example of accuracy and time: 20 minutes.
.PHONY: example-mnist
example-mnist: build
	python3 bench/mnist/example.py

# Measures the CNNs on this machine's GPU, and PyTorch if PYTORCH names a Python that has it: at
# most 10 minutes.
.PHONY: bench-gpu bench-gpu-archive
bench-gpu: build
	$(GPU_PYTHON) bench/gpu/run.py $(BENCH_GPU)

# Packs the benchmark for a machine with a GPU and without a network. Unpack it there and run
# foreglow-bench-gpu/run.py.
GPU_ARCHIVE := target/foreglow-bench-gpu.tar.xz
bench-gpu-archive: build
	rm -rf target/foreglow-bench-gpu && mkdir -p target/foreglow-bench-gpu
	cp bench/gpu/run.py target/foreglow-bench-gpu/
	strip -o target/foreglow-bench-gpu/foreglow $(FOREGLOW)
	tar -C target -cJf $(GPU_ARCHIVE) foreglow-bench-gpu
	@size=$$(stat -c %s $(GPU_ARCHIVE)); echo "$(GPU_ARCHIVE): $$((size >> 20)) MiB"; [ $$size -lt $$((60 << 20)) ]

GPU_PYTHON ?= python3
