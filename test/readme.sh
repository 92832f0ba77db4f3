#!/usr/bin/env bash
# Runs the README's grpcurl section as a reader would paste it, and checks what it shows.
set -uo pipefail
cd "$(dirname "$0")/.."
script=$(awk '/^```sh grpcurl$/ {on=1; next} /^```$/ {on=0} on' README.md)
[ -n "$script" ] || { echo "README.md has no grpcurl section"; exit 1; }
out=$(timeout 300 bash -c "$script" 2>&1)
for want in '"outcome": "OUTCOME_OK"' '"verified": true' 'button \"7\"' 'rpc Act'; do
  grep -qF -- "$want" <<<"$out" || { echo "the grpcurl section did not show: $want"; echo "$out" | tail -n 60; exit 1; }
done
echo "the README's grpcurl section works as pasted"
