# Myriad. `make run` shows it at work, `make test` checks it. Every target does its own set-up.

# One place for what is built, wherever cargo's configuration would put it: bin/ looks there.
export CARGO_TARGET_DIR := $(CURDIR)/target

PROGRAM ?=
ARGS ?=
SUITES ?=
FUZZ_SECONDS ?= 60
# `make test` runs a third of OTP's own suites, each commit the next one, every other time round in machine code, two of five commits with private or shared
# heaps, and begins no case after so many minutes.
SHORT_MINUTES := 12

# Calls that `make test` makes of built-ins on both VMs, for how long it makes modules, how much damaged code it runs, and how long it
# soaks; `make differential`, `make generated`, `make mutants` and `make soak` do more, and `make faults` takes more seeds.
SHORT_CALLS := 30000
SHORT_GENERATED := 40
SHORT_SOAK := 20
SHORT_MUTANTS := 500
SHORT_NIFS := 2000
SHORT_SEEDS := 1..70
CALLS ?= 500000
MUTANTS ?= 10000
NIFS ?= 50000
MISUSES ?= 500
SEEDS ?= 1..3400
SECONDS ?= 600
SEED ?=
# How the processes of the VM under test have their memory: private, hybrid or shared; as it does by itself where none is said.
HEAP ?=
WITH_HEAP = $(if $(HEAP),--heap $(HEAP))

# The nightly compiler that miri and libFuzzer run on. Every other target has the compiler of rust-toolchain.toml.
export NIGHTLY := nightly-2026-10-30

.PHONY: help build run quick doc own-modules check tidy single embed deny miri-short miri-heap miri-sync miri-process miri-term test test-rust test-fuzz test-erlang test-spread spread test-checked test-projects test-conformance record conformance projects faults differential generated opcodes mutants nifs soak bench litmus bench-locks bench-smp-cost bench-alloc bench-heaps bench-pauses bench-parallel bench-throws parallel-package bench-hedqvist bench-native bench-net bench-scheduling bench-servers servers scaling pollers past many-cores fuzz miri loom interleave asan asan-heaps tsan lint recipes parallel-seeds clean

