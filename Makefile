# fairlead. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
MODULES := gen services executor-darwin executor-linux test
BIN     := $(CURDIR)/.bin
LDFLAGS := -s -w -X main.version=$(VERSION)
# protovalidate's schema comes out of its Go module, pinned by checksum, because no
# package of ours imports that module.
PV      := github.com/bufbuild/protovalidate@v1.2.2
PV_SUM  := h1:2H/9/Kr97etSRqW3IJjTTb09z+zutkK2GDhDRbOnqr4=
LAST_TAG = $(shell git describe --tags --abbrev=0 2>/dev/null)

export CGO_ENABLED ?= 0
export PATH := $(PATH):/usr/local/go/bin

##@ The two commands
.PHONY: demo
demo: build ## Set up and run the main job: one act, three processes, one real window
	$(BIN)/fairlead demo

.PHONY: test
test: build ## Set up and pass the tests that need no desktop
	CGO_ENABLED=1 go test -race work

##@ Build
.PHONY: build
build: ## Build every program into .bin/, with the manifest the launcher attests them by
	@mkdir -p $(BIN)
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./services/cmd/... ./executor-linux/cmd/...
	@chmod go-w $(BIN) $(BIN)/fairlead* # A umask of 002 would make them programs that others can change.
	$(BIN)/fairlead manifest write $(BIN)

.PHONY: generate
generate: $(BIN)/protoc-gen-go $(BIN)/buf .deps/protovalidate ## Generate Go from proto/
	$(BIN)/buf format -w proto
	$(BIN)/buf generate

.PHONY: fmt
fmt: $(BIN)/staticcheck ## Format Go and proto files
	$(BIN)/gofumpt -w services executor-linux executor-darwin test

.PHONY: clean
clean: ## Remove what was built
	rm -rf .bin .deps .cache .tmp

##@ Check
.PHONY: check
check: check-proto check-go check-modules check-darwin ## Everything a commit must pass besides the tests

.PHONY: check-proto
check-proto: $(BIN)/protoc-gen-go $(BIN)/buf .deps/protovalidate ## Protos formatted, linted, generated code current, nothing broken
	@test -z "$$($(BIN)/buf format -d proto)" || { echo "proto/ is not formatted: run make generate"; exit 1; }
	$(BIN)/buf lint
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; cp -r gen/fairlead "$$tmp/before"; $(BIN)/buf generate; \
	  diff -r "$$tmp/before" gen/fairlead >/dev/null || { echo "gen/ was not current: run make generate and commit"; exit 1; }
	@if [ -n "$(LAST_TAG)" ]; then \
	  tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; git archive $(LAST_TAG) buf.yaml proto | tar -x -C "$$tmp"; cp -r .deps "$$tmp/"; \
	  $(BIN)/buf breaking --against "$$tmp"; \
	else echo "buf breaking: no release tag yet, nothing to compare with"; fi

.PHONY: check-go
check-go: $(BIN)/staticcheck ## Vet, staticcheck, formatting
	go vet work
	go vet -tags desk ./executor-linux/... ./test/desk
	$(BIN)/staticcheck work
	@out=$$($(BIN)/gofumpt -l services executor-linux executor-darwin test); test -z "$$out" || { echo "not formatted (make fmt):"; echo "$$out"; exit 1; }

.PHONY: check-modules
check-modules: ## Every module is tidy and builds alone
	@for m in $(MODULES); do GOWORK=off go -C $$m build ./... && GOWORK=off go -C $$m mod tidy -diff >/dev/null || { echo "module $$m does not stand alone or is not tidy"; exit 1; }; done

.PHONY: check-darwin
check-darwin: ## What runs on macOS builds for macOS
	GOOS=darwin GOARCH=arm64 go vet ./executor-darwin/... ./services/...
	GOOS=darwin GOARCH=arm64 go build -o /dev/null ./executor-darwin/cmd/fairlead-executor-darwin

.PHONY: test-desk
test-desk: build ## Tests on real X servers with real applications (installs them on Debian when root)
	$(BIN)/fairlead-executor-linux desktop --install
	./test/desk-packages.sh
	CGO_ENABLED=1 CI=1 FAIRLEAD_BIN=$(BIN) go test -race -count=1 -p 1 -tags desk ./executor-linux/... ./test/desk

.PHONY: bench
bench: build ## One table of costs, as ratios measured side by side in one run
	FAIRLEAD_BIN=$(BIN) go run ./test/bench

.PHONY: sim
sim: ## Simulate the host's rules, and print how often everything was reached: make sim SEED=7 STEPS=1000000
	go test -count=1 -v -run '^TestSimulation$$' ./services/sessionhost -seed=$(or $(SEED),1) -steps=$(or $(STEPS),10000000)

.PHONY: mutants
mutants: ## Break one rule after the other on purpose, and see a test notice each
	go run ./test/mutants

.PHONY: fuzz
fuzz: ## Every fuzz target for 5 s
	./test/fuzz.sh

##@ Tools
.deps/protovalidate:
	@j=$$(GOWORK=off GOFLAGS=-mod=mod go mod download -json $(PV)); \
	grep -q '"Sum": "$(PV_SUM)"' <<<"$$j" || { echo "$(PV) is not the pinned one"; exit 1; }; \
	d=$$(sed -n 's/.*"Dir": "\(.*\)",/\1/p' <<<"$$j"); \
	install -D -m 0644 "$$d/proto/protovalidate/buf/validate/validate.proto" .deps/protovalidate/buf/validate/validate.proto

$(BIN)/buf: tools/buf/go.sum
	GOWORK=off go -C tools/buf build -o $(BIN)/ tool && touch $@

$(BIN)/protoc-gen-go: tools/gen/go.sum
	GOWORK=off go -C tools/gen build -o $(BIN)/ tool && touch $@

$(BIN)/staticcheck: tools/lint/go.sum
	GOWORK=off go -C tools/lint build -o $(BIN)/ tool && touch $@

$(BIN)/grpcurl: tools/grpcurl/go.sum
	GOWORK=off go -C tools/grpcurl build -o $(BIN)/ tool && touch $@

.PHONY: grpcurl
grpcurl: $(BIN)/grpcurl ## Build grpcurl into .bin/

.PHONY: tools
tools: $(BIN)/buf $(BIN)/protoc-gen-go $(BIN)/staticcheck $(BIN)/grpcurl ## Build the pinned tools into .bin/

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
