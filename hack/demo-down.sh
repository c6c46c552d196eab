#!/usr/bin/env bash
# Removes what demo.sh left: the cluster, or from one that KUBECONFIG names the bundle first,
# whose webhook would refuse the rest, and then the manager.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cluster() {
  go run -C test/cluster ./cmd/cluster "$@"
}

own=$(KUBECONFIG='' cluster kubeconfig 2>/dev/null || true)
if [[ ${KUBECONFIG:-$own} == "$own" ]]; then
  cluster down
  exit
fi
kubectl delete csv -n projectpolicy projectpolicy.v0.1.0 --ignore-not-found
kubectl delete -k examples/projectpolicy --ignore-not-found
kubectl delete -f examples/projectpolicy/samples/namespace-allowed.yaml --ignore-not-found
kubectl delete -k manifests/manager --ignore-not-found
