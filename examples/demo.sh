#!/usr/bin/env bash
# The demo without Python: runs the models of tests/data through the unfuse command, and compares
# with what torch gave for them.
#   examples/demo.sh build/release/bin/unfuse
set -euo pipefail
readonly unfuse=$1
readonly data=$(dirname "$0")/../tests/data

failed=0
for model in "$data"/*.pt2; do
  name=$(basename "$model" .pt2)
  printf '\n%s\n' "$name"
  # Shows what a refusal looks like: an op that only torch has.
  if [ "$name" = left_to_torch ]; then
    "$unfuse" run "$model" --random 2>&1 || true
    continue
  fi
  "$unfuse" verify "$model" --inputs "$data/$name.inputs.safetensors" \
    --expect "$data/$name.outputs.safetensors" || failed=1
done
exit $failed
