#!/bin/sh
# gen.sh VERSION [FILE], as in gen.sh 1.36.3, or gen.sh 1.37.1 versions/1.37.mod: writes FILE, by default go.mod, and the
# sums next to it, for that version of Kubernetes.
#
# Only three versions are chosen here. Everything else, etcd too, is what Kubernetes itself
# requires: another etcd does not compile with it.
set -eu
cd "$(dirname "$0")"
kubernetes=${1:?usage: gen.sh VERSION [FILE], as in gen.sh 1.36.3}
file=${2:-go.mod}
containerd=${CONTAINERD:-2.2.9}
cni=${CNI:-1.9.1}

export GOFLAGS=-mod=mod
staging=0.${kubernetes#1.}
published=$(go env GOMODCACHE)/cache/download/k8s.io/kubernetes/@v/v$kubernetes.mod

# Away from this module, whose go.mod may name a version that does not exist.
(cd / && go mod download "k8s.io/kubernetes@v$kubernetes")
cat > "$file" <<MOD
module github.com/olm-webhook-manager/olm-webhook-manager/test/cluster

go 1.26.0

tool (
	github.com/containernetworking/plugins/plugins/ipam/host-local
	github.com/containernetworking/plugins/plugins/main/bridge
)

require (
	github.com/containerd/containerd/v2 v$containerd
	github.com/containernetworking/plugins v$cni
	k8s.io/kubernetes v$kubernetes
)

// Kubernetes names its staging modules at v0.0.0 and keeps them in its own tree,
// which a dependency does not have: these are the published ones.
replace (
$(grep -oE 'k8s.io/[a-z-]+ => \./staging' "$published" | sed "s|\(.*\) => .*|	\1 => \1 v$staging|")
)
MOD
rm -f "${file%.mod}.sum"
go mod tidy -modfile="$file"
