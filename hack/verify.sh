#!/usr/bin/env bash
# Fails, and shows why, when the tree is not what its own sources produce: generated files
# that are stale, modules that are not tidy, Go that is not formatted or does not vet.
# Nothing in the tree is written.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off

root=$PWD
failed=0

main() {
  check "generated files (make generate)" generated_files
  for mod in $(git ls-files --cached --others --exclude-standard '*go.mod'); do
    check "$mod is tidy (go mod tidy)" tidy "$(dirname "$mod")"
  done
  check "Go files are formatted (gofmt -w)" formatted
  check "files are no programs (git rm --cached)" no_programs
  check "documents name tests that exist" tests_exist
  check "manifests/monitoring" monitoring
  for mod in . pkg/hosting examples; do
    check "sizes of packages and types ($mod)" structure "$mod"
  done
  # Each module alone: what it does not require, it cannot use.
  for mod in $(git ls-files --cached --others --exclude-standard '*go.mod' ':!hack/tools'); do
    check "go vet ($mod)" go vet -C "$(dirname "$mod")" ./...
  done
  return $failed
}

# check runs the rest of its arguments and prints their output only when they fail.
check() {
  local what=$1 output
  shift
  if output=$("$@" 2>&1); then
    echo "ok      $what"
  else
    echo "FAILED  $what"
    echo "$output"
    failed=1
  fi
}

generated_files() {
  local fresh status=0
  fresh=$(mktemp -d)
  cp -r go.mod go.sum hack pkg manifests charts docs "$fresh"
  "$fresh/hack/generate.sh" || status=1
  for dir in pkg manifests charts docs/reference; do
    diff -ruN "$dir" "$fresh/$dir" || status=1
  done
  rm -rf "$fresh"
  return $status
}

structure() {
  local tool
  tool=$(mktemp)
  go build -C hack/tools/structure -o "$tool" . && (cd "$1" && "$tool" ./...)
}

# The rules do what their tests say, and Prometheus, its operator and Grafana read the rest.
monitoring() {
  (
    cd manifests/monitoring
    promtool check rules alerts.yaml && promtool test rules alerts_test.yaml &&
      promtool test rules ../../pkg/olmoperator/csvmetrics/testdata/alerts_test.yaml
  ) && go run -C hack/tools/prom ./checkmonitoring "$PWD/manifests/monitoring"
}

# Without what Prometheus can find its targets in, some twenty clouds, promtool is built in
# a fraction of the time.
promtool() {
  GOFLAGS=-tags=remove_all_sd \
    go tool -modfile="$root/hack/tools/prom/go.mod" promtool "$@"
}

# A document may name tests by a prefix, as -run does.
tests_exist() {
  local tests name missing=0
  tests=$(git grep -hoE '^func (Test|Benchmark|Fuzz)[A-Za-z0-9]*' -- '*_test.go' | cut -d' ' -f2)
  for name in $(git grep -hoE '\b(Test|Benchmark|Fuzz)[A-Z][A-Za-z0-9]*' -- '*.md' ':!CHANGELOG.md' | sort -u); do
    grep -q "^$name" <<<"$tests" || { echo "no test is named $name: correct $(git grep -lw "$name" -- '*.md' | tr '\n' ' ')"; missing=1; }
  done
  return $missing
}

tidy() {
  go mod tidy -C "$1" -diff
}

# A program that was built in its own directory is easily added.
no_programs() {
  local large
  large=$(git ls-tree -r -l HEAD | awk '$4 > 1024 * 1024 { print $5 }')
  echo "$large"
  [[ -z $large ]]
}

formatted() {
  local unformatted
  unformatted=$(git ls-files --cached --others --exclude-standard '*.go' | xargs gofmt -l)
  echo "$unformatted"
  [[ -z $unformatted ]]
}

main
