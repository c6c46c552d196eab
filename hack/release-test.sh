#!/usr/bin/env bash
# release-test.sh DIRECTORY [FLAG...]: installs the release in a directory as the documentation describes, on empty clusters of this machine.
set -euo pipefail
files=$(cd "$1" && pwd)
shift
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off CGO_ENABLED=0
HELM=$(go tool -modfile=hack/tools/helm/go.mod -n helm) # Builds it, if it is not in Go's build cache.
export HELM
go test -C test/release -count=1 -timeout=60m -v . -files "$files" "$@"
