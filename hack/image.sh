#!/usr/bin/env bash
# image.sh NAME DIRECTORY: builds the command in a directory and writes it as the image
# docker.io/olm-webhook-manager/NAME:dev into out/NAME.tar. The same source and Go version
# give the same digest: no paths, no version control state and no build id get in.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off
name=$1 directory=$2 root=$PWD

mkdir -p out
(cd "$directory" && VERSION=dev GOFLAGS="${GOFLAGS:-} -buildvcs=false" "$root/hack/build.sh" "$root/out/$name" .)
go run ./hack/mkimage -o "out/$name.tar" -t "docker.io/olm-webhook-manager/$name:dev" "out/$name"
