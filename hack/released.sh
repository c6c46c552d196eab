#!/usr/bin/env bash
# released.sh: builds the manager of each version in hack/released.txt from its commit into
# out/released/COMMIT: the image, the manifests, and an overlay of them with the image. A commit that
# is built already is not built again. It prints the names of the images, as hack/deploy.sh takes them.
# A shallow clone does not have the commits: nothing is built for them, and TestManagerUpgrade skips them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off

manager=olm-webhook-manager

main() {
  local version commit
  while read -r version commit; do
    if [[ ! -d out/released/$commit ]]; then
      has "$commit" || continue
      build "$version" "$commit" >&2 </dev/null
    fi
    echo "released/$commit/$manager"
  done < <(grep -v '^#' hack/released.txt)
}

build() {
  local version=$1 commit=$2 to=out/released/$2.incomplete
  echo "building $version of the manager"
  rm -rf "$to"
  mkdir -p "$to/source"
  git archive "$commit" | tar -x -C "$to/source"
  # The program goes into the folder of the sources, where build.sh of that version runs.
  (cd "$to/source" && VERSION=$version COMMIT=$commit GOFLAGS="${GOFLAGS:-} -buildvcs=false" ./hack/build.sh ./$manager ./cmd/$manager)
  go run ./hack/mkimage -o "$to/$manager.tar" -t "docker.io/olm-webhook-manager/$manager:$version" "$to/source/$manager"
  mv "$to/source/manifests" "$to"
  rm -rf "$to/source"
  write_overlay "$to" "$version"
  mv "$to" "out/released/$commit"
}

# has succeeds if the clone has the commit. A complete clone without it is an error.
has() {
  git cat-file -e "$1^{commit}" 2>/dev/null && return
  if [[ $(git rev-parse --is-shallow-repository) == true ]]; then
    echo "this clone is shallow and does not have $1 of hack/released.txt: git fetch --unshallow" >&2
    return 1
  fi
  echo "hack/released.txt: commit $1 does not exist" >&2
  exit 1
}

write_overlay() {
  cat >"$1/kustomization.yaml" <<YAML
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [manifests]
images:
- {name: docker.io/olm-webhook-manager/$manager, newTag: $2}
YAML
}

main
