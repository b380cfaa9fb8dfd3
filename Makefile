# Antiphon -- `make` builds build/antiphon, `make help` lists the rest.
#
# A build is a flavour and a compiler, and each has a folder of its own:
#
#     make                            build/release/, and build/antiphon
#     make FLAVOUR=asan CC=clang      build/asan-clang/
#
# Sources are found by wildcard: a new file under src/ or tests/ needs no edit here.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

ifeq ($(origin CC),default)
CC := gcc
endif
FLAVOUR ?= release
PREFIX  ?= /usr/local
DESTDIR ?=
WERROR  ?= -Werror
NODE    ?= node

# What --version shows beside the version; without git and a value given here it shows none.
COMMIT ?= $(shell git -C $(CURDIR) describe --always --abbrev=12 --dirty --exclude '*' 2>/dev/null)

# --- compiler -----------------------------------------------------------------

is_clang := $(findstring clang,$(shell $(CC) --version 2>/dev/null))
# $(call accepted,FLAG): the flag, if this compiler and machine have it
accepted  = $(shell echo 'int x;' | $(CC) -Werror $(1) -x c -c - -o /dev/null 2>/dev/null && echo $(1))

OUT := build/$(FLAVOUR)$(if $(is_clang),-clang)

WARNINGS := -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wstrict-prototypes \
            -Wmissing-prototypes -Wcast-qual -Wwrite-strings -Wvla -Wundef -Wformat=2
ifeq ($(is_clang),)
WARNINGS += -Wduplicated-cond -Wlogical-op
endif

# --- flavours -----------------------------------------------------------------

# Where the sources lie is not in what is built, so that it is the same everywhere (make reproduce).
SAME_EVERYWHERE := $(call accepted,-ffile-prefix-map=$(CURDIR)=.)
HARDENING := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong \
             $(call accepted,-fstack-clash-protection) $(call accepted,-fcf-protection)
SANITIZE  := -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all

flags.release  := -O2 -g -fPIE $(SAME_EVERYWHERE) $(HARDENING) $(if $(is_clang),,-Wnull-dereference)
link.release   := -pie -Wl,-z,relro,-z,now -Wl,-z,noexecstack
flags.debug    := -O0 -g3
flags.asan     := $(SANITIZE) -fsanitize=address,undefined
link.asan      := -fsanitize=address,undefined
flags.tsan     := $(SANITIZE) -fsanitize=thread
link.tsan      := -fsanitize=thread
flags.fuzz     := $(SANITIZE) -fsanitize=address,undefined,fuzzer-no-link
link.fuzz      := -fsanitize=address,undefined,fuzzer
flags.coverage := -O0 -g --coverage
link.coverage  := --coverage

ifeq ($(flags.$(FLAVOUR)),)
$(error FLAVOUR=$(FLAVOUR) is not known: take release, debug, asan, tsan, fuzz or coverage)
endif

# --- libraries ----------------------------------------------------------------

LIBRARIES := libuv libcurl libssl libcrypto zlib libzstd sqlite3 libpq libseccomp
lib_flags := $(shell pkg-config --cflags $(LIBRARIES) 2>/dev/null)
lib_link  := $(shell pkg-config --libs $(LIBRARIES) 2>/dev/null) -lpthread -lm
lib_link  += -lwslay # Debian's package has no file for pkg-config
test_link := -lcmocka -ljansson
HEADERS   := libxxhash # compiled in, not linked

