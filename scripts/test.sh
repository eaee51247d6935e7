#!/usr/bin/env bash
# Runs every test and ends with one summary line: N passed, N failed, N skipped.
set -uo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The tests of the whole stack run the programs themselves.
"$cargo" build --workspace --bins || exit 1
"$cargo" test --workspace --no-fail-fast -- --quiet 2>&1 | tee "$log"
status=${PIPESTATUS[0]}

awk -v status="$status" '
  /^test result:/ {
    for (i = 1; i < NF; i++) {
      if ($(i + 1) ~ /^passed/) passed += $i
      if ($(i + 1) ~ /^failed/) failed += $i
      if ($(i + 1) ~ /^ignored/) skipped += $i
    }
  }
  END {
    # A test that did not build, or that died, has no line of its own.
    if (status != 0 && failed == 0) failed = 1
    printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped
  }
' "$log"
exit "$status"