help:
	@echo "make run [PROGRAM=file.erl ARGS=\"...\"]   run a program (default: a demonstration)"
	@echo "make quick                               what to run before each commit: two minutes, once everything is built"
	@echo "make doc                                 the documentation of the crates, private items too: target/doc"
	@echo "make own-modules                         compile erl/*.erl, which the emulator embeds"
	@echo "make test                                every test; test-rust, test-fuzz, test-erlang, test-spread, test-checked, test-projects, test-conformance: its parts"
	@echo "make record                              record tests/expected anew from OTP"
	@echo "make conformance [SUITES=\"big map\"]      OTP's own suites (docs/conformance.md); with HEAP=private or HEAP=shared the VM has its memory so, here and"
	@echo "                                         in projects, differential, generated, soak and servers"
	@echo "make projects                            Elixir, rebar3 and Dialyzer at work (minutes), on OTP and on Myriad"
	@echo "make differential [SEED=1 CALLS=500000]    random calls of built-ins on OTP and on Myriad"
	@echo "make generated [SEED=1 SECONDS=600]        random modules, called on OTP and on Myriad"
	@echo "make opcodes                             each generic instruction on OTP and on Myriad, in tier 0 and in machine code"
	@echo "make mutants [SEED=1 MUTANTS=10000]        damaged code, loaded and called"
	@echo "make nifs [SEED=1 NIFS=50000]              calls of the NIF interface, valid ones and misuse, on OTP and on Myriad"
	@echo "make faults [SEEDS=1..3400]                faults by seed on 2, 16 and 64 simulated cores"
	@echo "make spread [SPREAD_SEEDS="1 2 3"]        the recorded programs on 1 and 64 schedulers, with slices of drawn lengths, and on private threads now and then"
	@echo "make parallel-seeds [LOOP_SEEDS=1..1000]  programs of nested loops, drawn by seed: lists, and the module parallel on OTP and on Myriad"
	@echo "make soak [SEED=1 SECONDS=600]             random churn of everything side by side"
	@echo "make bench                               Myriad against erl, as a table"
	@echo "make litmus                              which outcomes of memory orders appear, on this machine and in the model"
	@echo "make bench-locks                         every lock under 1 to 16 threads and on 1 to 1,024 simulated cores: tables, CSV, plots (docs/locks.md)"
	@echo "make scaling                             what all cores touch, on 1 to 128 simulated cores (docs/scaling.md)"
	@echo "make pollers [THINK=200000]              connections on 1, 8 and 60 simulated cores, and which lines their requests move (docs/scaling.md)"
	@echo "make past                                the paper's programs on simulated tiles, shared as in OTP R13B04 and as here (docs/scaling.md)"
	@echo "make many-cores                          the paper's programs on 1 to 128 and 1,024 simulated cores, and with stolen time (docs/scaling.md)"
	@echo "make bench-smp-cost                      the parallel VM with one scheduler against the sequential one"
	@echo "make bench-heaps [ALL=1]                 the paper's programs with private, shared and hybrid heaps, and on erl (docs/heaps.md)"
	@echo "make bench-pauses [SIZE=1000]            what waits for a process with so many MB of state, on erl and with each kind of heaps (docs/heaps.md)"
	@echo "make bench-parallel                      loops of which idle schedulers take parts (docs/parallel.md)"
	@echo "make bench-throws                        searches that end by an exception: table, CSV, plot, real and simulated cores, rayon beside (docs/parallel.md)"
	@echo "make parallel-package                    the module parallel as a package for rebar3 and mix (docs/parallel.md)"
	@echo "make bench-hedqvist                      Hedqvist's experiment: no threads, workers, private threads"
	@echo "make bench-native                        programs that compute: OTP's JIT, the interpreter, machine code (bench/native)"
	@echo "make bench-scheduling                    two schedulers against two VMs, ticks, quotas, idling, bursts, the worker cache, the lock profile"
	@echo "make bench-alloc                         allocators compared, and what stays resident after a peak (docs/memory.md)"
	@echo "make bench-net                           sockets: servers on both VMs, the same clients (bench/net_ops.erl)"
	@echo "make bench-servers                       ejabberd with 2,000 XMPP sessions, on both VMs"
	@echo "make servers [SERVERS=\"ejabberd ssh\"]    real servers and their clients, on OTP and on Myriad (tests/servers)"
	@echo "make recipes                             follow docs/add-a-bif.md and docs/add-an-opcode.md on a clone (half an hour)"
	@echo "make check                               the checks of the Rust code; part of make test. Its parts:"
	@echo "  make lint | tidy | doc | deny          format and clippy | rules of this repository | links of the documentation | licences"
	@echo "  make loom | single | miri-short        models of lock-free code | the sequential VM | undefined behaviour"
	@echo "  make embed                             examples/embed, a program outside of the workspace with a native task"
	@echo "  make interleave                        the schedulers in interleavings drawn by seeds"
	@echo "make asan-heaps                          the three heaps under the address sanitizer (docs/hacking.md)"
	@echo "make asan | tsan                         the interfaces for C under the address and the thread sanitizer (docs/hacking.md)"
	@echo "make miri | fuzz                         the long ones: all tests that miri can run, libFuzzer"

build:
	@tools/setup
	@cargo build --release --quiet --bin myriad
	@cargo build --release --quiet -p myriad-sim --features costs
	@cargo xtask launcher

run: build
	@if [ -n "$(PROGRAM)" ]; then bin/myriad run $(PROGRAM) $(ARGS); else tools/demo; fi

test:
	@echo "== set-up and build"
	@$(MAKE) --no-print-directory build
	@tools/tail-calls
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory test-rust
	@$(MAKE) --no-print-directory test-fuzz
	@$(MAKE) --no-print-directory test-erlang
	@$(MAKE) --no-print-directory test-spread
	@$(MAKE) --no-print-directory test-checked
	@$(MAKE) --no-print-directory test-projects
	@echo "== the same calls on OTP and on Myriad"
	@cargo xtask differential --seed 1 --calls $(SHORT_CALLS)
	@echo "== the same modules on OTP and on Myriad, for $(SHORT_GENERATED) s"
	@cargo xtask generated --seed 1 --seconds $(SHORT_GENERATED)
	@echo "== each generic instruction on OTP and on Myriad, in tier 0 and in machine code"
	@cargo xtask opcodes
	@echo "== damaged code"
	@cargo xtask mutants --seed 1 --count $(SHORT_MUTANTS)
	@cargo xtask mutants --native --seed 1 --count $(SHORT_MUTANTS)
	@echo "== calls of the NIF interface, and misuse"
	@cargo xtask nifs --seed 1 --count $(SHORT_NIFS)
	@echo "== soak for $(SHORT_SOAK) s"
	@cargo xtask soak --seconds $(SHORT_SOAK) --seed 1
	@cargo xtask soak --native --seconds $(SHORT_SOAK) --seed 2
	@$(MAKE) --no-print-directory test-conformance

