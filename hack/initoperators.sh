#!/usr/bin/env bash
# initoperators.sh TYPE...: writes an operator with kubectl webhooks init for each type of webhook, as
# out/init/TYPE, and builds its image init-TYPE with the pkg/hosting of this tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off

for type in "$@"; do
  directory=out/init/$type
  rm -rf "$directory"
  go run ./cmd/kubectl-webhooks init "$directory" --type "$type" --name "init-$type" \
    --image "docker.io/olm-webhook-manager/init-$type:dev" --hosting-dir pkg/hosting >/dev/null
  # In place of go mod tidy, which would ask the module proxy for the newest versions.
  cp pkg/hosting/go.sum "$directory"
  GOFLAGS=-mod=mod ./hack/image.sh "init-$type" "$directory"
done
