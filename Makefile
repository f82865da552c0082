# Every verb there is; each needs nothing but Rust (cargo) and Python 3.11 or later.
PYTHON ?= python3
BIN := .venv/bin
RUST := $(shell find crates -name '*.rs' -o -name '*.toml') Cargo.toml Cargo.lock pyproject.toml
GUEST ?= $(if $(filter Linux,$(shell uname -s)),python/aqmlab/kernel/guest)
TEMPLATE := examples/own-scheme/Cargo.toml
OLDEST := $(if $(filter Linux,$(shell uname -s)),--compatibility manylinux_2_28)  # RHEL 8, Debian 10, Ubuntu 20.04 and later
TOOLS := studio/node_modules/.package-lock.json
ENGINE := target/wasm32-unknown-unknown/page/aqmlab_engine.wasm
PAGE ?= page
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
PROFILE := target/pgo/runs.profdata
# With --target: flags are for the engine only, not for build scripts, which no profile has.
GUIDED := -Cprofile-use=$(CURDIR)/$(PROFILE)
# Hundreds of processes import the same packages: what they compile is kept, whatever the environment asks for.
export PYTHONDONTWRITEBYTECODE :=
# While pip or the engine's link keeps one core busy, tests compile on another; `make clean build` keeps its order.
MAKEFLAGS += $(if $(filter clean,$(MAKECMDGOALS)),,--jobs=2)

.PHONY: help setup build wheel site page engine-wasm c-library c-header demo test test-rust test-studio nightly soak hunt fuzz lint lint-rust lint-studio studio bench instructions validate docs outputs pictures board deployed advice suites ledgers analysis tuned train gym clean

help:  ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: .venv/.installed  ## Create the virtual environment and install the pinned packages

.venv/.installed: requirements.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.txt
	touch $@

build: .venv/.built $(GUEST)  ## Build the Rust half (profile quick); leaves the command at .venv/bin/aqmlab

.venv/.built: .venv/.installed $(RUST)
	PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --profile quick --locked
	touch $@

python/aqmlab/kernel/guest: $(RUST)  # the program inside a kernel, which has no libraries there
	cargo rustc --locked --quiet --profile quick -p aqmlab-kernel --bin aqmlab-guest -- -C target-feature=+crt-static
	install -s target/quick/aqmlab-guest $@

engine-wasm:  ## Build the engine for web pages; leaves it in target/wasm32-unknown-unknown/page/ (needs rustup)
	rustup target add wasm32-unknown-unknown
	cargo build --locked --quiet --profile page --target wasm32-unknown-unknown -p aqmlab-wasm

# Profile-guided optimization. Zig cannot link the counting engine, so maturin's --pgo fails; the system's linker can.
$(PROFILE): packaging/pgo.py $(RUST)
	rustup component add llvm-tools
	rm -rf target/pgo/raw
	CARGO_TARGET_DIR=target/pgo RUSTFLAGS=-Cprofile-generate=$(CURDIR)/target/pgo/raw cargo rustc --release --locked --quiet \
		-p aqmlab-python --lib --crate-type cdylib --features pyo3/extension-module --target $(HOST)
	cp target/pgo/$(HOST)/release/libaqmlab_python.$(if $(filter Darwin,$(shell uname -s)),dylib,so) target/pgo/_core.so
	$(PYTHON) $< target/pgo/_core.so
	$$(rustc --print sysroot)/lib/rustlib/$(HOST)/bin/llvm-profdata merge -o $@ target/pgo/raw

wheel: .venv/.zig $(GUEST) $(PROFILE)  ## Build the wheel and the source archive that others can install; leaves them in dist/ (needs rustup)
	$(PYTHON) packaging/third_party.py --check
	rm -rf dist
	PATH=$(CURDIR)/$(BIN):$$PATH RUSTFLAGS=$(GUIDED) maturin build --release --locked --strip --zig --out dist $(OLDEST)  # not from the archive, which has no commit
	$(BIN)/maturin sdist --out dist

.venv/.zig: .venv/.installed requirements-wheel.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-wheel.txt
	touch $@

site: .venv-docs/.installed $(PAGE)  ## Build the documentation as a site in site/, with the studio (PAGE= leaves it out); a dead link is an error
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict  # --quiet would count no warnings
	$(if $(PAGE),cp -r target/studio site/studio)