# Debian 12 ships llhttp as C sources; where they are missing, the library is linked.
LLHTTP_DIR     ?= /usr/share/llhttp
LLHTTP_INCLUDE ?= /usr/share/include/llhttp
llhttp_sources := $(wildcard $(LLHTTP_DIR)/*.c)
ifneq ($(llhttp_sources),)
# Strict: a chunk has to end in CRLF, and so on. Debian's header defaults to lenient.
lib_flags += -isystem $(LLHTTP_INCLUDE) -DLLHTTP_STRICT_MODE=1
else
lib_link  += -lllhttp
endif

# --- sources ------------------------------------------------------------------

# The pure half, which links alone: bytes in, bytes out (see tools/check-purity).
CORE := base json sse trace text conv compact wire/dialect wire/tools wire/request wire/chat \
        wire/harmony wire/chunk wire/loop response mcp/proto affinity

core_sources  := $(foreach d,$(CORE),$(wildcard src/$(d)/*.c))
shell_sources := $(filter-out $(core_sources),$(wildcard src/*/*.c src/*/*/*.c))
lib_sources   := $(wildcard tests/lib/*.c)
unit_sources  := $(wildcard tests/unit/test_*.c)
scenario_sources := $(wildcard tests/scenario/*.c)
load_sources  := $(wildcard tests/load/load_*.c)
load_shared   := $(filter-out $(load_sources),$(wildcard tests/load/*.c))

object = $(patsubst %.c,$(OUT)/obj/%.o,$(1))
core_objects   := $(call object,$(core_sources))
shell_objects  := $(call object,$(shell_sources))
failing_malloc := $(call object,tests/lib/failing_malloc.c)
lib_objects    := $(filter-out $(failing_malloc),$(call object,$(lib_sources)))
llhttp_objects := $(patsubst $(LLHTTP_DIR)/%.c,$(OUT)/obj/llhttp/%.o,$(llhttp_sources))

CORE_LIB  := $(OUT)/libantiphon-core.a
SHELL_LIB := $(OUT)/libantiphon-shell.a
TEST_LIB  := $(OUT)/libantiphon-tests.a
BIN       := $(OUT)/antiphon
fuzz_targets   := $(patsubst tests/fuzz/%.c,$(OUT)/tests/%,$(wildcard tests/fuzz/*.c))
unit_tests     := $(patsubst tests/unit/%.c,$(OUT)/tests/%,$(unit_sources))
scenario_tests := $(patsubst tests/scenario/%.c,$(OUT)/tests/scenario_%,$(scenario_sources))
load_programs  := $(patsubst tests/load/%.c,$(OUT)/tests/%,$(load_sources))
template_words := $(OUT)/tests/template_words
doc_tables     := $(OUT)/doc_tables
doc_sources    := $(wildcard tools/doc_tables/*.c)
# What tests/lib/failing_malloc.c stands before in every test program.
WRAPPED := malloc calloc realloc strdup strndup

# What the user passes in CPPFLAGS, CFLAGS and LDFLAGS comes last and wins.
C_STD     := -std=c11 -D_GNU_SOURCE -Isrc -Itests
COMPILE   := $(CC) $(C_STD) $(lib_flags) $(flags.$(FLAVOUR))
OWN_FLAGS := $(WARNINGS) $(WERROR)
LINK      := $(CC) $(flags.$(FLAVOUR)) $(link.$(FLAVOUR))

# --- building -----------------------------------------------------------------

.PHONY: all tests
all: $(if $(filter build/release,$(OUT)),build/antiphon,$(BIN)) ## build the gateway
tests: $(unit_tests) $(scenario_tests) $(load_programs) $(template_words) $(doc_tables) ## build the test programs

build/antiphon: build/release/antiphon
	@ln -f $< $@

$(BIN): $(call object,src/main.c) $(SHELL_LIB) $(CORE_LIB)
	@echo "  link  $@"
	@$(LINK) -o $@ $^ $(LDFLAGS) $(lib_link)

# Archives are made anew, so that objects of deleted sources do not stay inside.
$(CORE_LIB): $(core_objects)
$(SHELL_LIB): $(shell_objects) $(llhttp_objects)
# What a test program does not use is not in it, so it may stand in for what that needs.
$(TEST_LIB): $(lib_objects)
$(CORE_LIB) $(SHELL_LIB) $(TEST_LIB):
	@echo "  ar    $@"
	@rm -f $@ && ar rcs $@ $^

$(OUT)/obj/%.o: %.c $(OUT)/flags
	@echo "  cc    $<"
	@mkdir -p $(@D)
	@$(COMPILE) $(OWN_FLAGS) -MMD -MP $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# Another commit makes one object anew, not all.
$(call object,src/base/version.c): COMPILE += -DANTIPHON_COMMIT='"$(COMMIT)"'
$(call object,src/base/version.c): $(OUT)/commit
$(OUT)/commit: FORCE
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' >$@

# The compiler does not see that the assembler reads it.
$(call object,src/sandbox/runner.c): src/sandbox/runner.py

# Not our code, not our warnings.
$(OUT)/obj/llhttp/%.o: $(LLHTTP_DIR)/%.c $(OUT)/flags
	@echo "  cc    $<"
	@mkdir -p $(@D)
	@$(COMPILE) -w $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(unit_tests): $(OUT)/tests/%: $(OUT)/obj/tests/unit/%.o
$(scenario_tests): $(OUT)/tests/scenario_%: $(OUT)/obj/tests/scenario/%.o
$(fuzz_targets): $(OUT)/tests/%: $(OUT)/obj/tests/fuzz/%.o
$(load_programs): $(OUT)/tests/%: $(OUT)/obj/tests/load/%.o $(call object,$(load_shared))
$(template_words): $(call object,tests/templates/template_words.c)
$(unit_tests) $(scenario_tests) $(fuzz_targets) $(load_programs) $(template_words): $(failing_malloc) $(TEST_LIB) $(SHELL_LIB) $(CORE_LIB)
	@echo "  link  $@"
	@mkdir -p $(@D)
	@$(LINK) $(WRAPPED:%=-Wl,--wrap=%) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) \
	    $(test_link) $(lib_link)

$(doc_tables): $(call object,$(doc_sources)) $(SHELL_LIB) $(CORE_LIB)
	@echo "  link  $@"
	@$(LINK) -o $@ $^ $(LDFLAGS) $(lib_link)

$(OUT)/tests/test_doc_tables: $(call object,$(filter-out %/doc_tables.c,$(doc_sources)))

# Changes when the command changes, and everything is built again.
.PHONY: FORCE
$(OUT)/flags: FORCE
	@pkg-config --exists $(LIBRARIES) $(HEADERS) || { \
	    echo 'Libraries are missing; `make deps` installs them.' >&2; exit 1; }
	@mkdir -p $(@D)
	@echo '$(COMPILE) $(OWN_FLAGS) $(CPPFLAGS) $(CFLAGS) $(LINK) $(LDFLAGS)' >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

-include $(shell find $(OUT)/obj -name '*.d' 2>/dev/null)

# --- running and installing ---------------------------------------------------

JOBS ?= $(shell nproc)
SUB  := $(MAKE) --no-print-directory -j$(JOBS)

.PHONY: run deps check-deps install uninstall
run: ## install what is missing, build, and serve on 127.0.0.1:8080 (ARGS="flags")
	@tools/install-deps run
	@$(SUB) all
	@exec build/antiphon serve $(ARGS)

deps: ## install the Debian packages needed to build
	@tools/install-deps build

check-deps: ## install those needed for `make check` as well
	@tools/install-deps check

# The shells' files, with the tables of commands and keys in them.
completions := $(patsubst packaging/completions/%,$(OUT)/completions/%,$(wildcard packaging/completions/*))

.PHONY: completions
completions: $(completions) ## completions for bash, zsh and fish, in build/release/completions

$(OUT)/completions/%: packaging/completions/% $(doc_tables)
	@mkdir -p $(@D)
	@$(doc_tables) <$< >$@

installed_bin := $(DESTDIR)$(PREFIX)/bin/antiphon
installed_man := $(DESTDIR)$(PREFIX)/share/man/man1/antiphon.1

share := $(DESTDIR)$(PREFIX)/share
installed_completions := $(share)/bash-completion/completions/antiphon \
                         $(share)/zsh/vendor-completions/_antiphon \
                         $(share)/fish/vendor_completions.d/antiphon.fish

install: build/antiphon $(completions) ## program, man page, completions to DESTDIR/PREFIX (default /usr/local)
	install -D -m 755 build/antiphon $(installed_bin)
	install -D -m 644 docs/antiphon.1 $(installed_man)
	install -D -m 644 $(OUT)/completions/antiphon.bash $(word 1,$(installed_completions))
	install -D -m 644 $(OUT)/completions/_antiphon $(word 2,$(installed_completions))
	install -D -m 644 $(OUT)/completions/antiphon.fish $(word 3,$(installed_completions))

uninstall: ## remove what install has copied
	rm -f $(installed_bin) $(installed_man) $(installed_completions)

# --- tests --------------------------------------------------------------------

RUN := tools/run-tests

.PHONY: unit scenario quick postgres system packaging clients templates asan tsan tsan-system memcheck coverage check conformance check-clients
unit: $(unit_tests) ## unit tests (of FLAVOUR)
	@$(RUN) --as unit --parallel $(unit_tests)

scenario: $(scenario_tests) ## scenario tests (of FLAVOUR)
	@$(RUN) --as scenario $(scenario_tests)

quick: tests ## unit and scenario tests, in less than two minutes
	@$(RUN) --as unit --parallel $(unit_tests) --as scenario --parallel $(scenario_tests)

# They run on a PostgreSQL server as well when there is one.
store_sources := $(wildcard tests/unit/test_store*.c tests/unit/test_sql_postgres.c)
store_tests   := $(patsubst tests/unit/%.c,$(OUT)/tests/%,$(store_sources))
WITH_POSTGRES := --under tests/lib/with-postgres

postgres: $(store_tests) ## unit tests of the store, with a PostgreSQL server
	@$(RUN) --as postgres --parallel $(WITH_POSTGRES) $(store_tests)

system: all $(load_programs) ## tests of the running daemon (ANTIPHON_BIN=FILE takes another)
	@$(RUN) --timeout 1800 --as system tests/system/run

packaging: all completions ## tests of units, completions, examples and the built program
	@$(RUN) --timeout 900 --as packaging tests/packaging/run

clients: all ## tests with real clients: SDKs from npm, curl
	@$(RUN) --timeout 900 --as clients tests/clients/run

templates: all $(template_words) ## chat templates of real models render what we send
	@$(RUN) --timeout 900 --as templates tests/templates/run

asan: ## unit and scenario tests under AddressSanitizer and UBSan
	@$(SUB) quick FLAVOUR=asan

tsan: ## unit tests under ThreadSanitizer
	@$(SUB) unit FLAVOUR=tsan

tsan-system: $(load_programs) ## tests of the running daemon under ThreadSanitizer
	@$(SUB) all FLAVOUR=tsan
	@$(RUN) --timeout 1800 --as system "tools/memcheck tsan"

memcheck: all tests ## unit tests and tests of the running daemon under valgrind
	@$(RUN) --timeout 1800 \
	    --as memcheck --parallel --under "valgrind -q --leak-check=full --error-exitcode=99" $(unit_tests) \
	    --as system "tools/memcheck valgrind"

coverage: ## unit and scenario tests; lines covered, by file, in build/coverage/report.txt
	@$(SUB) quick FLAVOUR=coverage
	@tools/coverage-report build/coverage

.PHONY: fuzz fuzz-targets
fuzz-targets: $(fuzz_targets)
MINUTES ?= 1
fuzz: ## every fuzz target for MINUTES (default 1), under clang
	@$(SUB) fuzz-targets CC=clang FLAVOUR=fuzz
	@tools/fuzz $$(($(MINUTES) * 60)) $(patsubst tests/fuzz/%.c,build/fuzz-clang/tests/%,$(wildcard tests/fuzz/*.c))

check: ## everything; ends with "N passed, N failed"
	+@MAKE="$(MAKE)" JOBS="$(JOBS)" NODE="$(NODE)" STORE_TESTS="$(store_sources)" tools/check

conformance: all ## the MCP conformance suite, with the gateway as a client
	@$(RUN) --timeout 900 --as conformance tests/conformance/run

check-clients: ## tests with clients too big for `make check`: agents (1.1 GB)
	@tools/install-deps check
	@$(SUB) all
	@$(RUN) --timeout 900 --as clients $(foreach name,codex copilot loops opencode pi,"tests/clients/agent $(name)")

include bench/bench.mk
include packaging/packaging.mk

# --- upkeep -------------------------------------------------------------------

.PHONY: lint format docs clean help
lint: ## all static checks (tools/lint NAME runs one)
	@$(SUB) all build/release/doc_tables
	@tools/lint

format: ## apply .clang-format
	@clang-format -i $$(tools/list-files c)

docs: $(doc_tables) ## make the tables of README.md, docs/ and the man page from the .def files
	@tools/fill-docs $(doc_tables)

clean: ## remove build/
	rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo '  FLAVOUR=release|debug|asan|tsan|fuzz|coverage and CC=gcc|clang choose the build.'
