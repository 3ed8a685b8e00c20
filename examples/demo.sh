#!/usr/bin/env bash
# The demo without Python: runs the models of tests/data through the unfuse command, and compares
# with what torch gave for them.
#   examples/demo.sh build/release/bin/unfuse
set -euo pipefail
readonly unfuse=$1
readonly data=$(dirname "$0")/../tests/data

echo "Small models that torch exported, run without Python and compared with what torch gave:"
failed=0
matching=0
for model in "$data"/*.pt2; do
  name=$(basename "$model" .pt2)
  printf '\n%s\n' "$name"
  # Shows what a refusal looks like: an op that only torch has.
  if [ "$name" = left_to_torch ]; then
    "$unfuse" run "$model" --random 2>&1 || true
    continue
  fi
  if "$unfuse" verify "$model" --inputs "$data/$name.inputs.safetensors" \
    --expect "$data/$name.outputs.safetensors"; then
    matching=$((matching + 1))
  else
    failed=$((failed + 1))
  fi
done
printf '\n%d models match, %d do not.\n' "$matching" "$failed"
[ "$failed" = 0 ]
