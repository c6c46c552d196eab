#!/usr/bin/env bash
# olm-flows.sh: runs TestFlows of test/olm with olm-operator, and again with the manager in its place, each on an empty
# cluster from source. It prints what the steps of the flows cost.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off
. hack/olm.sh

main() {
  build_images
  run olm-operator start_olm_operator
  run olm-webhook-manager start_manager
}

run() {
  go run -C test/cluster ./cmd/cluster down
  . hack/connect.sh
  start_olm
  "$2"
  # With olm-operator, a version may not get on: it is only measured.
  go test -C test/olm -count=1 -timeout=30m -v -run '^TestFlows$' . -operator "$1" || [[ $1 == olm-operator ]]
}

main "$@"
