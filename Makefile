# Everything a newcomer needs: make demo, make test. `make help` lists the rest.
export CGO_ENABLED ?= 0
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS = -s -w -X substrat.dev/substrat/internal/version.linked=$(VERSION)
BIN = bin/substrat

.PHONY: help build demo test lint soak bench fuzz cross peers attack check-inspector clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

build: ## the two programs, in bin/
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/substrat ./cmd/substrat-shim

demo: build ## a team of three agents mends a failing test while the daemon is killed twice
	@sh scripts/setup.sh bwrap git
	@$(BIN) demo

test: ## every test, under the race detector; under ten minutes on two cores
	@sh scripts/test.sh

lint: ## vet and golangci-lint
	go vet ./...
	go tool -modfile=tools/go.mod golangci-lint run

cross: ## build for every platform
	@for p in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do \
	  echo "build $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} go build -trimpath -o /dev/null ./cmd/... || exit 1; done

bench: build ## each unit of work beside its floor, measured in the same run
	go run ./internal/bench -substrat $(BIN)

soak: ## the crash tests again, each for as long as SOAK says (default 10m), the long fleets, and the core at length
	@seed=$${SEED:-$$(date +%s)}; echo "SEED=$$seed repeats this run of the core"; \
	  go test -timeout 0 -count 1 -run TestMachine ./internal/team -rapid.checks=5000 -rapid.steps=60 -rapid.seed=$$seed
	SOAK=$${SOAK:-10m} go test -timeout 0 -count 1 -v -run 'FleetLong' ./internal/schedule
	SOAK=$${SOAK:-10m} go test -timeout 0 -count 1 -v -run 'TestFleet$$' ./internal/e2e
	SOAK=$${SOAK:-10m} CGO_ENABLED=1 go test -race -timeout 0 -count 1 -run 'Crash|Kill|Fail' ./internal/e2e

fuzz: ## every fuzz target, FUZZTIME each (default 1m)
	@sh scripts/fuzz.sh $${FUZZTIME:-1m}

peers: ## real agents (Claude Code, Codex, Gemini CLI) on a scripted model, headless, by ACP and in a team (needs npm)
	@sh scripts/peers.sh

attack: ## a hostile program inside the sandbox tries to get out, as root and as a user; ATTACK=F01,N0 tries a part
	@sh scripts/setup.sh bwrap git
	@CGO_ENABLED=0 go test -tags attack -count 1 -timeout 30m -run 'TestAttack$$' ./internal/attack -v

check-inspector: build ## MCP Inspector lists and calls the tools, in its legacy and modern eras (needs npm)
	@sh scripts/inspector.sh $(BIN)

clean: ## remove what was built
	rm -rf bin
