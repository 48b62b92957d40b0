#!/usr/bin/env bash
# Verifies gpurun on a machine with GPUs.
#
#   scripts/build-for-gpus.sh                      # where Go is
#   scripts/verify-on-gpus.sh [PART...]            # on the GPU machine
#
# The parts, all but bench unless some are named:
#   first     what is there; the default command, cold and warm; doctor; smoke
#   sweeps    every collective, algorithm but multimem, type and operation on 1, 2, 3, 4 and 8
#             GPUs, in streams and in graphs, with peer access and without; epilogues
#   memory    every way to share memory
#   libraries NCCL and NVSHMEM, where they are installed, and two nodes on one machine
#   products  products of matrices, by every algorithm and by libraries where they are
#   kernels   the examples of kernel files on 2 and 4 ranks, which share GPUs where there are fewer
#   torch     DistributedDataParallel of the PyTorch that python3 has, by NCCL
#   bench     allreduce on every kind of memory and beside NCCL, compared; not verified
#   failures  the injected failures; too many ranks
#   tests     the tests that need a GPU; how long the driver compiles a module
#   grids     the field's grids of cases, all ranks side by side on one GPU
#
# Output goes to $RESULTS, build/results by default; $RANKS, "1 2 3 4 8" by default,
# are the world sizes of the sweeps. The exit status is 0 when everything held.
set -uo pipefail
cd "$(dirname "$0")/.."
results=${RESULTS:-build/results}
mkdir -p "$results"
gpurun=build/gpurun
failures=0

# check WANT NAME COMMAND...: runs COMMAND within a minute, or $limit seconds,
# keeps its output under NAME, and counts it as failed when it does not exit with
# WANT.
check() {
  local want=$1 name=$2 began=${EPOCHREALTIME/./}
  shift 2
  timeout -k 5 "${limit:-60}" "$@" >"$results/$name.txt" 2>&1
  local got=$?
  printf '%-28s exit %-3s (want %s) %6d ms\n' "$name" "$got" "$want" $(((${EPOCHREALTIME/./} - began) / 1000))
  [ "$got" = "$want" ] || { failures=$((failures + 1)); tail -n 20 "$results/$name.txt"; }
}

first() {
  check 0 version $gpurun version
  check 0 list $gpurun list
  # The first run may compile the kernels, the second has them in the driver's cache.
  check 0 default-cold $gpurun --nproc-per-node "$count" --device cuda allreduce
  check 0 default-warm $gpurun --nproc-per-node "$count" --device cuda allreduce
  check 0 doctor $gpurun --require-gpu doctor
  if [ "$count" -ge 2 ]; then
    check 1 doctor-corrupt $gpurun --nproc-per-node 2 --device cuda doctor --inject corrupt:rank=1,byte=4099
  fi
  # The limit of a minute is smoke's own promise.
  check 0 smoke $gpurun --require-gpu smoke --junit "$results/smoke.xml" -J "$results/smoke.json"
  check 99 smoke-too-slow $gpurun --device cuda smoke --quick --min-busbw 'allreduce@>=64M:100000'
  check 1 smoke-wrong $gpurun --device cuda smoke --quick --inject corrupt:rank=0,byte=0
}

# collectives: those of the catalog that move data.
collectives() {
  local name
  for name in $($gpurun list --output json | sed -n 's/^ *"collective": "\(.*\)",$/\1/p' | uniq); do
    if takes "$name" minbytes; then echo "$name"; fi
  done
}

# takes COLLECTIVE FLAG: whether the flag means something to the collective.
takes() { grep -q -- "--$2 " <<<"$($gpurun "$1" --help)"; }

# lists COLLECTIVE ALGORITHM: whether the collective has it.
lists() { grep -q "^  $2 " <<<"$($gpurun "$1" --help)"; }

sweeps() {
  local n run collective ops epilogue
  for n in ${RANKS:-1 2 3 4 8}; do
    [ "$n" -le "$count" ] || continue
    run="$gpurun --nproc-per-node $n --device cuda"
    for collective in $(collectives); do
      ops=
      ! takes "$collective" op || ops="-o all"
      check 0 "$collective-types-$n" $run $collective --algo all -d all $ops -b 1K -e 1M -f 32 -n 2 -w 1 -G 2
      check 0 "$collective-odd-$n" $run $collective --algo all -d all $ops -b 0 -e 200 -i 40 -n 2 -w 1 -u
      check 0 "$collective-large-$n" $run $collective --algo all -d float,bfloat16 -b 64K -e 64M -f 32 -n 5 --pdl off
      check 0 "$collective-no-peers-$n" $run $collective --p2p off -d float -b 4 -e 4M -f 64 -n 2
      ! takes "$collective" root || check 0 "$collective-root-$n" $run $collective --algo all -r $((n - 1)) -b 1K -e 1M -f 32 -n 2
    done
    check 0 "barrier-$n" $run barrier --algo all
    for epilogue in negate scale "bias --hidden 1000" "rmsnorm --hidden 4096"; do
      check 0 "${epilogue%% *}-$n" $run allreduce --algo all -d half,bfloat16,float --epilogue $epilogue -b 16K -e 4M -f 16 -n 5
    done
  done
}

