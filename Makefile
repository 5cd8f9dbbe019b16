# Short names for long commands; nothing is decided here.
#
#   make demo [MODEL=thread]        serve the book by a web server that nest makes
#   make check [SEED=N]             every check, of random work a sample of the day; the last line
#                                   counts them. SEED: the sample of that seed again
#   make check-all [SHARD=I/N]      the same in full, or the I-th of N shares of it
#   make install [PREFIX=/usr/local] [DESTDIR=]
#   make bench [BENCH='--only …']   the compiler's time; servers beside those of others
#   make bench-matching [BENCH=…]   what nest matches with beside re2c, Ragel and others
#   make experiments [EXPERIMENTS=…]   those of all four documents again, and the page about them; root
#                                   for the last. --quick: seconds each; --page-only: the page alone
#   make experiments-conditioning [EXPERIMENTS='--quick --only …']   the paper's experiments again
#   make experiments-nest [EXPERIMENTS=…]   the thesis's experiments again
#   make experiments-nserver [EXPERIMENTS=…]   those of the N-Server's paper
#   make experiments-kernel [EXPERIMENTS=…]   those of the kernel mode web server (root)
#   make layers                     what each part of the runtime may import
#   make fuzz [SECONDS=60]          front end, work, matchers, what bench reads, under libFuzzer (nightly, cargo-fuzz)
#   make fuzz-kernel [CONNECTIONS=100000] [SERVER=nginx]   random conversations behind `nest accelerate` (root)
#   make clean

MODEL = event
PREFIX = /usr/local
DESTDIR =
SECONDS = 60
CONNECTIONS = 100000
SERVER = nginx
BENCH =
EXPERIMENTS =
# The system's own: its packages, such as the one for plots, are not those of another Python.
SYSTEM_PYTHON = /usr/bin/python3
CARGO = cargo

# What `make check` passes on from its command line.
SAMPLE = $(if $(SEED),--seed '$(SEED)') $(if $(SHARD),--shard '$(SHARD)')

.PHONY: demo check check-all install bench bench-matching experiments experiments-conditioning experiments-nest experiments-nserver experiments-kernel layers fuzz fuzz-kernel clean

demo:
	@scripts/setup demo
	@$(CARGO) xtask demo --model '$(MODEL)'

check:
	@scripts/setup check
	@$(CARGO) xtask check $(SAMPLE) $(CHECKFLAGS)

check-all:
	@scripts/setup check
	@$(CARGO) xtask check --all $(SAMPLE) $(CHECKFLAGS)

install:
	@scripts/setup demo
	@$(CARGO) xtask install --prefix '$(PREFIX)' --destdir '$(DESTDIR)'

bench:
	@$(CARGO) xtask bench $(BENCH)

bench-matching:
	@$(CARGO) xtask bench-matching $(BENCH)

experiments:
ifeq ($(filter --page-only --check,$(EXPERIMENTS)),)
	@scripts/setup experiments
	@$(CARGO) build --release --quiet
endif
	@$(SYSTEM_PYTHON) experiments/all.py $(EXPERIMENTS)

experiments-conditioning:
	@scripts/setup experiments
	@$(CARGO) build --release --quiet
	@$(SYSTEM_PYTHON) experiments/conditioning.py $(EXPERIMENTS)

experiments-nest:
	@scripts/setup experiments
	@$(CARGO) build --release --quiet
	@$(SYSTEM_PYTHON) experiments/nest.py $(EXPERIMENTS)

experiments-nserver:
	@scripts/setup experiments
	@$(CARGO) build --release --quiet
	@$(SYSTEM_PYTHON) experiments/nserver.py $(EXPERIMENTS)

experiments-kernel:
	@scripts/setup experiments
	@$(CARGO) build --release --quiet
	@$(SYSTEM_PYTHON) experiments/kernel.py $(EXPERIMENTS)

layers:
	@$(MAKE) --no-print-directory -C runtime/tests layers

fuzz:
	@$(CARGO) xtask fuzz --seconds '$(SECONDS)'

fuzz-kernel:
	@$(CARGO) build --quiet -p nest-cli
	@CHECK_SEED=$${SEED:-$$(date +%Y%m%d000000)} python3 kernel/tests/fuzz.py --threads 32 --connections '$(CONNECTIONS)' --server '$(SERVER)'

clean:
	@$(CARGO) clean
