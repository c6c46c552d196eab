#!/usr/bin/env bash
# Shows the whole way: a cluster, the manager, a bundle going live, its webhook denying what
# it should deny. Everything stays up; make demo-down removes it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

example=examples/projectpolicy
csv=projectpolicy.v0.1.0

main() {
  say "A cluster"
  . hack/connect.sh

  say "The manager in it"
  ./hack/image.sh projectpolicy ./$example
  ./hack/deploy.sh projectpolicy

  say "A bundle: its webhook denies namespaces that break a policy"
  run kubectl apply --server-side -k $example

  say "Its webhook goes live once it serves, not before"
  watch_until_succeeded

  say "A policy, a namespace that breaks it and one that does not"
  run kubectl apply -f $example/samples/projectpolicy.yaml
  run kubectl wait projectpolicy/shared-cluster --for=condition=Valid
  expect_denied kubectl apply -f $example/samples/namespace-denied.yaml
  run kubectl apply -f $example/samples/namespace-allowed.yaml

  say "What the manager says about it"
  run kubectl get webhookrollouts -A
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

watch_until_succeeded() {
  printf '$ %s\n' "kubectl get webhookrollouts -n projectpolicy -o wide --watch"
  kubectl get webhookrollouts -n projectpolicy -o wide --watch &
  local watch=$! status=0
  kubectl wait -n projectpolicy csv/$csv --for=jsonpath='{.status.phase}'=Succeeded --timeout=3m || status=$?
  kill $watch
  wait $watch 2>/dev/null || true
  return $status
}

further() {
  cat <<TEXT

The cluster stays up. To look further:

  export KUBECONFIG=$KUBECONFIG PATH=\$PATH:$(dirname "$(command -v kubectl)")
  kubectl get csv,webhookrollouts,pods -n projectpolicy
  kubectl describe webhookrollout -n projectpolicy $csv
  kubectl get validatingwebhookconfigurations -l olm.owner=$csv -o yaml
  kubectl logs -n olm-webhook-manager deployment/olm-webhook-manager

Delete the webhook's registration, or its pods, and look again. When done: make demo-down
TEXT
}

main
