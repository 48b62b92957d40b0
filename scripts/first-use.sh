#!/usr/bin/env bash
# Measures the time from the start of gpurun to its first verified result, and its phases.
#
#   scripts/build-for-gpus.sh            # where Go is
#   scripts/first-use.sh                 # on the GPU machine; takes about three minutes there
#
# The modes take turns, $TURNS times:
#   cold      the driver's cache of compiled kernels (CUDA_CACHE_PATH) is an empty folder
#   warm      the same folder again
#   nocache   CUDA_CACHE_DISABLE=1
#   held      warm, while this script holds the GPUs' device files open, as nvidia-persistenced does
#
#   RANKS    "1 2 4" by default; more ranks than GPUs share them
#   TURNS    5 by default
#   MODES    "cold warm nocache held" by default
#   MODULES  modules of kernels/ptx whose loading is timed by scripts/module-load.py; empty: none
#   DEVICE   cuda; sim tries this script without GPUs
#   PYTHON   python3 by default
#   LIMIT    seconds that a process may take: 60 by default
#
# Output goes to $RESULTS, build/first-use by default: a JSON file of every run, table.md, which is printed, and
# modules.md. The exit status is 0 when every run succeeded.
set -uo pipefail
cd "$(dirname "$0")/.."
results=${RESULTS:-build/first-use}
device=${DEVICE:-cuda}
python=${PYTHON:-python3}
modules=${MODULES-allreduce_oneshot_ll_float_sm_90 allreduce_oneshot_lamport_float_sm_90 allreduce_twoshot_push_float_sm_90 \
  matmul_wgmma_product_256_bfloat16_sm_90a}
failures=0
mkdir -p "$results"
rm -f "$results"/*.{json,log}
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
# What runs ends with this script. It is a group of processes, because a timeout that is told to
# end just after it forked leaves its command behind.
trap 'for job in $(jobs -pr); do kill -- "-$job" "$job"; done 2>/dev/null; exit 143' TERM INT

# try NAME COMMAND...: runs COMMAND within the limit, its output under NAME, and counts it as failed when it fails.
try() {
  local name=$1
  shift
  timeout -k 5 "${LIMIT:-60}" "$@" >"$results/$name.log" 2>&1 &
  wait $! && return
  echo "$name: exit $?" >&2
  tail -n 5 "$results/$name.log" >&2
  failures=$((failures + 1))
}

# first NAME RANKS: two cases of the default run, with the memory that it allocates.
first() {
  try "$1" build/gpurun --device "$device" --nproc-per-node "$2" --oversubscribe allreduce -b 1K -e 64M -f 65536 -n 2 -w 1 \
    --timing -J "$results/$1.json"
}

# holding COMMAND...: runs COMMAND while the GPUs' device files are open.
holding() {
  local file open=()
  for file in /dev/nvidia[0-9]*; do
    [ -e "$file" ] || continue
    exec {descriptor}<"$file" && open+=("$descriptor")
  done
  "$@"
  for descriptor in "${open[@]}"; do exec {descriptor}<&-; done
}

# run MODE RANKS TURN
run() {
  local name=$1-$2-$3
  case $1 in
    cold) rm -rf "$cache" && mkdir "$cache" && CUDA_CACHE_PATH=$cache first "$name" "$2" ;;
    warm) CUDA_CACHE_PATH=$cache first "$name" "$2" ;;
    nocache) CUDA_CACHE_DISABLE=1 first "$name" "$2" ;;
    held) CUDA_CACHE_PATH=$cache holding first "$name" "$2" ;;
    *) echo "there is no mode $1; see the top of this script" >&2 && exit 2 ;;
  esac
}

# load NAME VARIABLE...: times the loading of modules with these variables in the environment.
load() {
  local name=$1
  shift
  # shellcheck disable=SC2086 # a list of words
  try "modules-$name" env "$@" "$python" scripts/module-load.py --name "$name" $modules
}

[ "$device" = sim ] || nvidia-smi --query-gpu=name,driver_version,persistence_mode --format=csv,noheader | tee "$results/gpus.txt"
for turn in $(seq "${TURNS:-5}"); do
  for ranks in ${RANKS:-1 2 4}; do
    for mode in ${MODES:-cold warm nocache held}; do run "$mode" "$ranks" "$turn"; done
  done
done
"$python" scripts/first-use-table.py "$results"/*.json | tee "$results/table.md" || failures=$((failures + 1))
if [ "$device" = cuda ] && [ -n "$modules" ]; then
  rm -rf "$cache" && mkdir "$cache"
  load compiled CUDA_CACHE_DISABLE=1
  load cache-empty CUDA_CACHE_PATH="$cache"
  load cache-full CUDA_CACHE_PATH="$cache"
  cat "$results"/modules-{compiled,cache-empty,cache-full}.log | tee "$results/modules.md"
fi
[ "$failures" = 0 ]
