#!/usr/bin/env bash
# Runs every fuzz target, at nice 19:
#
#     scripts/fuzz.sh [FOLDER]          runs all targets, from the test binaries in FOLDER where Go is not installed;
#                                       FOLDER is build/fuzz by default
#     scripts/fuzz.sh build FOLDER      only builds the test binaries of all packages with targets
#
# A target gets INPUTS inputs (default 10 million), in parts of PART inputs (default 100,000), each with one worker
# process. JOBS parts run at the same time (default 1). The first part of every target comes before the second part of
# any: a part starts with what earlier ones have found, and all targets end together although some are slow. A target
# starts no part after it has failed, or has taken CPU_SECONDS of CPU time (default 1200). After WALL_SECONDS (default:
# never) all parts are stopped.
#
# FOLDER/parts has a line for each part: package, target, part, inputs, CPU seconds, how it ended. Complete parts are
# left out the next time, so that the script can go on after an interruption, or on another machine. FOLDER/figures has
# the sum for each target. An input that fails is written to the testdata of its package, and to FOLDER/failed; without
# its line in FOLDER/parts the target starts again. ONLY selects targets by a regular expression on "package target".
#
# go test -fuzz would count the coverage of every package in the binary, the standard library's included. The engine
# clears, copies and compares all counters for each input, which is most of the time of a cheap target: 101 us for
# 15,049 counters of worker/process/dump/pystack, and 33 us for the 199 of the package alone. So only the package under
# test is instrumented, and the packages of gpurun that it imports directly.
set -euo pipefail
cd "$(dirname "$0")/.."
build_only=false
if [ "${1:-}" = build ]; then build_only=true && shift; fi
out=$(realpath -m "${1:-build/fuzz}")
inputs=${INPUTS:-10000000} part_inputs=${PART:-100000} jobs=${JOBS:-1}
cpu_budget=${CPU_SECONDS:-1200} wall_budget=${WALL_SECONDS:-1000000}
export CGO_ENABLED=0 GOMAXPROCS=1 # with 2, the garbage collector takes a fifth more CPU time
mkdir -p "$out/bin" "$out/corpus"
touch "$out/parts"

# Lines "package target".
targets() {
  grep -rn --include='*_test.go' -oE '^func Fuzz[A-Za-z0-9]+' . | sed -E 's|^\./([^:]*)/[^/:]*:[0-9]+:func |\1 |' |
    sort | grep -E "${ONLY:-.}"
}

# The path of the test binary of a package.
binary() {
  echo "$out/bin/$(tr / _ <<<"$1").test"
}

# Builds the test binary of a package. The package is instrumented, and so is what it imports of this module.
build() {
  local -a flags
  mapfile -t flags < <(go list -f '{{.ImportPath}}{{range .Imports}}
{{.}}{{end}}' "./$1" | grep -E "^$(go list -m)(/|\$)" | sed 's/.*/-gcflags=&=-d=libfuzzer/')
  nice -n 19 go test -c "${flags[@]}" -trimpath -ldflags='-s -w' -vet=off -o "$(binary "$1")" "./$1"
}

# Whether a part of a target need not run: package, target, part.
is_done() {
  awk -v package="$1" -v target="$2" -v part="$3" -v budget="$cpu_budget" '
    $1 == package && $2 == target { spent += $5; done = done || $6 == "FAILED" || $3 == part && $6 == "complete" }
    END { exit !(done || spent >= budget) }' "$out/parts"
}

# Runs a part of a target in the folder of its package, for a time at most: package, target, part, inputs, seconds.
fuzz() {
  local log cpu executed status=0 ended failing
  log=$out/$(tr / _ <<<"$1").$2.$3.log
  TIMEFORMAT='%U %S'
  cpu=$({ time {
    (cd "$1" && exec nice -n 19 timeout --foreground -s INT "$5" "$(binary "$1")" -test.run='^$' -test.fuzz="^$2\$" \
      -test.fuzztime="$4x" -test.parallel=1 -test.fuzzminimizetime=100x -test.fuzzcachedir="$out/corpus/$1") >"$log" 2>&1
  }; } 2>&1) || status=$?
  executed=$(sed -n 's/.*execs: \([0-9]*\).*/\1/p' "$log" | tail -1)
  case $status in
    0) ended=complete ;;
    124) ended=stopped ;; # by timeout
    *) ended=FAILED ;;
  esac
  failing=$(sed -n 's/^ *Failing input written to //p' "$log")
  if [ -n "$failing" ]; then
    ended=FAILED
    mkdir -p "$out/failed/$1"
    (cd "$1" && cp --parents "$failing" "$out/failed/$1")
  fi
  echo "$1 $2 $3 ${executed:-0} $(awk '{ print $1 + $2 }' <<<"$cpu") $ended" | tee -a "$out/parts"
  if [ $ended = FAILED ]; then cat "$log"; else rm "$log"; fi
}

if command -v go >/dev/null; then
  targets | cut -d' ' -f1 | uniq | while read -r package; do build "$package"; done
fi
if $build_only; then exit; fi

set -m # each part has a process group, which ends with the script
trap 'exec 2>/dev/null; jobs -p | sed "s/^/-/" | xargs -r kill -KILL --' EXIT
parts=$(((inputs + part_inputs - 1) / part_inputs))
for ((part = 1; part <= parts; part++)); do
  while read -r package target; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    left=$((wall_budget - SECONDS))
    if [ $left -le 0 ]; then break 2; fi
    is_done "$package" "$target" "$part" ||
      fuzz "$package" "$target" "$part" "$((part < parts ? part_inputs : inputs - part_inputs * (parts - 1)))" \
        "$((left < cpu_budget ? left : cpu_budget))" </dev/null &
  done < <(targets)
done
wait

awk -v parts=$parts '
  { target = $1 " " $2; inputs[target] += $4; cpu[target] += $5; ended[target, $6]++ }
  END {
    for (target in inputs) {
      how = ended[target, "complete"] < parts ? ended[target, "complete"] + 0 " of " parts " parts" : "complete"
      if (ended[target, "FAILED"]) how = "FAILED"
      print target " " inputs[target] " inputs, " cpu[target] " CPU s, " how
    }
  }' "$out/parts" | sort | tee "$out/figures"
! grep FAILED "$out/figures"
