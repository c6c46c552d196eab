#!/usr/bin/env bash
# release-check.sh VERSION: checks the files of "make release VERSION=...", and builds them again in
# another directory with an empty build cache: all bytes must be the same.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off CGO_ENABLED=0

version=$1
files=$PWD/out/release/$version
tools=$PWD/hack/tools

main() {
  (cd "$files" && sha256sum --check --quiet SHA256SUMS)
  echo "ok  checksums"
  go tool -modfile="$tools/krew/go.mod" validate-krew-manifest -skip-install -manifest "$files/webhooks.yaml"
  echo "ok  manifest of krew"
  go tool -modfile="$tools/helm/go.mod" helm lint --strict --quiet "$files/olm-webhook-manager-${version#v}.tgz"
  echo "ok  chart"
  build_again
}

# Only the checksums are compared: they cover each file, and a signature is never the same.
build_again() {
  local again
  again=$(mktemp -d)
  trap 'rm -rf "$again"' EXIT
  git clone --quiet . "$again/elsewhere"
  git -C "$again/elsewhere" checkout --quiet "$(commit_of_release)"
  GOCACHE=$again/cache make -C "$again/elsewhere" release VERSION="$version"
  diff "$files/SHA256SUMS" "$again/elsewhere/out/release/$version/SHA256SUMS"
  echo "ok  the same bytes, built again"
}

commit_of_release() {
  sed -n 's/.*"gitCommit": "\(.*\)".*/\1/p' "$files/provenance.intoto.json"
}

main
