#!/usr/bin/env bash
# image.sh NAME PACKAGE: builds a command and writes it as the image
# docker.io/olm-webhook-manager/NAME:dev into out/NAME.tar. The same source and Go version
# give the same digest: no paths, no version control state and no build id get in.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
name=$1 package=$2

mkdir -p out
VERSION=dev GOFLAGS="${GOFLAGS:-} -buildvcs=false" ./hack/build.sh "out/$name" "$package"
go run ./hack/mkimage -o "out/$name.tar" -t "docker.io/olm-webhook-manager/$name:dev" "out/$name"
