# Everything is built without cgo: the images hold one static program each, and every
# target shares one build cache.
export CGO_ENABLED := 0

# Modules are built alone, as they are released. go.work lets one command run the tests of several.
export GOWORK := off
WORKSPACE := GOWORK=$(CURDIR)/go.work

CLUSTER := go run -C test/cluster ./cmd/cluster
LINT    := go tool -modfile=$(CURDIR)/hack/tools/lint/go.mod golangci-lint run
LINTED  := . pkg/hosting pkg/hosting/test examples test/e2e test/olm test/cluster test/certmanager test/gitops test/chart test/browser test/release test/robustness hack/release

# What is outside test/ needs no API server.
# The longest tests come first: the others run at the same time.
UNIT := ./pkg/certs ./pkg/cli/bundle/lint $$($(WORKSPACE) go list ./... ./pkg/hosting/... ./examples/... | grep -v /test/)

FUZZTIME ?= 30s

EXAMPLES := poddefaults projectpolicy volumelabels crdconversion

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

##@ Every day

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: generate
generate: ## Write deepcopy functions, CRDs and reference documents
	./hack/generate.sh

.PHONY: verify
verify: ## Check that generated files, modules and formatting are up to date
	./hack/verify.sh

.PHONY: lint
lint: prose ## Lint prose and all modules (.golangci.yaml), and search for vulnerabilities; needs gcc and npm
	for module in $(LINTED); do (cd $$module && $(LINT) ./...) || exit; done
	@$(MAKE) govulncheck

# The prose linter needs cgo and gcc. It is built once for each version, outside the tree.
VALE_VERSION := $(shell awk '/vale-cli\/vale/ && /v3\./ { print $$2 }' hack/tools/vale/go.mod)
TOOLS        := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/olm-webhook-manager/tools
VALE         := $(TOOLS)/vale-$(VALE_VERSION)

$(VALE):
	CGO_ENABLED=1 go build -C hack/tools/vale -o $@ github.com/vale-cli/vale/v3/cmd/vale

PROSE = git ls-files '*.go' '*.md' | grep -v 'zz_generated'

.PHONY: prose
prose: ## Check words in documents, comments and messages, and the form of documents (needs gcc and npm)
	@command -v gcc >/dev/null || { echo "gcc is missing: vale, the linter of prose, is built with cgo. Install gcc"; exit 1; }
	@command -v npm >/dev/null || { echo "npm is missing: it installs markdownlint. Install Node.js with npm"; exit 1; }
	@$(MAKE) $(VALE)
	$(PROSE) | xargs $(VALE) --output line
	go build -C hack/tools/words -o $(TOOLS)/words .
	$(PROSE) | grep '\.go$$' | xargs $(TOOLS)/words hack/tools/vale/styles/Words/Words.yml
	npm --prefix hack/tools/markdownlint ci --no-audit --no-fund --silent
	hack/tools/markdownlint/node_modules/.bin/markdownlint-cli2

# The modules that users run or import. The database of vulnerabilities is vuln.go.dev, or VULNDB.
# Status 3 of govulncheck is a finding, 1 any other error.
.PHONY: govulncheck
govulncheck: ## Search for known vulnerabilities, where the database can be reached
	go build -C hack/tools/govulncheck -o $(TOOLS)/govulncheck golang.org/x/vuln/cmd/govulncheck
	@for module in . pkg/hosting; do \
	  output=$$(cd $$module && $(TOOLS)/govulncheck $(if $(VULNDB),-db $(VULNDB)) ./... 2>&1); status=$$?; \
	  echo "$$output"; \
	  case "$$status $$output" in "1 "*"dial tcp"*|"1 "*'fetching vulnerabilities: '*) echo "govulncheck skipped: module $$module was not checked, since the database or the module proxy cannot be reached"; continue;; esac; \
	  [ $$status = 0 ] || exit $$status; \
	done

.PHONY: build
build: ## Build the manager and the plugin of kubectl into bin/
	for program in olm-webhook-manager kubectl-webhooks; do \
	  VERSION="$${VERSION-$$(git describe --tags --match 'v*' --always --dirty 2>/dev/null)}" COMMIT="$$(git rev-parse HEAD 2>/dev/null)" ./hack/build.sh bin/$$program ./cmd/$$program || exit; \
	done

.PHONY: clean
clean: ## Remove bin/ and out/
	rm -rf bin out

##@ Tests

BUNDLES ?= ../shared/corpus
EXPECTED ?= ../shared/oracle
others := $(if $(and $(wildcard $(BUNDLES)),$(wildcard $(EXPECTED))),corpus)

.PHONY: test
test: ## Run all tests: unit, integration, browser, e2e, and corpus where the bundles of others are
	./hack/test.sh unit integration browser e2e $(others)
	@$(if $(others),,echo "=== corpus skipped: there is no $(BUNDLES) or no $(EXPECTED), and nothing is compared with what OLM v0 created from the bundles of others")

