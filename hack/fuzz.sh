#!/usr/bin/env bash
# fuzz.sh TIME: runs every fuzz target of the tree, one after the other, for so long each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off

git ls-files --cached --others --exclude-standard '*_test.go' | xargs grep -o '^func Fuzz[A-Za-z0-9_]*' | sort |
  while IFS=: read -r file function; do
    target=${function#func }
    echo "=== $target in $(dirname "$file"), for $1"
    # By default each input that is new is made smaller for up to a minute, in which nothing else is tried.
    go test -C "$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$1" -fuzzminimizetime 20x .
  done
