#!/bin/bash
# A few seconds of fuzzing of every reader: scripts/fuzz_smoke.sh [SECONDS]. The targets have to build and to survive their corpora.
# Unlike `fuzz/run.sh` it needs neither cargo-fuzz nor a sanitizer: what libFuzzer needs of the compiler are these flags.
set -u
seconds=${1:-5}
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root/fuzz"
python3 seeds.py || exit 1
host=$(rustc -vV | sed -n 's/^host: //p')
flags="--cfg fuzzing -C passes=sancov-module -C llvm-args=-sanitizer-coverage-level=3"
flags="$flags -C llvm-args=-sanitizer-coverage-inline-8bit-counters -C llvm-args=-sanitizer-coverage-pc-table"
CARGO_TARGET_DIR="$root/target/fuzz-smoke" RUSTFLAGS=$flags cargo build --profile smoke --bins --target "$host" || exit 1
# Programs nest; the program itself works on a thread with a stack of this size.
ulimit -s 262144 2>/dev/null || true
failed=0
for target in $(sed -n 's/^name = "\([a-z_]*\)"$/\1/p' Cargo.toml); do
    log=$(mktemp)
    fresh=$(mktemp -d)
    # What is found is kept in neither corpus: the next run starts from the same inputs.
    if "$root/target/fuzz-smoke/$host/smoke/$target" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=25 \
        -max_len=65536 -print_final_stats=1 -artifact_prefix="$fresh/" "$fresh" "corpus/$target" >"$log" 2>&1; then
        echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, nothing found"
    else
        echo "$target: FAILED"
        tail -n 40 "$log"
        find "$fresh" -type f \( -name 'crash-*' -o -name 'timeout-*' -o -name 'oom-*' \) -size -4k -exec base64 {} +
        failed=1
    fi
    rm -rf "$log" "$fresh"
done
exit $failed
