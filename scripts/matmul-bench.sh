#!/usr/bin/env bash
# Times products of matrices that overlap with their communication, by gpurun, cuBLAS,
# NCCL and PyTorch, on one machine with GPUs.
#
#   scripts/build-for-gpus.sh                      # where Go is
#   scripts/matmul-bench.sh [OPERATION...]         # on the GPU machine
#
# gpurun and PyTorch take turns, $TURNS times, because clocks fall as GPUs get warm; within
# a turn algorithms take turns too. Operations are allgather-matmul, matmul-reducescatter
# and matmul-allreduce, all unless some are named; PyTorch always does all.
#
#   GPUS     how many to use; all by default
#   TURNS    3 by default
#   ROWS     M of the shapes: 1024,2048,4096,8192 by default
#   SHAPES   N,K of the shapes: "6656,16384 3584,8192 8192,8192" by default
#   ALGOS    of gpurun: auto,fused,decomposed,cublas,nccl by default
#   ROUNDS   of a turn: 10 by default of gpurun, over which the order of five algorithms is balanced; 7 of PyTorch
#   CHECK    0: gpurun does not verify what it times, which takes most of its time
#   PYTHON   one that has PyTorch 2.6 or newer: python3 by default
#
# Output goes to $RESULTS, build/matmul by default: JSON, and the table that is printed.
# Variables such as NCCL_NVLS_ENABLE stay as they are. The exit status is 0 when everything
# ran and was right.
set -uo pipefail
cd "$(dirname "$0")/.."
results=${RESULTS:-build/matmul}
gpus=${GPUS:-$(nvidia-smi --list-gpus | wc -l)}
rows=${ROWS:-1024,2048,4096,8192}
shapes=${SHAPES:-6656,16384 3584,8192 8192,8192}
python=${PYTHON:-python3}
gpurun="build/gpurun --nproc-per-node $gpus"
failures=0
mkdir -p "$results"
rm -f "$results"/{gpurun,torch}-*.json
# What runs ends with this script. It is a group of processes, because a timeout that is told to
# end just after it forked leaves its command behind.
trap 'for job in $(jobs -pr); do kill -- "-$job" "$job"; done 2>/dev/null; exit 143' TERM INT

# try NAME COMMAND...: runs COMMAND within five minutes, its standard error under NAME,
# and counts it as failed when it fails.
try() {
  local name=$1
  shift
  timeout -k 5 300 "$@" 2>"$results/$name.log" &
  wait $! && return
  echo "$name: exit $?" >&2
  tail -n 5 "$results/$name.log" >&2
  failures=$((failures + 1))
}

# ours TURN OPERATION...: what gpurun does, a file for each operation, N and K.
ours() {
  local turn=$1 operation shape
  shift
  for operation in "$@"; do
    for shape in $shapes; do
      try "gpurun-$operation-${shape/,/x}-$turn" $gpurun --device cuda bench "$operation" -d bfloat16 \
        -m "$rows" -n "${shape%,*}" -k "${shape#*,}" --algo "${ALGOS:-auto,fused,decomposed,cublas,nccl}" \
        -c "${CHECK:-1}" --rounds "${ROUNDS:-10}" --output json >"$results/gpurun-$operation-${shape/,/x}-$turn.json"
    done
  done
}

# theirs TURN: what PyTorch does, all in one file.
theirs() {
  local shape m all=()
  for shape in $shapes; do
    for m in ${rows//,/ }; do all+=("$m,$shape"); done
  done
  try "torch-$1" $gpurun -- "$python" scripts/matmul-peers.py --out "$results/torch-$1.json" --rounds "${ROUNDS:-7}" --shapes "${all[@]}"
}

[ $# -gt 0 ] || set -- allgather-matmul matmul-reducescatter matmul-allreduce
for turn in $(seq "${TURNS:-3}"); do
  ours "$turn" "$@"
  theirs "$turn"
done
find "$results" -name '*.json' -empty -delete
"$python" scripts/matmul-table.py --out "$results/baseline.json" "$results"/{gpurun,torch}-*.json | tee "$results/table.md" || failures=$((failures + 1))
[ "$failures" = 0 ]
