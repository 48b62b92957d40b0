#!/usr/bin/env bash
# Verifies gpurun on a machine with GPUs: every size, type and algorithm, in
# streams and in graphs, on 1, 2, 3, 4 and 8 of them; the injected failures;
# the GPU tests; and the time of the default command.
#
#   scripts/build-for-gpus.sh                      # where Go is
#   scripts/verify-on-gpus.sh [RESULTS]            # on the GPU machine
#
# RESULTS is a folder for the output, build/results by default. The exit
# status is 0 when everything held.
set -uo pipefail
cd "$(dirname "$0")/.."
results=${1:-build/results}
mkdir -p "$results"
gpurun=build/gpurun
failures=0

# check WANT NAME COMMAND...: runs COMMAND within a minute, keeps its output
# under NAME, and counts it as failed when it does not exit with WANT.
check() {
  local want=$1 name=$2 began=${EPOCHREALTIME/./}
  shift 2
  timeout -k 5 60 "$@" >"$results/$name.txt" 2>&1
  local got=$?
  printf '%-28s exit %-3s (want %s) %6d ms\n' "$name" "$got" "$want" $(((${EPOCHREALTIME/./} - began) / 1000))
  [ "$got" = "$want" ] || { failures=$((failures + 1)); tail -n 20 "$results/$name.txt"; }
}

count=$(nvidia-smi -L | grep -c ^GPU)
[ "$count" -ge 1 ] || { echo "nvidia-smi lists no GPU"; exit 1; }
nvidia-smi --query-gpu=name,driver_version,uuid --format=csv,noheader | tee "$results/gpus.txt"

check 0 version $gpurun version
check 0 list $gpurun list

# The first run may compile the kernels, the second has them in the driver's cache.
check 0 default-cold $gpurun --nproc-per-node "$count" --device cuda allreduce
check 0 default-warm $gpurun --nproc-per-node "$count" --device cuda allreduce

for n in 1 2 3 4 8; do
  [ "$n" -le "$count" ] || continue
  check 0 "stream-$n" $gpurun --nproc-per-node "$n" --device cuda allreduce \
    --algo all -d float,half,bfloat16 -b 1K -e 64M -f 4 -n 10 -J "$results/stream-$n.json"
  check 0 "graph-$n" $gpurun --nproc-per-node "$n" --device cuda allreduce \
    --algo all -d float,half,bfloat16 -b 1K -e 64M -f 4 -n 10 -G 10 -J "$results/graph-$n.json"
  check 0 "types-$n" $gpurun --nproc-per-node "$n" --device cuda allreduce \
    --algo all -d all -o all -b 1K -e 1M -f 32 -n 2 -w 1 -G 2
  check 0 "odd-$n" $gpurun --nproc-per-node "$n" --device cuda allreduce --algo all -d all -o all -b 0 -e 70 -i 14 -n 2 -w 1
done

if [ "$count" -ge 4 ]; then
  run="$gpurun --nproc-per-node 4 --device cuda allreduce -b 64K -e 64K -T 3"
  check 1 inject-corrupt $run --inject corrupt:rank=1,byte=4097
  check 5 inject-kill $run --inject kill:rank=2
  check 4 inject-hang $run --inject hang:rank=3
fi
check 3 too-many-ranks $gpurun --nproc-per-node $((count + 1)) --device cuda allreduce
check 0 oversubscribed $gpurun --nproc-per-node $((count + 1)) --oversubscribe --device cuda allreduce -b 1K -e 64K -n 2

export GPURUN_REQUIRE_GPU=1
for test in driver sim allreduce; do
  check 0 "$test-tests" "build/$test.test" -test.v -test.run GPU
done

if pgrep -x gpurun >/dev/null; then
  echo "processes are left behind:"
  pgrep -ax gpurun
  failures=$((failures + 1))
fi
echo "$failures failed"
[ "$failures" = 0 ]
