# Sourced. Makes sure of a cluster, the one that KUBECONFIG names or else one of our own, and
# that kubectl talks to it. CLUSTER_UP has flags of "cluster up" for one of our own.

cluster() {
  go run -C test/cluster ./cmd/cluster "$@"
}

read -ra up <<<"${CLUSTER_UP:-}"
cluster up --install "${up[@]}"
KUBECONFIG=$(cluster kubeconfig)
PATH=$(dirname "$KUBECONFIG")/bin:$PATH # The directory of our own cluster's kubeconfig contains its kubectl.
export KUBECONFIG PATH

if ! command -v kubectl >/dev/null; then
  echo "kubectl is not in PATH: install it to use the cluster of KUBECONFIG=$KUBECONFIG" >&2
  exit 1
fi
