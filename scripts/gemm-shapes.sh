#!/usr/bin/env bash
# Times gpurun's GEMM alone beside cuBLAS, on one GPU, for 40 shapes.
#
#   scripts/build-for-gpus.sh            # where Go is
#   scripts/gemm-shapes.sh               # on the GPU machine; takes about four minutes there
#
# The GEMM alone is matmul-reducescatter decomposed with one rank, which has nothing to reduce. Both
# algorithms take turns in every pass, so that both see the same clocks. All calls have the same matrices: what fits
# stays in the L2 cache.
#
#   TURNS    processes of each N and K: 3 by default; the first one verifies what it times
#   ROUNDS   passes of a process: 10 by default
#   ROWS     M of the shapes: 16,64,128,512,1024,2048,4096,16384 by default
#   SHAPES   N,K of the shapes: "4096,4096 3584,8192 8192,3584 2752,4096 6656,16384" by default, layers of models
#            over some ranks, such as 28672 x 8192 over 8
#   GATHERS  M of allgather-matmul with one rank, 6656 x 16384, which copies its shard, too: 1024,4096,8192; empty: none
#   GPURUN   build/gpurun by default; that of another commit compares two versions
#   CHECK    0: nothing is verified
#   DEVICE   cuda; sim, with ALGOS and small shapes, tries this script without GPUs
#   ALGOS    decomposed,cublas by default
#   PYTHON   python3 by default
#   LIMIT    seconds that a process may take: 120 by default
#
# Output goes to $RESULTS, build/gemm by default: JSON of every process, gemm.json, and table.md, which is printed.
# The exit status is 0 when everything ran and was right.
set -uo pipefail
cd "$(dirname "$0")/.."
results=${RESULTS:-build/gemm}
device=${DEVICE:-cuda}
algorithms=${ALGOS:-decomposed,cublas}
python=${PYTHON:-python3}
failures=0
mkdir -p "$results"
rm -f "$results"/*.{json,log}
# What runs ends with this script. It is a group of processes, because a timeout that is told to
# end just after it forked leaves its command behind.
trap 'for job in $(jobs -pr); do kill -- "-$job" "$job"; done 2>/dev/null; exit 143' TERM INT

# bench NAME OPERATION ROWS N,K ALGORITHMS CHECK: a process, its output under NAME; counts it as failed when it fails.
bench() {
  timeout -k 5 "${LIMIT:-120}" "${GPURUN:-build/gpurun}" --device "$device" --nproc-per-node 1 bench "$2" -d bfloat16 -m "$3" -n "${4%,*}" \
    -k "${4#*,}" --algo "$5" -c "$6" --rounds "${ROUNDS:-10}" --output json >"$results/$1.json" 2>"$results/$1.log" &
  wait $! && return
  echo "$1: exit $?" >&2
  tail -n 5 "$results/$1.log" >&2
  failures=$((failures + 1))
}

check=${CHECK:-1}
for turn in $(seq "${TURNS:-3}"); do
  for shape in ${SHAPES:-4096,4096 3584,8192 8192,3584 2752,4096 6656,16384}; do
    bench "gemm-${shape/,/x}-$turn" matmul-reducescatter "${ROWS:-16,64,128,512,1024,2048,4096,16384}" "$shape" "$algorithms" "$check"
  done
  [ -z "${GATHERS-x}" ] || bench "gather-$turn" allgather-matmul "${GATHERS:-1024,4096,8192}" 6656,16384 \
    "decomposed,fused,${algorithms#*,}" "$check"
  check=0
done
find "$results" -name '*.json' -empty -delete
"$python" scripts/gemm-table.py --out "$results/gemm.json" "$results"/g*-*.json | tee "$results/table.md" || failures=$((failures + 1))
[ "$failures" = 0 ]
