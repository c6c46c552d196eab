#!/usr/bin/env bash
# Records what the commands print, on the cluster in use, into docs/recordings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off
. hack/connect.sh

bundle=examples/projectpolicy/bundle

main() {
  ./hack/image.sh projectpolicy ./examples/projectpolicy
  ./hack/deploy.sh projectpolicy
  ./hack/build.sh bin/kubectl-webhooks ./cmd/olm-webhook-manager
  PATH=$PWD/bin:$PATH
  if kubectl get -n projectpolicy clusterserviceversion/projectpolicy.v0.1.0 >/dev/null 2>&1; then
    kubectl webhooks bundle uninstall $bundle --delete-crds --yes --yes-delete-crds
  fi
  mkdir -p docs/recordings

  record validate <<SCRIPT
\$ kubectl webhooks bundle validate --waivers /dev/null $bundle
\$ kubectl webhooks bundle explain fail-on-core
\$ kubectl webhooks bundle validate --strict $bundle
SCRIPT
  record install <<SCRIPT
\$ kubectl webhooks bundle install $bundle
> y
SCRIPT
  kubectl scale -n projectpolicy deployment projectpolicy-webhook --replicas=0
  kubectl wait -n projectpolicy webhookrollout/projectpolicy.v0.1.0 --for=condition=Ready=False --timeout=1m
  record status <<SCRIPT
\$ kubectl webhooks status -A
\$ kubectl webhooks doctor
! 2
\$ kubectl scale -n projectpolicy deployment projectpolicy-webhook --replicas=2
\$ kubectl wait -n projectpolicy webhookrollout/projectpolicy.v0.1.0 --for=condition=Ready
\$ kubectl webhooks status -A
SCRIPT

  kubectl webhooks bundle uninstall $bundle --delete-crds --yes --yes-delete-crds
  kubectl delete namespace projectpolicy
}

record() {
  go run ./hack/record "docs/recordings/$1.svg"
}

main
