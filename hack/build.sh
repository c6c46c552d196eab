#!/usr/bin/env bash
# build.sh OUTPUT PACKAGE: builds a command of the module in the current directory as it is shipped, with VERSION for its version and COMMIT
# for its commit where these are set: one static file without symbols. grpcnotrace leaves out gRPC's pages of traces,
# whose templates call methods by name: for these, the linker keeps every method of every type,
# which is half as much of the manager's program again, in memory too.
set -euo pipefail

info=github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/buildinfo
CGO_ENABLED=0 GOWORK=off go build -trimpath -tags=grpcnotrace -ldflags="-s -w -buildid= -X $info.version=${VERSION:-} -X $info.commit=${COMMIT:-}" -o "$1" "$2"
