#!/usr/bin/env bash
# Installs the manager in the cluster in use and measures installations with real pods there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off
. hack/connect.sh

./hack/image.sh hook ./test/e2e/hook
./hack/deploy.sh hook

go test -run '^$' -bench Pods -benchtime 5x -timeout 20m ./test/bench/scale
