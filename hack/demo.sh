#!/usr/bin/env bash
# Shows the whole way: a cluster, the manager, a bundle going live, its webhook denying what
# it should deny. Everything stays up; make demo-down removes it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off

example=examples/projectpolicy
csv=projectpolicy.v0.1.0

main() {
  say "A cluster"
  . hack/connect.sh

  say "The manager in it"
  ./hack/image.sh projectpolicy ./$example
  ./hack/deploy.sh projectpolicy
  ./hack/build.sh bin/kubectl-webhooks ./cmd/kubectl-webhooks
  PATH=$PWD/bin:$PATH

  say "A bundle, checked before any cluster sees it"
  run kubectl webhooks bundle validate $example/bundle

  say "Installed: its webhook goes live once it serves, not before"
  run kubectl webhooks bundle install $example/bundle --yes

  say "A policy, a namespace that breaks it and one that does not"
  run kubectl apply -f $example/samples/projectpolicy.yaml
  run kubectl wait projectpolicy/shared-cluster --for=condition=Valid
  expect_denied kubectl apply -f $example/samples/namespace-denied.yaml
  run kubectl apply -f $example/samples/namespace-allowed.yaml

  say "What is live now, and whether anything could lock the cluster out"
  run kubectl webhooks status -A
  run kubectl webhooks doctor
  further
}

say() {
  printf '\n=== %s\n' "$*"
}

run() {
  printf '$ %s\n' "$*"
  "$@"
}

expect_denied() {
  local answer
  printf '$ %s\n' "$*"
  answer=$("$@" 2>&1) || true
  echo "$answer"
  if [[ $answer != *"denied the request"* ]]; then
    echo "the webhook should have denied this" >&2
    exit 1
  fi
}

further() {
  cat <<TEXT

The cluster stays up. To look further:

  export KUBECONFIG=$KUBECONFIG PATH=\$PATH:$PWD/bin:$(dirname "$(command -v kubectl)")
  kubectl webhooks status -A --watch
  kubectl webhooks certificates -A
  kubectl describe webhookrollout -n projectpolicy $csv
  kubectl get validatingwebhookconfigurations -l olm.owner=$csv -o yaml
  kubectl logs -n olm-webhook-manager deployment/olm-webhook-manager

Delete the webhook's registration, or its pods, and look again. When done: make demo-down
TEXT
}

main
