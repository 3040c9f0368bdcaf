# A thin front for CMake; the presets in CMakePresets.json do the work.
#   make            build/bang, build/libbang.so and build/libbang.a
#   make test       all tests, then those that sanitizers help once more with them
#   make install    all of it under PREFIX; make uninstall takes it away again
#   make deb        Debian packages, into build/deb
#   make reproduce  the paper's experiments at their quick scale, into reproduce/
#   make bench      all benchmarks, some beside PyTorch: an hour
#   make fuzz       every parser of foreign bytes for FUZZ_SECONDS
#   make format     C sources as clang-format has them; make clean removes build/
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
JOBS := $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
CONFIGURE = cmake --preset $(1) $(2) >/dev/null
BUILD = cmake --build --preset $(1) -j $(JOBS) $(2)

.PHONY: all test reproduce bench fuzz install uninstall deb clean format help

all:
	@tools/install-packages build
	@$(call CONFIGURE,release)
	@$(call BUILD,release)

test:
	@tools/install-packages test
	@$(call CONFIGURE,release,-DBANG_TESTS=ON)
	@$(call CONFIGURE,asan)
	@$(call BUILD,release,--target all tests)
	@$(call BUILD,asan)
	@mkdir -p build/both
	@echo 'subdirs("../tests" "../asan/tests")' > build/both/CTestTestfile.cmake
	@ctest --test-dir build/both -j $(JOBS) --output-on-failure -E '^asan_.*_long$$'

reproduce:
	@tools/install-packages reproduce
	@$(call CONFIGURE,release)
	@$(call BUILD,release)
	build/bang reproduce all -o reproduce
	@echo "The report is reproduce/report.html"

bench:
	@tools/install-packages bench
	@$(call CONFIGURE,release,-DBANG_TESTS=ON)
	@$(call BUILD,release,--target all benches)
	@for bench in build/bench/*; do echo "== $${bench##*/}"; "$$bench" || exit 1; done

# Each target gets FUZZ_SECONDS, one per core at a time (FUZZ_JOBS); what it finds worth keeping stays in build/fuzz/found.
fuzz:
	@tools/install-packages fuzz
	@$(call CONFIGURE,fuzz)
	@$(call BUILD,fuzz)
	@tests/fuzz/run.sh build/fuzz $(FUZZ_SECONDS)

install:
	@tools/install-packages build
	@$(call CONFIGURE,release,-DCMAKE_INSTALL_PREFIX="$(PREFIX)")
	@$(call BUILD,release)
	@DESTDIR="$(DESTDIR)" tools/install-tree install build build/installed.txt "$(PREFIX)"

uninstall:
	@[ -f build/installed.txt ] || { echo "nothing was installed from here" >&2; exit 1; }
	@DESTDIR="$(DESTDIR)" tools/install-tree uninstall build/installed.txt

help:
	@sed -n 's/^#   make/make/p' Makefile

deb:
	@tools/install-packages deb
	@$(call CONFIGURE,release)
	@$(call BUILD,release)
	@packaging/make-deb build build/deb
	@lintian --allow-root --fail-on error build/deb/*.deb
	@ls build/deb/*.deb

clean:
	rm -rf build

format:
	@find src include tests examples -name '*.[ch]' -exec clang-format -i {} +
