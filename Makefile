# The short names of everything; each line is a command that also works by hand.
#   make            release build              make sim SEED=7    simulated peers; also SEED=1..1000
#   make test       the fast tests             make fuzz T=membership S=60
#   make check      everything that CI runs    make bench [B=args of `weft bench`]
#   make quick      tests of what changed      make alone    every source with its own includes only
#   make odr        one name is one entity in the whole program: a link that looks for it
#   make sanitizers all tests under AddressSanitizer and ThreadSanitizer, which takes an hour
#   make aarch64    built for aarch64, tested in an emulator
#   make fmt | tidy | clang-tidy | size        make clean
.PHONY: all test quick check fmt tidy clang-tidy alone odr sanitizers aarch64 sim fuzz bench size clean

all:
	./run --build-only

test:
	./test --fast

quick:
	./test --quick

check:
	./test

fmt:
	git ls-files '*.h' '*.cpp' | xargs clang-format-14 -i

tidy:
	python3 tools/tidy.py

clang-tidy:
	python3 tools/clang_tidy.py --nodes 225000

alone:
	python3 tools/compile_sources.py alone
	python3 tools/tidy.py --headers

odr:
	./test --stage odr

sanitizers:
	./test --stage asan --stage tsan --whole

aarch64:
	./test --stage aarch64

# Whole swarms, and memberships of 64 peers; `--seed N --verbose` or `--trace` shows one closely.
SEED ?= 1..100
sim:
	./test --stage release --only sim/
	build/release/tests/swarm/swarm_sim --peers 5 --seeds $(if $(findstring ..,$(SEED)),$(SEED),$(SEED)..$(SEED))
	build/release/tests/sim/membership_sim --peers 64 --seeds $(if $(findstring ..,$(SEED)),$(SEED),$(SEED)..$(SEED))

# Seconds without an end that matters: the driver stops at S.
S ?= 60
T ?= membership
fuzz:
	./test --stage release --only fuzz/$(T)
	build/release/fuzz/$(T)_fuzz --runs 1000000000 --seed $$(date +%s) --seconds $(S) \
	  fuzz/corpus/$(T)

B ?= train --model cnn --batch 64 --threads 1 --json
bench: all
	build/release/weft bench $(B)

size:
	python3 tools/size.py

clean:
	rm -rf build
