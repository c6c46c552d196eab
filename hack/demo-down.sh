#!/usr/bin/env bash
# Removes what demo.sh left: the cluster, or from one that KUBECONFIG names the bundle first,
# whose webhook would refuse the rest, and then the manager.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off

cluster() {
  go run -C test/cluster ./cmd/cluster "$@"
}

own=$(KUBECONFIG='' cluster kubeconfig 2>/dev/null || true)
if [[ ${KUBECONFIG:-$own} == "$own" ]]; then
  cluster down
  exit
fi
./hack/build.sh bin/kubectl-webhooks ./cmd/kubectl-webhooks
PATH=$PWD/bin:$PATH
if [[ -n $(kubectl get namespace projectpolicy --ignore-not-found) ]]; then
  kubectl webhooks bundle uninstall examples/projectpolicy/bundle --delete-crds --yes --yes-delete-crds
  kubectl delete namespace projectpolicy
fi
kubectl delete -f examples/projectpolicy/samples/namespace-allowed.yaml --ignore-not-found
kubectl delete -k manifests/manager --ignore-not-found
