#!/usr/bin/env bash
# release-check.sh VERSION: checks the files of "make release VERSION=...", and builds them again in
# another directory with an empty build cache: all bytes must be the same.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off CGO_ENABLED=0

version=$1
files=$PWD/out/release/$version
tools=$PWD/hack/tools
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

main() {
  (cd "$files" && sha256sum --check --quiet SHA256SUMS)
  echo "ok  checksums"
  go tool -modfile="$tools/krew/go.mod" validate-krew-manifest -skip-install -manifest "$files/webhooks.yaml"
  install_plugin
  echo "ok  manifest of krew, and the plugin of each platform"
  go tool -modfile="$tools/helm/go.mod" helm lint --strict --quiet "$files/olm-webhook-manager-${version#v}.tgz"
  echo "ok  chart"
  validate_catalog
  copy_images
  build_again
}

# krew installs the plugin of each platform from its archive, in place of the download.
install_plugin() {
  local archive platform
  for archive in "$files/kubectl-webhooks_${version}_"*{.tar.gz,.zip}; do
    platform=$(basename "${archive%.tar.gz}" .zip)
    platform=${platform#"kubectl-webhooks_${version}_"}
    KREW_ROOT=$temporary/krew/$platform KREW_OS=${platform%_*} KREW_ARCH=${platform#*_} go tool -modfile="$tools/krew/go.mod" krew install \
      --manifest="$files/webhooks.yaml" --archive="$archive" </dev/null 2>"$temporary/krew.log" || { cat "$temporary/krew.log"; exit 1; }
  done
}

# opm validates the catalogs in a directory. The tags select libraries without cgo.
validate_catalog() {
  mkdir "$temporary/catalog"
  cp "$files/catalog.yaml" "$temporary/catalog"
  go build -C "$tools/opm" -tags json1,containers_image_openpgp -o "$temporary/opm" github.com/operator-framework/operator-registry/cmd/opm
  "$temporary/opm" validate "$temporary/catalog"
  echo "ok  catalog"
}

# The manifests name the digests of the images: a copy must not change them. skopeo compresses layers that are not
# compressed, and writes an index in the form of the image specification.
copy_images() {
  local archive name
  if ! command -v skopeo >/dev/null; then
    echo "--  images: skipped, since skopeo is not installed"
    return
  fi
  for archive in "$files"/*_image.tar; do
    name=$(basename "$archive" "_${version}_image.tar")
    skopeo copy --quiet --all --preserve-digests "oci-archive:$archive:docker.io/olm-webhook-manager/$name:$version" "oci:$temporary/$name"
  done
  echo "ok  copies of the images have the same digests"
}

# Only the checksums are compared: they cover each file, and a signature is never the same. With DISCARD, the build
# caches of other platforms are empty and removed one by one: together they need 8 GB.
build_again() {
  git clone --quiet . "$temporary/elsewhere"
  git -C "$temporary/elsewhere" checkout --quiet "$(commit_of_release)"
  GOCACHE=$temporary/cache make -C "$temporary/elsewhere" release VERSION="$version" DISCARD=1
  diff "$files/SHA256SUMS" "$temporary/elsewhere/out/release/$version/SHA256SUMS"
  echo "ok  the same bytes, built again"
}

commit_of_release() {
  sed -n 's/.*"gitCommit": "\(.*\)".*/\1/p' "$files/provenance.intoto.json"
}

main