# These processes, and the servers that they start, end soon: what is left lying in memory costs
# them less than collecting it.
unit integration robustness mutants: export GOGC ?= 400

# A time limit ends a test that hangs: it is several times what the tests take on two cores that
# other work keeps busy.
.PHONY: unit
unit: ## Run the tests that need nothing but Go
	$(WORKSPACE) go test -timeout=30m $(UNIT)
	go test -C test/cluster ./internal/... ./cmd/cluster/...
	go test -C test/olm ./catalog
	go test -C test/gitops .
	go test -C test/chart .
	go test -C test/robustness ./etcd ./history ./judge ./apiserver ./actors ./campaign ./mutants
	go test -C hack/tools/words .
	go test -C hack/release .

# Builds are a step of their own: inside a test they would count against its time limit.
.PHONY: programs
programs: ## Build the programs that tests run: etcd, kube-apiserver, cert-manager, the manager, the examples
	@$(CLUSTER) build --light >/dev/null
	@go run ./test/programs/build

# The longest come first here, too.
.PHONY: integration
integration: programs ## Run the tests that need an API server: etcd and kube-apiserver from source (with KUBECONFIG, only what suits a whole cluster)
	$(WORKSPACE) go test -count=1 -timeout=60m -parallel 8 ./test/integration $$($(WORKSPACE) go list ./... ./pkg/hosting/test/... ./examples/... | grep /test/ | grep -v -e /test/bench -e /test/corpus)
	go test -C test/robustness -count=1 ./differential

.PHONY: browser
browser: ## Run the tests of the page in Chromium (hack/chromium.sh installs one)
	CHROMIUM="$$(./hack/chromium.sh)" && export CHROMIUM && go test -C test/browser -count=1 -timeout=20m .

.PHONY: e2e
e2e: programs ## Run the tests that need a cluster: one from source, or KUBECONFIG's
	./hack/e2e.sh

.PHONY: e2e-apiservers
e2e-apiservers: programs ## Run the end-to-end test with three API servers, on a cluster of its own
	./hack/e2e-apiservers.sh

.PHONY: e2e-olm
e2e-olm: ## Run the tests with OLM's catalog-operator and package-server, on a cluster as for e2e
	./hack/e2e-olm.sh

.PHONY: e2e-olm-suite
e2e-olm-suite: ## Run OLM's own end-to-end tests with olm-operator and with the manager: OLM=DIRECTORY is a checkout
	OLM="$(OLM)" ./hack/olm-suite.sh

.PHONY: bench-olm
bench-olm: ## Measure the life of operators from a catalog with olm-operator and with the manager
	./hack/olm-flows.sh

.PHONY: timeline
timeline: programs ## Draw docs/rotation.svg: a rotation on the real cluster
	./hack/e2e.sh -run 'TestRotationUnderLoad/a_server_that_reloads' -timeline $(CURDIR)/docs/rotation.svg

.PHONY: screenshots
screenshots: programs ## Take a screenshot of each view of the page on the cluster, into docs/admin/page
	mkdir -p docs/admin/page
	./hack/e2e.sh -run '^TestPage$$' -screenshots $(CURDIR)/docs/admin/page

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (30s)
	./hack/fuzz.sh $(FUZZTIME)

.PHONY: corpus
corpus: programs ## Try the bundles of others in BUNDLES (NAME/VERSION/...), against what OLM v0 created from them in EXPECTED
	@test -d "$(BUNDLES)" -a -d "$(EXPECTED)" || { echo "no $(BUNDLES) or no $(EXPECTED): nothing is compared. Name two folders: make corpus BUNDLES=... EXPECTED=..., see CONTRIBUTING.md"; exit 2; }
	BUNDLES=$(abspath $(BUNDLES)) EXPECTED=$(abspath $(EXPECTED)) go test -count=1 -timeout=40m -run Bundles ./test/corpus ./test/bundle
	BUNDLES=$(abspath $(BUNDLES)) go test -count=1 -timeout=40m -run TakeoverPlanOfBundles ./test/integration

.PHONY: campaign
campaign: programs ## Run what the ordinary run shortens: 1000 simulated clusters, managers that die at each write, all losses of a Secret
	go test -count=1 -timeout=2h ./pkg/certs -seeds 1000
	go test -count=1 -timeout=1h ./test/integration -run 'TestManagersThatDieAtEachWrite|TestCrash' -all-writes
	./hack/e2e.sh -run TestRotationUnderLoad -all-losses

SEED ?= 1
RUNS ?= 100

.PHONY: robustness
robustness: ## Run the manager in RUNS simulated clusters (100), from SEED (1) on, in virtual time, and judge each run
	go test -C test/robustness -count=1 -timeout=24h -v ./campaign -run '^TestCampaign$$' -seed $(SEED) -runs $(RUNS)

