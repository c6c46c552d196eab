#!/usr/bin/env bash
# deploy.sh IMAGE...: runs the manager, as this tree builds it, in the cluster of KUBECONFIG,
# whose node also gets the other images of out/ that are named. BASE names the manifests, if they
# are not all of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off

manager=olm-webhook-manager

main() {
  local digest archives=()
  read -r digest _ < <(./hack/image.sh $manager ./cmd/$manager)
  for name in $manager "$@"; do
    archives+=("$PWD/out/$name.tar")
  done
  go run -C test/cluster ./cmd/cluster load "${archives[@]}"

  write_overlay "$digest"
  kubectl apply --server-side -k manifests/crds
  kubectl apply --server-side -k out/deploy
  kubectl rollout status -n $manager deployment/$manager --timeout=3m || explain
}

# The manifests as they are, and the image's digest in the pod template: the tag stays, so that
# only this replaces the pods of another build, and leaves those of the same.
write_overlay() {
  mkdir -p out/deploy
  cat >out/deploy/kustomization.yaml <<YAML
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../../${BASE:-manifests}]
patches:
- target: {kind: Deployment, name: $manager}
  patch: |
    - op: add
      path: /spec/template/metadata/annotations
      value: {image-digest: "$1"}
YAML
}

explain() {
  kubectl get pods -n $manager -o wide
  kubectl describe pods -n $manager | sed -n '/^Events:/,$p'
  kubectl logs -n $manager deployment/$manager --tail=50
  exit 1
}

main "$@"