# Before each commit: what finds most in two minutes, on a VM built for quick building. `make test` before a change is handed on.
QUICK_CRATES := myriad-sync myriad-term myriad-heap myriad-beam myriad-process xtask
QUICK_AREAS := binary/ ets/ exception/ fun/ message/ number/ term/
quick:
	@tools/setup lint
	@tools/setup tests
	@echo "== quick: format, rules, lints"
	@cargo fmt --all --check
	@cargo xtask tidy
	@cargo clippy --quiet --workspace --all-targets -- -D warnings
	@echo "== quick: unit tests of $(QUICK_CRATES)"
	@cargo test --quiet $(patsubst %,-p %,$(QUICK_CRATES)) --lib --bins
	@echo "== quick: recorded tests of $(QUICK_AREAS)"
	@cargo build --quiet --profile quick --bin myriad
	@MYRIAD_EMULATOR=$(CARGO_TARGET_DIR)/quick/myriad cargo xtask recorded $(QUICK_AREAS)

# A link that leads nowhere is an error; links to private items are wanted here.
doc:
	@tools/setup
	@RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --quiet --workspace --no-deps --document-private-items
	@echo "target/doc/myriad/index.html"

# Compiled by the stock compiler, on the stock VM: what is embedded in the emulator must not rest on it.
own-modules:
	@tools/setup
	erlc -Werror +deterministic -o erl/ebin erl/*.erl

test-rust:
	@tools/setup
	@echo "== Rust tests"
	@cargo test --workspace --quiet
	@cargo test --quiet -p myriad-sync -p myriad-sim --features myriad-sync/sim,myriad-sim/costs -- cost:: contention::

NATIVE_PROGRAMS := binary/ code/ exception/ fun/ guard/ number/ parallel/ term/ trace/
# What sends, keeps and collects terms.
PRIVATE_PROGRAMS := ets/ exception/ gc/ message/ otp/shared_data parallel/ process/ term/
SHARED_PROGRAMS := binary/ code/ ets/ exception/ gc/ message/ nif/ parallel/ process/
test-erlang: build
	@tools/setup tests
	@echo "== recorded Erlang tests"
	@cargo xtask recorded
	@echo "== the same with every function in machine code, a part"
	@cargo xtask recorded --native $(NATIVE_PROGRAMS)
	@echo "== the same with private heaps, a part"
	@cargo xtask recorded --heap private $(PRIVATE_PROGRAMS)
	@echo "== the same with one heap, a part"
	@cargo xtask recorded --heap shared $(SHARED_PROGRAMS)
	@echo "== forms of functions"
	@tests/forms
	@echo "== Myriad's own commands"
	@tests/commands

# The same programs on one scheduler, on more than there are cores, with slices whose lengths follow from a seed (sched::pace), and with
# processes that move to private threads and back (+JMmigrate). Of the
# short part each takes some seconds, and acts on other processes, tables or timers.
SPREAD_PROGRAMS := message/ parallel/ process/linearizable process/references process/sending process/spawning process/suspended_ends ets/
SPREAD_SEEDS ?= 1 2 3
test-spread: build
	@tools/setup tests
	@echo "== recorded Erlang tests on 1 and 64 schedulers, with drawn slices, and with processes that move to private threads and back"
	@cargo xtask recorded --schedulers 1 $(SPREAD_PROGRAMS)
	@cargo xtask recorded --schedulers 64 $(SPREAD_PROGRAMS)
	@cargo xtask recorded --yields 1 $(SPREAD_PROGRAMS)
	@cargo xtask recorded --migrate 1 $(SPREAD_PROGRAMS)

spread: build
	@tools/setup tests
	@for spread in "--schedulers 1" "--schedulers 64" $(patsubst %,"--yields %",$(SPREAD_SEEDS)) $(patsubst %,"--migrate %",$(SPREAD_SEEDS)); do \
	    echo "== recorded Erlang tests, $$spread"; \
	    cargo xtask recorded $$spread || exit 1; \
	done

# What makes, sends, collects and purges terms, on an emulator that asserts its invariants and checks heaps around every collection.
# Without the programs that count words of a heap that nobody collects, and those that are too slow here.
CHECKED_PROGRAMS := binary/ ets/ exception/ fun/ gc/dictionary gc/float_registers gc/large_results gc/literals message/ number/ parallel/ term/ \
    code/jump_loops code/large_constants code/loading code/replaced_library code/shared_raises \
    $(addprefix process/,backtraces dirty_calls info_in_order items_and_flags references saved_calls sending spawn suspended_ends)
CHECKED_SHARED := binary/ ets/ exception/ gc/dictionary message/ parallel/ process/sending process/spawn
CHECKED_PRIVATE := ets/ exception/ gc/dictionary gc/large_results gc/literals message/ parallel/ process/sending process/spawn
test-checked:
	@tools/setup tests
	@echo "== recorded Erlang tests with assertions and the heap checker"
	@RUSTFLAGS="--cfg heap_check" CARGO_TARGET_DIR=$(CURDIR)/target/checked cargo build --quiet --profile checked --bin myriad
	@MYRIAD_EMULATOR=$(CURDIR)/target/checked/checked/myriad cargo xtask recorded $(CHECKED_PROGRAMS)
	@MYRIAD_EMULATOR=$(CURDIR)/target/checked/checked/myriad cargo xtask recorded --heap private $(CHECKED_PRIVATE)
	@MYRIAD_EMULATOR=$(CURDIR)/target/checked/checked/myriad cargo xtask recorded --heap shared $(CHECKED_SHARED)
	@$(MAKE) --no-print-directory faults SEEDS=$(SHORT_SEEDS)

# A program under faults by seed, on simulated cores, with the same assertions (docs/simulator.md).
faults: build
	@echo "== faults of the seeds $(SEEDS) on simulated cores"
	@RUSTFLAGS="--cfg heap_check" CARGO_TARGET_DIR=$(CURDIR)/target/checked cargo build --quiet --profile checked -p myriad-sim --features costs
	@for cores in 2 16 64; do \
	    MYRIAD_SIMULATOR=$(CURDIR)/target/checked/checked/myriad-sim bin/myriad sim --cores $$cores --faults $(SEEDS) tests/simulated/faults.erl || exit 1; \
	done

test-projects: build
	@tools/setup projects
	@echo "== projects of Elixir and rebar3"
	@cargo xtask projects $(WITH_HEAP)

projects: test-projects
	@cargo xtask projects $(WITH_HEAP) dialyzer

test-conformance: build
	@tools/setup conformance
	@echo "== conformance: a third of OTP's suites"
	@cargo xtask conf --short --third auto --minutes $(SHORT_MINUTES)

# With the checks of a debug build, which `cargo test` has built by then.
test-fuzz:
	@tools/setup
	@echo "== fuzzing for $(FUZZ_SECONDS) s"
	@cargo build --quiet --package myriad-fuzz
	@target/debug/myriad-fuzz --seconds $(FUZZ_SECONDS)

record:
	@tools/setup tests
	@cargo xtask recorded --record

conformance: build
	@tools/setup conformance
	@cargo xtask conf $(WITH_HEAP) $(if $(SUITES)$(HEAP),,--table docs/conformance.md) $(SUITES)

differential: build
	@cargo xtask differential $(WITH_HEAP) $(if $(SEED),--seed $(SEED)) --calls $(CALLS)

generated: build
	@cargo xtask generated $(WITH_HEAP) $(if $(SEED),--seed $(SEED)) --seconds $(SECONDS)

opcodes: build
	@cargo xtask opcodes

mutants: build
	@cargo xtask mutants $(if $(SEED),--seed $(SEED)) --count $(MUTANTS)

nifs: build
	@cargo xtask nifs $(if $(SEED),--seed $(SEED)) --count $(NIFS) --misuse $(MISUSES)

soak: build
	@cargo xtask soak $(WITH_HEAP) $(if $(SEED),--seed $(SEED)) --seconds $(SECONDS)

bench: build
	@cargo xtask bench

# The outcomes of memory orders that this machine shows, and those that the model knows.
litmus:
	@tools/setup
	@cargo test --quiet --release -p myriad-sync litmus -- --nocapture
	@RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$(CURDIR)/target/loom cargo test --quiet --release -p myriad-sync litmus -- --nocapture

bench-locks:
	@tools/setup
	@cargo bench --quiet -p myriad-sync --bench locks -- --out $(CARGO_TARGET_DIR)/bench-locks
	@cargo bench --quiet --profile quick -p myriad-sim --bench locks -- --out $(CARGO_TARGET_DIR)/bench-locks

scaling: build
	@tools/scaling

# How long a client thinks between an answer and its next request, on average, in nanoseconds: with 1000 all cores are busy.
THINK ?= 200000
pollers: build
	@tools/pollers $(THINK)

past: build
	@tools/past

many-cores: build
	@tools/many-cores

# Real servers, unmodified, with clients that are not ours.
servers: build
	@tests/servers/run $(WITH_HEAP) $(SERVERS)

# Figures 3 and 4 of Hedqvist 1998: without threads, on workers, and with a private thread for each process.
bench-hedqvist: build
	@CARGO_TARGET_DIR=$(SINGLE) cargo build --quiet --release --bin myriad --no-default-features --features single
	@tools/hedqvist

bench-smp-cost: build
	@CARGO_TARGET_DIR=$(SINGLE) cargo build --quiet --release --bin myriad --no-default-features --features single
	@cargo xtask bench smp-cost

# Ten minutes; with ALL=1 some two hours, initial sizes, messages of all sizes, cache misses and simulated cores among them.
bench-heaps: build
	@cargo xtask bench -n 3 $(if $(ALL),--all --timeout 900) heaps

# A process with so many megabytes of state; some twenty minutes with 1000, on a machine with 8 GB.
SIZE ?= 1000
bench-pauses: build
	@cargo xtask bench -n 1 --size $(SIZE) pauses

bench-parallel: build
	@cargo xtask bench -n 3 loops

# Some five minutes, four of them for the simulated cores. Rayon comes from the registry; where that cannot be reached, its curves are left out.
bench-throws: build
	-@cargo build --quiet --release --manifest-path bench/rayon/Cargo.toml --target-dir $(CARGO_TARGET_DIR)/rayon
	@cargo xtask bench -n 3 --timeout 600 throws
# The programs of these seeds, each with twelve seeds for its cuts.
LOOP_SEEDS ?= 1..1000
parallel-seeds: build
	@tools/parallel-seeds $(LOOP_SEEDS)

parallel-package:
	@tools/parallel-package

bench-native: build
	@cargo xtask bench native

bench-net: build
	@cargo xtask bench net

bench-servers: build
	@cargo xtask bench servers

bench-scheduling: build
	@cargo xtask bench scheduling

bench-alloc: build
	@cargo xtask bench --snmalloc alloc

# The cheap ones first. Each part sets itself up; together they take some eight minutes on a fresh clone and two cores.
# A machine without the nightly compiler that cannot reach rustup's server does all but miri, and says so.
check:
	@tools/setup lint
	@tools/setup deny
	@for part in lint tidy doc single embed loom interleave deny; do \
	    echo "== check: $$part"; \
	    $(MAKE) --no-print-directory $$part || exit 1; \
	done
	@echo "== check: miri-short"
	@if tools/setup miri; then $(MAKE) --no-print-directory miri-short; \
	else echo "check: NOT RUN: miri, whose compiler ($(NIGHTLY)) cannot be had here"; fi

lint:
	@tools/setup lint
	@cargo fmt --all --check
	@cargo clippy --quiet --workspace --all-targets -- -D warnings
	@cargo clippy --quiet -p myriad-sync -p myriad-sim --features myriad-sync/sim,myriad-sim/costs --all-targets -- -D warnings

tidy:
	@tools/setup
	@cargo test --quiet --package xtask
	@cargo xtask tidy

deny:
	@tools/setup deny
	@tools/deny

# Target directories of their own, so that other flags and features do not rebuild everything twice.
loom:
	@tools/setup
	@RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$(CURDIR)/target/loom cargo test --quiet --release -p myriad-sync loom

# The means itself (`sync::interleave`), and the schedulers by it.
interleave:
	@tools/setup
	@RUSTFLAGS="--cfg interleaved" CARGO_TARGET_DIR=$(CURDIR)/target/interleave cargo test --quiet --profile checked -p myriad-sync -p myriad-sched --lib interleave

# A program outside of the workspace that embeds the VM and has a native task.
embed:
	@tools/setup tests
	@tools/embed

# The sequential VM: crate `sync` in its one thread (the test harness's), then recorded tests on the whole machine.
single:
	@tools/setup tests
	@CARGO_TARGET_DIR=$(SINGLE) cargo test --quiet -p myriad-sync --features single -- --test-threads=1
	@CARGO_TARGET_DIR=$(SINGLE) cargo build --quiet --profile quick --bin myriad --no-default-features --features single
	@MYRIAD_EMULATOR=$(SINGLE)/quick/myriad cargo xtask recorded --sequential $(SINGLE_PROGRAMS)

# What ports, files, timers, dirty calls, signals of the system and stopping the world do where one thread does all.
SINGLE := $(CURDIR)/target/single
SINGLE_PROGRAMS := binary/ ets/ exception/ fun/ message/ process/ term/ trace/ cli/pipes cli/descriptors

# What a later compiler calls deprecated is no concern of the one in use.
MIRI := RUSTFLAGS="-A deprecated" MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-permissive-provenance" CARGO_TARGET_DIR=$(CURDIR)/target/miri \
    cargo +$(NIGHTLY) miri test --quiet

miri:
	@tools/setup miri
	+@$(MIRI) -p myriad-term -p myriad-heap -p myriad-sync -p myriad-process

# What moves, frees, shares or builds objects, without the tests that take longest under miri for what they add: two crates at a time, for miri runs
# all threads of a test in one.
miri-short:
	@tools/setup miri
	@$(MAKE) --no-print-directory --jobs 2 --output-sync miri-heap miri-sync miri-process miri-term

miri-heap:
	+@$(MIRI) -p myriad-heap --lib -- --skip exchange:: --skip leaving:: --skip in_place::what_is_marked --skip in_place::counts_come_back \
	    --skip in_place::gaps_are_filled --skip in_place::what_only_a_bundle --skip bundles::large_messages --skip bundles::a_heap_leaves \
	    --skip tests::collected_at_each_step --skip tests::collected_by_fullsweeps --skip tests::dropping_a_heap --skip tests::long_lists \
	    --skip tests::literals_that_go --skip bundles::what_is_old --skip literal::tests::pages --skip due::

miri-sync:
	+@$(MIRI) -p myriad-sync --lib -- --skip indices_lead_to_segments --skip memory:: --skip machine:: --skip profile:: \
	    --skip ledger:: --skip id_table:: --skip credits::tests::each_object --skip counter::tests::nothing --skip rcu_table::tests::it_holds --skip work_list::tests::some_do --skip group_rwlock::tests::readers_that_take \
	    --skip starts::tests::the_nearest

miri-process:
	+@$(MIRI) -p myriad-process --lib -- --skip dictionary::tests::entries_survive

miri-term:
	+@$(MIRI) -p myriad-term --lib -- alloc:: arena:: binary:: boxed:: copy:: copy_shared:: growing:: magic:: stack:: visited:: word:: \
	    size::tests::sub_binaries map::tests::changes_one map::tests::equal_hashes map::tests::flat_maps map::tests::hash_maps \
	    etf::tests::broken_input etf::tests::deep_nesting --skip improper_tails

fuzz:
	@tools/setup fuzz
	@cargo build --quiet --package myriad-fuzz
	@for target in $$(cargo +$(NIGHTLY) fuzz list); do \
	    echo "== fuzz $$target for $(FUZZ_SECONDS) s"; \
	    mkdir -p target/fuzz/$$target.corpus; \
	    target/debug/myriad-fuzz --seeds $$target target/fuzz/$$target.seeds || exit 1; \
	    ASAN_OPTIONS=detect_leaks=0 cargo +$(NIGHTLY) fuzz run $$target target/fuzz/$$target.corpus target/fuzz/$$target.seeds -- \
	        -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=2048 -timeout=10 -print_funcs=0 || exit 1; \
	done

# The interfaces for C under a sanitizer: the VM, and the libraries that its tests compile, which find the sanitizer in the VM. Without machine code, which no sanitizer knows.
# $(1) the sanitizer, $(2) flags of the compiler, $(3) what else the libraries find in the VM, $(4) what cargo does.
sanitized = RUSTFLAGS="-Zsanitizer=$(1) $(2) -Clink-arg=-Wl,--export-dynamic-symbol=$(3) -A deprecated" CARGO_TARGET_DIR=$(CURDIR)/target/$(1) \
    cargo +$(NIGHTLY) $(4) --quiet --profile quick --target $(SANITIZED_TARGET)
SANITIZED_VM := --bin myriad --no-default-features
# Where that VM is, and the compiler of libraries for it.
with_sanitized = SANITIZER=$(1) PATH="$(CURDIR)/tools/sanitized:$$PATH" MYRIAD_EMULATOR=$(CURDIR)/target/$(1)/$(SANITIZED_TARGET)/quick/myriad
SANITIZED_TARGET := x86_64-unknown-linux-gnu
SANITIZED_SOAK ?= 60
SANITIZED_NIFS ?= 500
SANITIZED_HEAPS ?= 180
SANITIZED_PROGRAMS := gc/dictionary gc/ended_and_idle gc/large_results gc/large_state gc/limited_heaps gc/literals message/ parallel/ ets/

# Leaks are not looked for: what a VM shares to its end would be called leaks.
asan:
	@tools/setup tests
	@tools/setup sanitizers
	@CFLAGS="-fsanitize=address -g" $(call sanitized,address,--cfg heap_check,__asan_*,build) $(SANITIZED_VM)
	@export ASAN_OPTIONS=detect_leaks=0 $(call with_sanitized,address); $(interfaces)

# What collects, sends and keeps, and the soak, with each of the three heaps; half an hour. (gc/limits tells of sizes and times, which are others here.)
asan-heaps:
	@tools/setup tests
	@tools/setup sanitizers
	@CFLAGS="-fsanitize=address -g" $(call sanitized,address,--cfg heap_check,__asan_*,build) $(SANITIZED_VM)
	@export ASAN_OPTIONS=detect_leaks=0 $(call with_sanitized,address); set -e; \
	for heap in private hybrid shared; do \
	    echo "== heap $$heap, address sanitizer"; \
	    cargo xtask recorded --timeout 900 --heap $$heap $(SANITIZED_PROGRAMS); \
	    cargo xtask soak --heap $$heap --patience 600 --seconds $(SANITIZED_HEAPS) --seed 1; \
	done

tsan:
	@tools/setup tests
	@tools/setup sanitizers
	@echo "== unit tests of crate sync, thread sanitizer"
	@$(call sanitized,thread,--cfg thread_sanitizer,__tsan_*,test) -Zbuild-std=std,panic_unwind,test -p myriad-sync --lib
	@$(call sanitized,thread,--cfg thread_sanitizer,__tsan_*,build) $(TSAN_BUILD) $(SANITIZED_VM)
	@export TSAN_OPTIONS=halt_on_error=1 $(call with_sanitized,thread); $(interfaces)

# The standard library with it too. Tail calls of the interpreter's instructions stay such, without what is called at the end of a function.
TSAN_BUILD = -Zbuild-std=std,panic_unwind \
    -Zprofile-rustflags --config 'profile.quick.package.myriad-interp.rustflags=["-Cllvm-args=-tsan-instrument-func-entry-exit=0"]'
# What the tests of the interfaces are, on the VM in the environment.
define interfaces
set -e; \
echo "== faults of a library, $$SANITIZER sanitizer"; \
tests/sanitized/run; \
echo "== recorded programs with libraries in C"; \
cargo xtask recorded --timeout 900 nif/ driver/; \
echo "== calls of the NIF interface, and misuse"; \
cargo xtask nifs --sanitizer $$SANITIZER --seed 1 --count $(SANITIZED_NIFS); \
echo "== soak of NIF objects and drivers for $(SANITIZED_SOAK) s"; \
cargo xtask soak --patience 600 --seconds $(SANITIZED_SOAK) --seed 1 --only objects,driver
endef

recipes:
	@tools/setup lint
	@tools/setup tests
	@tools/recipes

clean:
	rm -rf target
