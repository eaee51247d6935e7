#!/usr/bin/env bash
# Runs each fuzz target for a while, from its corpus, and keeps what it finds new there. SECONDS_EACH sets how long.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"

seconds=${SECONDS_EACH:-60}
if ! cargo fuzz --version >/dev/null 2>&1; then
  echo "fuzz: cargo-fuzz is missing; get it with: cargo install cargo-fuzz" >&2
  exit 1
fi
# The fuzzer's instrumentation needs a flag that only nightly compilers take by themselves.
export RUSTC_BOOTSTRAP=1
for target in fuzz_targets/*.rs; do
  name=$(basename "$target" .rs)
  echo "== $name"
  cargo fuzz run --sanitizer none "$name" -- -max_total_time="$seconds" -max_len=4096 -print_final_stats=1 2>&1 |
    grep -E "^(stat::number_of_executed_units|stat::new_units_added|SUMMARY|==.*ERROR)" || true
done
if compgen -G "artifacts/*/*" >/dev/null; then
  echo "fuzz: something was found:" artifacts/*/*
  exit 1
fi
echo "fuzz: nothing was found"