page: build engine-wasm $(TOOLS)  ## Build the studio as a page that needs no server; leaves it in target/studio/ (needs rustup and npm)
	rm -rf target/studio
	install -D -m 644 $(ENGINE) -t target/studio
	$(BIN)/python docs/studio_page.py target/studio/data
	cd studio && npm run --silent page -- ../target/studio

.venv-docs/.installed: requirements-docs.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.txt
	touch $@

c-library:  ## Build the C library of a line into dist/c: header, shared and static library, pkg-config
	cargo build --locked --release -p aqmlab-c
	install -d dist/c/include dist/c/lib/pkgconfig
	install -m 644 crates/c/include/aqmlab.h dist/c/include
	install -m 644 target/release/libaqmlab.a dist/c/lib
	install -m 755 target/release/libaqmlab.so dist/c/lib/libaqmlab.so.1
	ln -sf libaqmlab.so.1 dist/c/lib/libaqmlab.so
	sed "s|@VERSION@|$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)|" crates/c/aqmlab.pc.in > dist/c/lib/pkgconfig/aqmlab.pc

c-header:  ## Write the header of the C library again
	AQMLAB_WRITE_HEADER=1 cargo test --locked --quiet -p aqmlab-c --test main header::

demo: build  ## Compare a call under three schemes, then reproduce Table 1 of Li et al. 2014 and write a report to demo/
	$(BIN)/aqmlab compare home/call --aqms droptail,codel,fq-codel
	@cat docs/call-on-linux.txt
	$(BIN)/aqmlab reproduce li2014 --table 1 --out demo

test: build test-rust test-studio  ## Run all tests: Rust, TypeScript and Python
	$(BIN)/python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder -m "not nightly"

test-rust:
	cargo test --locked --quiet

test-studio: $(TOOLS)
	@if command -v npm > /dev/null; then cd studio && npm run --silent test; fi

nightly: build site wheel engine-wasm  ## Run the property tests over thousands of random scenarios, hold all results to those stored, and to ns-2; install the wheel; look at the site
	AQMLAB_CASES=5000 cargo test --locked --quiet -p aqmlab-sim --test main properties::
	cargo test --locked --quiet --tests -- --ignored
	$(MAKE) fuzz CASES=100000
	$(BIN)/python validation/frozen.py
	$(BIN)/python validation/found.py --some 20 $(shell date -u +%j)
	$(BIN)/python docs/suites.py --check
	$(BIN)/python -m pytest -q -n auto -m "nightly and not soak"

soak: build  ## Run what is too long for a night: property tests, readers, faults of BBRv3, a tournament; an hour or two
	AQMLAB_CASES=50000 cargo test --locked --quiet -p aqmlab-sim --test main properties::
	$(MAKE) fuzz CASES=5000000
	$(BIN)/python validation/frozen.py --whole
	$(BIN)/python validation/found.py
	$(BIN)/python -m pytest -q -n auto -m soak

SEED ?= $(shell date -u +%Y%m%d)
hunt: build  ## Search for ten minutes for a scenario in which simulator and Linux disagree (SEED, default: the date; needs a kernel)
	$(BIN)/python validation/hunt.py $(SEED)

CASES ?= 200000
fuzz: build $(TOOLS)  ## Feed the readers of scenarios, packets, captures, logs, links and files with CASES texts each
	AQMLAB_FUZZ=$(CASES) cargo test --locked --quiet -p aqmlab-scenario --test main any_text::
	AQMLAB_FUZZ=$(CASES) cargo test --locked --quiet -p aqmlab-live --lib any_
	AQMLAB_FUZZ=$(CASES) CARGO_TARGET_DIR=target cargo test --locked --quiet --manifest-path crates/quic/Cargo.toml --lib any_
	@if command -v npm > /dev/null; then cd studio && AQMLAB_FUZZ=$(CASES) npm run --silent test; fi
	AQMLAB_FUZZ=$(CASES) $(BIN)/python -m pytest -q -n auto tests/test_fuzz.py

lint: build lint-rust lint-studio  ## Check formatting, lints and types
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

