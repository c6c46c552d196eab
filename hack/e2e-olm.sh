#!/usr/bin/env bash
# e2e-olm.sh [FLAG...]: installs OLM's catalog-operator and package-server in the cluster in use, the manager in
# place of olm-operator, and runs the tests of test/olm there, with the flags.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off
. hack/olm.sh

main() {
  build_images
  go run ./test/programs/build kubectl-webhooks >/dev/null
  . hack/connect.sh
  start_olm
  start_manager
  kubectl apply --server-side -f test/olm/manifests/packageserver.yaml
  go test -C test/olm -count=1 -timeout=60m -v . "$@"
}

main "$@"
