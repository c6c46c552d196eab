#!/usr/bin/env bash
# Builds the commands into bin/, as the plugin of kubectl.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

CGO_ENABLED=0 go build -o bin/kubectl-webhooks ./cmd/olm-webhook-manager
