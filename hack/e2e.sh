#!/usr/bin/env bash
# e2e.sh [FLAG...]: installs the manager in the cluster in use and runs the tests of test/e2e
# there, with the flags.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off
CHROMIUM=$(./hack/chromium.sh)
HELM=$(go tool -modfile=hack/tools/helm/go.mod -n helm) # Builds it, if it is not in Go's build cache.
export CHROMIUM HELM
. hack/connect.sh

examples=(poddefaults projectpolicy volumelabels crdconversion)
for example in "${examples[@]}"; do
  ./hack/image.sh "$example" "./examples/$example"
done
./hack/image.sh hook ./test/e2e/hook
types=(validating mutating conversion)
./hack/initoperators.sh "${types[@]}"
built=$(./hack/released.sh) # TestManagerUpgrade installs these versions.
released=()
[[ -z $built ]] || readarray -t released <<<"$built"
./hack/deploy.sh "${examples[@]}" hook "${types[@]/#/init-}" "${released[@]}"

# Tests wait for the cluster more than they use the machine, so more of them run side by side
# than it has cores; how many of them put it under load at once, the tests see to.
go test -C test/e2e -count=1 -timeout=60m -parallel 4 -v . "$@"
