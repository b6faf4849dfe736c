# Everything here is a script in scripts/, to be run by hand just as well.

.PHONY: demo test build check bench ttft fuzz

demo: ## play one conversation with and without toolbelt, on a real engine, and compare
	@scripts/demo.sh $(DEMO_FLAGS)

test: ## all tests, those against the real engine included, then every fuzz target for a moment
	@scripts/test.sh

build: ## bin/toolbelt
	@scripts/build.sh

check: ## gofmt, go vet, staticcheck, govulncheck
	@scripts/check.sh

bench: ## all benchmarks; the results go to doc/bench/go.txt
	@scripts/bench.sh

ttft: ## the time to the first token on a real engine, each figure beside what is to be reached
	@scripts/ttft.sh $(TTFT_FLAGS)

fuzz: ## every fuzz target, FUZZTIME each (default 5s)
	@scripts/fuzz.sh $(FUZZTIME)
