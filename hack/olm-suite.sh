#!/usr/bin/env bash
# olm-suite.sh: runs OLM's own end-to-end tests with olm-operator, and again with the manager in its place, each on an
# empty cluster from source. It prints what passed, failed and was skipped. make e2e-olm-suite names the variables.
#
#   OLM       a checkout of github.com/operator-framework/operator-lifecycle-manager; test/olm/upstream has the
#             version that OLM's programs are built from
#   LABELS    a label filter of ginkgo; the default selects what olm-operator does, without a registry
#   SKIP      a regular expression of ginkgo: tests whose name matches are skipped
#   OPERATORS olm-operator, manager, or both (the default)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off
. hack/olm.sh

: "${OLM:?is not set. Run: make e2e-olm-suite OLM=DIRECTORY, with a checkout of OLM}"
LABELS=${LABELS:-Webhooks || ClusterServiceVersion || OperatorGroup || Subscription || Operator || DisablingCopiedCSVs}
OPERATORS=${OPERATORS:-olm-operator manager}
skip=(${SKIP:+-ginkgo.skip "$SKIP"})
coredns=github.com/coredns/coredns@v1.14.7
probe=github.com/grpc-ecosystem/grpc-health-probe@v0.4.62
out=$PWD/out/olm-suite

main() {
  mkdir -p "$out"
  build
  local operator
  for operator in $OPERATORS; do
    run "$operator"
  done
  for operator in $OPERATORS; do
    summary "$operator"
  done
}

build() {
  olm_images "${olm[@]}"
  # The server of catalogs in ConfigMaps, which has its database in the directory in which it starts. catalog-operator has
  # the image of a registry pod pulled, unless it is named by its digest.
  CGO_ENABLED=1 go build -C test/olm/upstream -tags sqlite_omit_load_extension,netgo,osusergo -ldflags '-s -w -extldflags "-static"' \
    -o "$PWD/out/configmap-server" github.com/operator-framework/operator-registry/cmd/configmap-server
  read -r configmap_server _ < <(go run ./hack/mkimage -o out/configmap-server.tar -t docker.io/olm-webhook-manager/configmap-server:dev \
    -user 0:0 -dir /bin out/configmap-server "$(installed $probe)=/bin/grpc_health_probe")
  go run ./hack/mkimage -o out/coredns.tar -t docker.io/olm-webhook-manager/coredns:dev -user 0:0 "$(installed $coredns)"
  # The tests only need that its pods run.
  CGO_ENABLED=0 go build -C test/cluster -o "$PWD/out/dummy" ./cmd/pause
  go run ./hack/mkimage -o out/dummy.tar -t docker.io/olm-webhook-manager/dummy:dev out/dummy
  go build -C test/olm -o "$PWD/out/mock-extension-apiserver" ./suite/apiserver
  go run ./hack/mkimage -o out/mock-extension-apiserver.tar -t quay.io/operator-framework/mock-extension-apiserver:master -user 0:0 -dir /bin \
    out/mock-extension-apiserver
  CGO_ENABLED=0 go test -C "$OLM" -c -tags e2e,experimental_metrics -o "$out/suite.test" ./test/e2e
}

# installed MODULE@VERSION: the file of a program that is built once for each version.
installed() {
  local program=${1%@*}
  program=${program##*/}
  local bin=${XDG_CACHE_HOME:-$HOME/.cache}/olm-webhook-manager/$program-${1#*@}
  [[ -x $bin/$program ]] || CGO_ENABLED=0 GOBIN=$bin go install "$1"
  echo "$bin/$program"
}

run() {
  go run -C test/cluster ./cmd/cluster down
  . hack/connect.sh
  load_images "${olm[@]}" configmap-server coredns dummy mock-extension-apiserver
  define_olm
  kubectl kustomize test/olm/suite | sed "s#configmap-server:dev#configmap-server@$configmap_server#" | kubectl apply --server-side -f -
  kubectl rollout status -n olm deployment/catalog-operator --timeout=3m
  case $1 in
  olm-operator) start_olm_operator ;;
  manager) start_suite_manager ;;
  esac
  kubectl apply --server-side -f test/olm/manifests/packageserver.yaml
  (cd "$OLM/test/e2e" && "$out/suite.test" -kubeconfig "$KUBECONFIG" -namespace operators -olmNamespace olm -catalogNamespace olm \
    -dummyImage docker.io/olm-webhook-manager/dummy:dev -ginkgo.label-filter "$LABELS" "${skip[@]}" -ginkgo.no-color -ginkgo.timeout 3h \
    -ginkgo.junit-report "$out/$1.xml") >"$out/$1.log" 2>&1 || true
}

# The pods of the tests do not serve.
start_suite_manager() {
  BASE=test/olm/suite/manager ./hack/deploy.sh
}

summary() {
  echo "== $1"
  grep -E '^ *\[(FAIL|TIMEDOUT|PANICKED)\]' "$out/$1.log" | sort -u || true
  grep -E '^(Ran [0-9]+ of|(SUCCESS|FAIL)!)' "$out/$1.log" || tail -20 "$out/$1.log"
}

main "$@"
