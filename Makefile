# The verbs people type. `make help` lists them.

SHELL := /bin/bash
CARGO ?= cargo

# The question and its options: make ask Q="How many tickets are open?" ARGS="--trace"
Q ?= Which support team resolves tickets fastest?
ARGS ?=
# The question as it was typed: make itself must not read $ in it.
export ASK_QUESTION = $(value Q)

# Who asks in the sample stack, unless ARGS say otherwise.
ASK_USER ?= carol
export ASK_USER

# Where `make ask-serve` puts the web console.
CONSOLE_PORT ?= 8093

STACK := ask-service ask-executor ask-devstack ask-cli ask-slack
TARGET := $(or $(CARGO_TARGET_DIR),target)
# The optimised programs, unless ASK_PROFILE=debug asks for those that the tests use.
PROFILE := $(or $(ASK_PROFILE),release)
FLAGS := $(if $(filter debug,$(PROFILE)),,--release)
PROGRAMS := $(TARGET)/$(PROFILE)

.PHONY: help bench instructions ask ask-serve conformance-ask conformance-executor gateway-streams interop torture smoke fuzz test lint doctor docs schemas build

help: ## what can be typed
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

build: ## the programs, optimised
	@$(CARGO) build --quiet $(FLAGS) $(addprefix -p ,$(STACK))

ask: build ## ask the sample stack: Q="..." ARGS="--user bob --trace"
	@$(PROGRAMS)/ask-devstack run -- $(PROGRAMS)/ask $(ARGS) -- "$$ASK_QUESTION"

ask-serve: build ## keep the sample stack up until Ctrl-C, with the web console; `make ask` then uses it
	@$(PROGRAMS)/ask-devstack up --console-port $(CONSOLE_PORT) $(ARGS)

conformance-ask: build ## the contract as executable assertions: direct and through three gateways
	@$(CARGO) build --quiet $(FLAGS) -p ask-conformance
	@scripts/conformance.py $(ARGS)

conformance-executor: build ## the executor's own contract, over MCP and REST
	@$(CARGO) build --quiet $(FLAGS) -p ask-conformance
	@scripts/conformance-executor.py $(ARGS)

gateway-streams: build ## streams through the three gateways: quiet, cut, flooded, at their defaults
	@scripts/gateway-streams.py

interop: build ## each wire against software of others: ARGS="identity clients" for some of the parts
	@scripts/interop.py $(ARGS)

torture: build ## what must hold when things go wrong: ARGS="lossless cancel", ARGS=--long
	@scripts/torture.py $(ARGS)

smoke: build ## a model server of your own: ASK_SMOKE_BASE_URL=... ASK_SMOKE_MODEL=...
	@scripts/smoke.py

bench: build ## how fast it is, beside yardsticks: writes docs/performance.md; ARGS="accept replay", ARGS=--quick
	@$(CARGO) build --quiet $(FLAGS) -p ask-loadgen
	@command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || scripts/install-packages.sh nginx-light
	@scripts/bench.py $(ARGS)

instructions: ## count the instructions of the hot paths, and fail when one takes more than it may; needs valgrind
	@command -v valgrind >/dev/null || scripts/install-packages.sh valgrind
	@scripts/instructions.py $(ARGS)

fuzz: ## every reader of what strangers send, a minute each (SECONDS_EACH=60); needs cargo-fuzz
	@scripts/fuzz.sh

test: ## every test, with a summary at the end
	@scripts/test.sh

lint: ## format and lints, as errors
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings

docs: ## the documentation as a site, every link checked
	@scripts/docs.py

schemas: ## write ask.openapi.json, events.schema.json and the settings' tables from the code
	@$(CARGO) run --quiet -p ask-contract --example write_schemas
	@$(CARGO) run --quiet -p ask-service --example write_settings

doctor: ## what is missing on this machine, each with its fix
	@scripts/doctor.sh