memory() {
  local n run collective kind
  for n in 2 4; do
    [ "$n" -le "$count" ] || continue
    run="$gpurun --nproc-per-node $n --device cuda"
    for collective in $(collectives); do
      for kind in vmm ipc nvshmem; do
        [ $kind != nvshmem ] || has NVSHMEM || continue
        check 0 "$collective-$kind-$n" $run $collective --symm $kind --algo all -b 1K -e 64M -f 16 -d bfloat16 -n 5
      done
    done
  done
}

# has LIBRARY: whether gpurun finds it here. grep -q would end before gpurun has written all, which pipefail counts as a
# failure of gpurun.
has() { $gpurun list --output json | grep "\"cuda\": \"yes: $1" > /dev/null; }

libraries() {
  local n run collective root ops library title types symmetric
  for n in 2 4; do
    [ "$n" -le "$count" ] || continue
    run="$gpurun --nproc-per-node $n --device cuda"
    for library in nccl nvshmem; do
      title=NCCL ops="-o all" types=all
      [ $library = nccl ] || title=NVSHMEM ops="-o sum,prod,min,max" types=int8,uint8,int32,uint32,int64,uint64,half,float,double,bfloat16
      has $title || { echo "$title is not installed"; continue; }
      for collective in $(collectives); do
        lists "$collective" $library || continue
        root=
        ! takes "$collective" root || root="-r 1"
        if takes "$collective" op; then
          check 0 "$collective-$library-$n" $run $collective --algo $library $root -d $types $ops -b 1K -e 1M -f 32 -n 2
        fi
        check 0 "$collective-$library-graph-$n" $run $collective --algo $library $root -d bfloat16,float -b 1K -e 256M -f 16 -n 5 -G 5
        check 0 "$collective-$library-large-$n" $run $collective --algo $library $root -d half,double -b 1K -e 256M -f 16 -n 5
      done
    done
    has NVSHMEM && check 0 "barrier-nvshmem-$n" $run barrier --algo nvshmem
    for collective in allreduce allgather reducescatter; do
      $gpurun list $collective nccl_symmetric | grep '^  cuda *yes' > /dev/null || continue
      symmetric="$run $collective --algo nccl_symmetric,nccl -d half,float,bfloat16 -b 1K -e 64M -f 16"
      check 0 "$collective-nccl_symmetric-$n" $symmetric -u -n 2
      check 0 "$collective-nccl_symmetric-graph-$n" $symmetric -n 5 -G 5
    done
  done
  if [ "$count" -ge 4 ] && has NCCL; then
    (failures=0; CUDA_VISIBLE_DEVICES=2,3 check 0 node-1 $gpurun --device cuda --nnodes 2 --node-rank 1 allreduce -n 5; exit $failures) &
    CUDA_VISIBLE_DEVICES=0,1 check 0 node-0 $gpurun --device cuda --nnodes 2 --node-rank 0 allreduce -n 5
    wait $! || failures=$((failures + 1))
  fi
}

products() {
  local n run operation algorithms=all
  has cuBLAS && algorithms=$algorithms,cublas
  has "NCCL .* and cuBLAS" && algorithms=$algorithms,nccl
  for n in ${RANKS:-1 2 3 4 8}; do
    [ "$n" -le "$count" ] || continue
    run="$gpurun --nproc-per-node $n --device cuda"
    for operation in allgather-matmul matmul-reducescatter matmul-allreduce; do
      limit=180 check 0 "$operation-$n" $run $operation --algo $algorithms -d all \
        -m $((n * 130)),$((n * 512)) -n 100,1536 -k 200,4096 --splits-per-rank 1,3 --iters 3
      check 0 "$operation-trace-$n" $run $operation --algo fused -m $((n * 1024)) -n 4096 -k 4096 --iters 3 \
        --trace "$results/$operation-$n.trace.json"
    done
  done
}

