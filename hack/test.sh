#!/usr/bin/env bash
# test.sh STAGE...: runs make targets one after the other and prints how long each took.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for stage in "$@"; do
  began=$SECONDS
  echo "=== $stage"
  if "${MAKE:-make}" "$stage"; then verdict=passed; else verdict=FAILED; fi
  took=$((SECONDS - began))
  printf '=== %s %s in %d:%02d\n' "$stage" "$verdict" $((took / 60)) $((took % 60))
  [[ $verdict == passed ]]
done
