#!/usr/bin/env bash
# e2e-apiservers.sh [FLAG...]: runs the end-to-end test that needs several API servers, with the flags, on a new
# cluster with three of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off CLUSTER_UP="--api-servers 3 ${CLUSTER_UP:-}"
. hack/connect.sh

./hack/image.sh hook ./test/e2e/hook
./hack/deploy.sh hook
go test -C test/e2e -count=1 -timeout=30m -v -run '^TestEachAPIServer$' . "$@"