kernels() {
  local n file name run sizes
  for n in 2 4; do
    run="$gpurun --nproc-per-node $n --device cuda" sizes="-b 1K -e 32K -f 4 -n 2 -w 1"
    [ "$n" -le "$count" ] || run="$run --oversubscribe"
    for file in kernels/examples/*.toml; do
      name=$(basename "$file" .toml)
      check 0 "kernel-$name-$n" $run kernel "$file" $sizes
      [ "$n" -le "$count" ] || continue
      check 0 "kernel-$name-late-$n" $run kernel "$file" $sizes --skew 1=20
      [ "$name" = packets ] || check 0 "kernel-$name-large-$n" $run kernel "$file" -b 1M -e 16M -f 4 -n 5
    done
    [ "$n" -le "$count" ] || continue
    check 0 "kernel-beside-$n" $run bench allreduce --algo kernels/examples/oneshot.toml,auto -d float -b 4K -e 1M -f 16
  done
}

torch() {
  local n
  for n in 2 4; do
    [ "$n" -le "$count" ] || continue
    check 0 "torch-$n" $gpurun --standalone --nproc-per-node "$n" --no_python python3 scripts/train-ddp.py
    check 0 "torch-restart-$n" $gpurun --standalone --nproc-per-node "$n" --max-restarts 1 --no_python python3 scripts/train-ddp.py crash
    check 7 "torch-crash-$n" $gpurun --standalone --nproc-per-node "$n" --no_python python3 scripts/train-ddp.py crash
    grep -h "^rank .*sums" "$results/torch-$n.txt" "$results/torch-restart-$n.txt"
  done
}

bench() {
  local n kind kinds="vmm ipc"
  has NVSHMEM && kinds="$kinds nvshmem"
  for n in 2 4; do
    [ "$n" -le "$count" ] || continue
    for kind in $kinds; do
      limit=120 check 0 "bench-$kind-$n" $gpurun --nproc-per-node $n --device cuda bench allreduce --symm $kind -c 0 \
        --algo oneshot_ll,oneshot,twoshot,nccl -d bfloat16 -b 1K -e 256M -J "$results/bench-$kind-$n.json"
      [ $kind = vmm ] || $gpurun compare "$results/bench-vmm-$n.json" "$results/bench-$kind-$n.json" | tee "$results/compare-$kind-$n.txt"
    done
  done
}

failures() {
  local operation run="$gpurun --nproc-per-node 4 --device cuda allreduce -b 64K -e 64K -T 3"
  if [ "$count" -ge 4 ]; then
    check 1 inject-corrupt $run --inject corrupt:rank=1,byte=4097
    check 5 inject-kill $run --inject kill:rank=2
    check 4 inject-hang $run --inject hang:rank=3
  fi
  check 3 too-many-ranks $gpurun --nproc-per-node $((count + 1)) --device cuda allreduce
  check 0 oversubscribed $gpurun --nproc-per-node $((count + 1)) --oversubscribe --device cuda allreduce -b 1K -e 64K -n 2
  for operation in allgather-matmul matmul-reducescatter matmul-allreduce; do
    check 0 "oversubscribed-$operation" $gpurun --nproc-per-node $((count + 1)) --oversubscribe --device cuda $operation --algo all \
      -m $(((count + 1) * 130)),$(((count + 1) * 1024)) -n 1536 -k 200,4096 --iters 3
  done
}

tests() {
  local test
  for test in driver sim suite conformance; do
    limit=1200 check 0 "$test-tests" env GPURUN_REQUIRE_GPU=1 "build/$test.test" -test.v -test.run GPU
  done
  limit=300 check 0 jit env GPURUN_REQUIRE_GPU=1 CUDA_CACHE_DISABLE=1 CUDA_MODULE_LOADING=EAGER \
    build/conformance.test -test.v -test.run CompilesEveryModule
  grep -h -A8 slowest "$results/jit.txt"
}

grids() {
  local grid
  for grid in 'HCCL|Helion|PyTorch|Epilogue|Streams|Groups' Modular NCCLTests; do
    limit=300 check 0 "grid-${grid%%|*}" env GPURUN_REQUIRE_GPU=1 GPURUN_TEST_DEVICE=cuda build/conformance.test -test.v -test.run "$grid"
  done
}

count=$(nvidia-smi -L | grep -c ^GPU)
[ "$count" -ge 1 ] || { echo "nvidia-smi lists no GPU"; exit 1; }
nvidia-smi --query-gpu=name,driver_version,uuid --format=csv,noheader | tee "$results/gpus.txt"
for part in "${@:-first sweeps memory libraries products kernels torch failures tests grids}"; do
  for name in $part; do
    case $name in
      first | sweeps | memory | libraries | products | kernels | torch | bench | failures | tests | grids) "$name" ;;
      *) echo "there is no part $name; see the top of this script"; exit 2 ;;
    esac
  done
done

if pgrep -x gpurun >/dev/null; then
  echo "processes are left behind:"
  pgrep -ax gpurun
  failures=$((failures + 1))
fi
echo "$failures failed"
[ "$failures" = 0 ]