lint-rust:
	cargo fmt --all --check
	rustfmt --edition 2024 --check crates/aqm/src/schemes/*.rs crates/tcp/src/cc/*.rs  # a macro declares these modules
	cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
	cargo fmt --check --manifest-path $(TEMPLATE)
	CARGO_TARGET_DIR=target cargo clippy --locked --manifest-path $(TEMPLATE) --all-targets --all-features --quiet -- -D warnings

studio: $(TOOLS)  ## Check the studio's TypeScript and bundle it into the package (needs npm)
	cd studio && npm run --silent check && npm run --silent build

lint-studio: $(TOOLS)
	@if command -v npm > /dev/null; then cd studio && npm run --silent check && npm run --silent current; fi

$(TOOLS): studio/package-lock.json
	@if command -v npm > /dev/null; then cd studio && npm ci --silent && touch node_modules/.package-lock.json || echo "npm ci has failed"; \
	else echo "npm is not installed: TypeScript and bundle of the studio are neither checked nor tested"; fi

bench: .venv/.installed $(PROFILE)  ## Measure speed as released, beside ns-2 where it is installed; writes docs/benchmarks.md (needs rustup)
	PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/.venv RUSTFLAGS=$(GUIDED) $(BIN)/maturin develop --release --locked --target $(HOST)
	rm -f .venv/.built  # the next make build restores the engine of the tests
	$(BIN)/python benches/run.py

instructions: build  ## Count the instructions of eleven runs; more than 1 % above benches/instructions.json is an error (needs valgrind)
	$(BIN)/python benches/instructions.py

validate: build  ## Compare with the stored results of ns-2, ns-3 and Linux, and with theory; builds a kernel; writes docs/validation*.md, two tables of docs/l4s-evidence.md, one of docs/bbr-evidence.md, Linux on the board
	$(BIN)/aqmlab kernel path > /dev/null || $(BIN)/aqmlab kernel build
	$(BIN)/python validation/ns2.py
	$(BIN)/python validation/linux.py
	$(BIN)/python validation/kernel.py
	$(BIN)/python validation/random_scenarios.py
	$(BIN)/python validation/reported.py
	$(BIN)/python validation/sequences.py
	$(BIN)/python validation/response.py
	$(BIN)/python validation/balance.py
	$(BIN)/python validation/shares.py
	$(BIN)/python docs/board.py --linux

docs: build  ## Write the generated pages of docs/ and the tables of files in READMEs
	$(BIN)/python docs/generate.py

outputs: build  ## Run the examples of the documents and write what they print below them (PAGES="docs/tc.md ..." for some; all take an hour or more)
	$(BIN)/python docs/outputs.py $(PAGES)

pictures: build  ## Redraw the pictures of README, the landing page, and the pages of schemes, lessons, fabrics, Wi-Fi, controllers and calls
	$(BIN)/python docs/readme_picture.py
	$(BIN)/python docs/cards.py
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/study_pictures.py
	$(BIN)/python docs/fabric.py
	$(BIN)/python docs/wifi.py
	$(BIN)/python docs/autorate.py
	$(BIN)/python docs/media.py

board: build  ## Measure the board of controllers and schemes, from where it stopped; writes docs/board.json (half an hour on two cores)
	$(BIN)/python docs/board.py

deployed: build  ## Measure the promises of deployed schemes, and the home scenarios; writes docs/deployed*.md, advise-evidence.md
	$(BIN)/python docs/deployed.py
	$(BIN)/python docs/home.py

advice: build  ## Check the advice for six links against other seeds; writes docs/advise-evidence.md (half an hour)
	$(BIN)/python docs/advise.py

tuned: build  ## Tune schemes alike and compare them; writes docs/tuned.md and tables of docs/tune.md
	$(BIN)/python docs/tune.py tuned

suites: build  ## Measure the studies of L4S, BBR, slow start, calls, cake_mq and LibreQoS, and the card of BBRv3; writes docs/l4s.md, bbr.md and others
	$(BIN)/python docs/suites.py

ledgers: build  ## Measure every sentence of the papers; writes docs/ledgers/ (twenty minutes)
	$(BIN)/python docs/ledgers.py

analysis: build  ## Compare PI's predicted stability with packets; writes docs/analysis.md
	$(BIN)/python docs/analysis.py

train: build  ## Train an AQM with Stable-Baselines3 and write train/ (installs torch; ten minutes)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-train.txt
	mkdir -p train
	$(BIN)/python examples/gym/train.py --out train/model.zip
	$(BIN)/aqmlab export-policy train/model.zip --out train/my_aqm.py
	$(BIN)/aqmlab compare li2014/table-1 --aqms pi,an-aqm,train/my_aqm.py

gym: build  ## Measure the shipped policy and the environments' speed; writes docs/gym-evidence.md (ten minutes)
	$(BIN)/python docs/gym_page.py

clean:  ## Remove everything that was built
	rm -rf target .venv .venv-docs demo dist site train tuned studio/node_modules
