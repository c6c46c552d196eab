#!/usr/bin/env bash
# e2e-olm.sh [FLAG...]: installs OLM's catalog-operator and package-server in the cluster in use, the manager in
# place of olm-operator, and runs the tests of test/olm there, with the flags.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off

olm=(catalog-operator olm-operator package-server opm cpb)
examples=(poddefaults projectpolicy volumelabels crdconversion)

main() {
  build_images
  . hack/connect.sh
  load_images
  install_olm
  BASE=manifests/with-olm ./hack/deploy.sh "${examples[@]}"
  kubectl apply --server-side -f test/olm/manifests/packageserver.yaml
  kubectl rollout status -n olm deployment/catalog-operator --timeout=3m
  go test -C test/olm -count=1 -timeout=60m -v . "$@"
}

# The programs of OLM are built once for each version. An image has the name of its program, and cp, which Jobs need.
build_images() {
  local program name
  mkdir -p out
  go build -C test/olm -o "$PWD/out/cp" ./cp
  for program in $(go run ./test/programs/build "${olm[@]}"); do
    name=$(basename "$program")
    go run ./hack/mkimage -o "out/$name.tar" -t "docker.io/olm-webhook-manager/$name:dev" -dir /bin "$program" out/cp=/bin/cp
  done
  for example in "${examples[@]}"; do
    ./hack/image.sh "$example" "./examples/$example"
  done
}

load_images() {
  local archives=("${olm[@]/#/$PWD/out/}")
  cluster load "${archives[@]/%/.tar}"
}

install_olm() {
  kubectl apply --server-side -f "$(go list -m -f '{{.Dir}}' github.com/operator-framework/api)/crds"
  kubectl wait --for=condition=Established crd --all --timeout=1m
  kubectl apply --server-side -k test/olm/manifests
}

main "$@"
