#!/usr/bin/env bash
# Runs every fuzz target once, one at a time and at nice 19, each with one worker process:
#
#     scripts/fuzz.sh [FOLDER]
#
# A target ends after INPUTS inputs (default 10 million) or CPU_SECONDS of CPU time (default 1200), whichever is first.
# FOLDER/figures has a line for each: package, target, inputs, CPU seconds, how it ended. A target that FOLDER/figures
# names is left out, so that the script can go on after an interruption. An input that fails is written to the
# testdata of its package. ONLY selects targets by a regular expression on "package target".
#
# go test -fuzz would count the coverage of every package in the binary, the standard library's included. The engine
# clears, copies and compares all counters for each input, which is most of the time of a cheap target: 101 us for
# 15,049 counters of worker/process/dump/pystack, and 33 us for the 199 of the package alone. So only the package under
# test is instrumented, and the packages of gpurun that it imports directly.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-fuzz}")
inputs=${INPUTS:-10000000} budget=${CPU_SECONDS:-1200}
export CGO_ENABLED=0
mkdir -p "$out/corpus"
touch "$out/figures"

# CPU seconds of a process, its worker and the children that it has waited for.
cpu_seconds() {
  local hertz total=0 pid fields
  hertz=$(getconf CLK_TCK)
  for pid in "$1" $(cat /proc/"$1"/task/*/children 2>/dev/null); do
    fields=$(sed 's/.*) //' /proc/"$pid"/stat 2>/dev/null) || continue
    set -- $fields
    total=$((total + ${12} + ${13} + ${14} + ${15}))
  done
  echo $((total / hertz))
}

# Flags of go test that instrument a package for fuzzing, and the packages of this module that it imports.
instrumented() {
  go list -f '{{.ImportPath}}{{range .Imports}}
{{.}}{{end}}' "./$1" | grep -E "^$(go list -m)(/|\$)" | sed 's/.*/-gcflags=&=-d=libfuzzer/'
}

# Runs one target of a test binary in the folder of its package.
fuzz() {
  local package=$1 target=$2 log=$out/$(tr / _ <<<"$1").$2.log spent=0 ended=complete pid
  (cd "$package" && exec nice -n 19 "$out/test.binary" -test.run='^$' -test.fuzz="^$target\$" -test.parallel=1 \
    -test.fuzztime="${inputs}x" -test.fuzzminimizetime=100x -test.fuzzcachedir="$out/corpus/$package") >"$log" 2>&1 &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.5
    if now=$(cpu_seconds "$pid") && [ "$now" -ge "$spent" ]; then spent=$now; fi
    if [ "$spent" -ge "$budget" ] && [ "$ended" = complete ]; then
      ended="stopped by CPU time"
      kill -INT "$pid" 2>/dev/null || true
    fi
  done
  wait "$pid" || { [ "$ended" != complete ] && ! grep -q -- '--- FAIL' "$log"; } || ended=FAILED
  echo "$package $target $(grep -o 'execs: [0-9]*' "$log" | tail -1 | cut -d' ' -f2) inputs, $spent CPU s, $ended" |
    tee -a "$out/figures"
}

grep -rn --include='*_test.go' -oE '^func Fuzz[A-Za-z0-9]+' . | sed -E 's|^\./([^:]*)/[^/:]*:[0-9]+:func |\1 |' | sort |
  while read -r package target; do
    grep -qE "${ONLY:-.}" <<<"$package $target" || continue
    ! grep -q "^$package $target " "$out/figures" || continue
    mapfile -t flags < <(instrumented "$package")
    nice -n 19 go test -c "${flags[@]}" -vet=off -o "$out/test.binary" "./$package"
    fuzz "$package" "$target" </dev/null
  done
! grep FAILED "$out/figures"
