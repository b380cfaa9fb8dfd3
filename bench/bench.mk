# bench.mk -- the benchmark's programs and how to run it; included by Makefile.

bench_programs := $(addprefix $(OUT)/bench/,mock_upstream load startup parsers)
bench_objects  := $(call object,$(addprefix bench/,bench_sys.c reply.c script.c timers.c))

$(bench_programs): $(OUT)/bench/%: $(OUT)/obj/bench/%.o $(bench_objects) $(CORE_LIB)
	@echo "  link  $@"
	@mkdir -p $(@D)
	@$(LINK) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) -lssl -lcrypto

.PHONY: bench bench-programs
bench-programs: all $(bench_programs)

bench: ## measure beside nginx; QUICK=1 takes fewer runs, DOCS=1 updates docs/performance.md
	@tools/install-deps bench
	@bench/run $(if $(QUICK),--quick) $(if $(REALTIME),--realtime) $(if $(DOCS),--docs)
