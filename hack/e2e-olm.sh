#!/usr/bin/env bash
# e2e-olm.sh [FLAG...]: installs OLM's catalog-operator and package-server in the cluster in use, the manager in
# place of olm-operator, and runs the tests of test/olm there, with the flags.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off
. hack/olm.sh

examples=(poddefaults projectpolicy volumelabels crdconversion)

main() {
  build_images
  . hack/connect.sh
  load_images "${olm[@]}"
  define_olm
  kubectl apply --server-side -k test/olm/manifests
  BASE=manifests/with-olm ./hack/deploy.sh "${examples[@]}"
  kubectl apply --server-side -f test/olm/manifests/packageserver.yaml
  kubectl rollout status -n olm deployment/catalog-operator --timeout=3m
  go test -C test/olm -count=1 -timeout=60m -v . "$@"
}

build_images() {
  local example
  olm_images "${olm[@]}"
  for example in "${examples[@]}"; do
    ./hack/image.sh "$example" "./examples/$example"
  done
}

main "$@"
