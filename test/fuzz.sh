#!/usr/bin/env bash
# Runs every fuzz target of the workspace for a short while: FUZZTIME, 5s by default.
set -euo pipefail
cd "$(dirname "$0")/.."
for file in $(git ls-files -co --exclude-standard '*_test.go' | xargs grep -l '^func Fuzz'); do
  dir=$(dirname "$file")
  for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
    echo "--- $dir $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-5s}" "./$dir"
  done
done