.PHONY: robustness-shrink
robustness-shrink: ## Make the scenario of a SEED with a violation as simple as possible
	go test -C test/robustness -count=1 -timeout=24h -v ./campaign -run '^TestCampaign$$' -seed $(SEED) -runs 1 -shrink 200

.PHONY: mutants
mutants: ## Put deliberate faults into the manager, each alone: the campaign has to find each within RUNS runs (30)
	go run -C test/robustness ./mutants -runs $(or $(filter-out 100,$(RUNS)),30) -seed $(SEED)

.PHONY: crashes
crashes: programs ## End the commands and the manager of a takeover after each single write, each time from the first state
	$(WORKSPACE) go test -count=1 -timeout=1h ./test/integration -run '^(TestTakeoverCommandDiesAtEachWrite|TestManagerDiesAtEachWriteOfATakeover)$$' -all-writes

.PHONY: bench
bench: bench-scale bench-pods bench-page ## Measure installations next to plain clients, with real pods too, what a reconciliation costs, the page, and hosting against other webhook servers
	go test -run '^$$' -bench . -benchmem ./test/bench
	go test -run '^$$' -bench OneEvent ./pkg/controller
	go test -C test/bench/hosting -run '^$$' -bench . -benchtime 100x -count 5

# Namespaces and Copies have an API server of their own: what it remembers of a thousand Namespaces
# would weigh on the other measurements.
.PHONY: bench-scale
bench-scale: programs ## Measure the installation of 100 and 1,000 CSVs next to plain clients, with 1,000 Namespaces too, memory, idle writes, repairs and copies
	go test -run '^$$' -bench 'Install|Lag' -benchtime 1x -timeout 60m ./test/bench/scale
	go test -run '^$$' -bench Namespaces -benchtime 1x -timeout 60m ./test/bench/scale
	go test -run '^$$' -bench Copies -benchtime 1x -timeout 60m ./test/bench/scale

.PHONY: bench-rotations
bench-rotations: programs ## Measure an ordered rotation, and a manager that finds 200 certificates due for renewal at one moment
	go test -run '^$$' -bench Rotation -benchtime 1x -timeout 30m ./test/bench/scale

.PHONY: bench-page
bench-page: ## Measure how long Chromium needs to draw the page of 1,000 webhooks
	CHROMIUM="$$(./hack/chromium.sh)" && export CHROMIUM && go test -C test/browser -run '^$$' -bench . -benchtime 5x .

.PHONY: bench-pods
bench-pods: ## Measure the installation of 20 CSVs with real pods next to plain clients
	./hack/bench-pods.sh

##@ A real cluster, built from source

.PHONY: demo
demo: ## Bring a cluster up, install the manager and a bundle, and see its webhook deny
	./hack/demo.sh

.PHONY: demo-down
demo-down: ## Remove what demo left
	./hack/demo-down.sh

.PHONY: cluster-up
cluster-up: ## Bring a single-node Kubernetes up
	$(CLUSTER) up --install

.PHONY: cluster-down
cluster-down: ## Take it down, leaving nothing behind but the built binaries
	$(CLUSTER) down

##@ Images and the chart

.PHONY: image
image: ## Build the manager's image archive in out/, the same bytes each time
	./hack/image.sh olm-webhook-manager ./cmd/olm-webhook-manager

.PHONY: images
images: image ## Build the examples' image archives too
	for example in $(EXAMPLES); do ./hack/image.sh $$example ./examples/$$example || exit; done

##@ Releases

.PHONY: release
release: ## Write the files of a release of this commit into out/release/VERSION; with COSIGN_KEY, cosign signs the checksums
	go run -C hack/release . -version "$(VERSION)" -out $(CURDIR)/out/release/$(VERSION) $(if $(COSIGN_KEY),-key "$(if $(findstring ://,$(COSIGN_KEY)),$(COSIGN_KEY),$(abspath $(COSIGN_KEY)))") $(if $(DISCARD),-discard)

# The image, the checksums and the bytes of a release do not depend on the directory, the environment and what is cached.
.PHONY: release-check
release-check: ## Check out/release/VERSION: checksums, krew, the chart, and a second build elsewhere, without a cache, gives the same bytes
	./hack/release-check.sh "$(VERSION)"

.PHONY: release-test
release-test: ## Install out/release/VERSION, or the directory FILES, on empty clusters by the commands of the documentation; needs root
	./hack/release-test.sh "$(or $(FILES),out/release/$(VERSION))" $(if $(COSIGN_PUB),-key "$(abspath $(COSIGN_PUB))")

.PHONY: chart
chart: ## Package the Helm chart into out/; VERSION=X.Y.Z is its version and the tag of its image
	go tool -modfile=hack/tools/helm/go.mod helm package charts/olm-webhook-manager -d out $(if $(VERSION),--version $(VERSION:v%=%) --app-version $(VERSION))
