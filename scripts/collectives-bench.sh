#!/usr/bin/env bash
# Times collectives by gpurun, by NCCL in the same process, by PyTorch's NCCL process
# group and by its symmetric memory, on one machine with GPUs.
#
#   scripts/build-for-gpus.sh            # where Go is
#   scripts/collectives-bench.sh         # on the GPU machine
#
# gpurun and PyTorch take turns, $TURNS times, because clocks fall as GPUs get warm; within
# a turn algorithms take turns too. On 2 H200s a turn takes about two minutes for each mode, a
# third of it in the starts of processes; TURNS=1 MODES=graph is the shortest that has all rows.
#
#   GPUS         how many to use; all by default
#   TURNS        3 by default
#   MODES        "graph stream" by default: replayed from a CUDA graph, and launched
#   COLLECTIVES  all nine by default: "allreduce allgather reducescatter alltoall broadcast reduce gather scatter barrier"
#   SIZES        FIRST,LAST,FACTOR of what is timed by 20 calls: 1K,64M,4 by default
#   LARGE        the same for 4 calls and 7 rounds, which gpurun does not verify: 256M,512M,2 by default
#   ROUNDS       of each algorithm in a turn: 15 by default
#   TYPES        of allreduce beside bfloat16: "float half" by default, at the sizes $FEW: 64K,256M,64
#   HIDDEN       elements of rows that an allreduce of 1 to 512 of them normalizes: "4096 8192" by default
#   ALGOS        of gpurun: auto,all by default
#   CHECK        1: gpurun verifies in the first turn, as by default; 0: never. PyTorch is always checked.
#   PYTHON       one that has PyTorch 2.11: python3 by default
#   DEVICE       cuda; sim, with NCCL= and GPUS, tries this script without GPUs
#   NCCL         nccl; empty leaves it out of gpurun's processes
#   LIMIT        seconds that a process may take: 200 by default
#
# TYPES, LARGE and HIDDEN may be empty. Output goes to $RESULTS, build/collectives by default: JSON of
# every process, baseline.json with the medians of all turns, table.md, which is printed, and
# plot.svg. Variables such as NCCL_NVLS_ENABLE stay as they are. The exit status is 0 when
# everything ran and was right.
set -uo pipefail
cd "$(dirname "$0")/.."
results=${RESULTS:-build/collectives}
device=${DEVICE:-cuda}
gpus=${GPUS:-$(nvidia-smi --list-gpus | wc -l)}
modes=${MODES:-graph stream}
collectives=${COLLECTIVES:-allreduce allgather reducescatter alltoall broadcast reduce gather scatter barrier}
sizes=${SIZES:-1K,64M,4}
large=${LARGE-256M,512M,2}
few=${FEW:-64K,256M,64}
types=${TYPES-float half}
hidden=${HIDDEN-4096 8192}
rounds=${ROUNDS:-15}
algos=${ALGOS:-auto,all}
nccl=${NCCL-nccl}
python=${PYTHON:-python3}
gpurun="build/gpurun --nproc-per-node $gpus"
failures=0
mkdir -p "$results"
rm -f "$results"/{gpurun,torch}-*.{json,log,rows}
# What runs ends with this script. It is a group of processes, because a timeout that is told to
# end just after it forked leaves its command behind.
trap 'for job in $(jobs -pr); do kill -- "-$job" "$job"; done 2>/dev/null; exit 143' TERM INT

# try NAME COMMAND...: runs COMMAND within the limit, with NAME.json in $results as its
# standard output and NAME.log as its standard error. It counts as failed when it fails.
try() {
  local name=$1 status began=${EPOCHREALTIME/./}
  shift
  timeout -k 5 "${LIMIT:-200}" "$@" >"$results/$name.json" 2>"$results/$name.log" &
  wait $!
  status=$?
  printf '%-45s exit %-3s %6d ms\n' "$name" $status $(((${EPOCHREALTIME/./} - began) / 1000)) >&2
  [ $status = 0 ] && return
  tail -n 5 "$results/$name.log" >&2
  failures=$((failures + 1))
}

# bench NAME MODE ROUNDS COLLECTIVE FLAG...: what gpurun does.
bench() {
  local name=$1 mode=$2 rounds=$3 graph=1
  shift 3
  [ "$mode" = graph ] || graph=0
  try "gpurun-$name-$mode-$turn" $gpurun --device "$device" bench "$@" -G $graph --rounds "$rounds" --output json
}

# span FIRST,LAST,FACTOR: the flags for it.
span() { IFS=, read -r first last factor <<<"$1" && echo "-b $first -e $last -f $factor"; }

# normalized HIDDEN: 1 to 512 rows of 2-byte elements, as FIRST,LAST,FACTOR.
normalized() { echo "$(($1 * 2)),$(($1 * 1024)),2"; }

ours() {
  local mode collective type row check=0
  [ "$turn" = 1 ] && check=${CHECK:-1}
  for mode in $modes; do
    for collective in $collectives; do
      if [ "$collective" = barrier ]; then
        bench barrier "$mode" "$rounds" barrier --algo "$algos"
        continue
      fi
      bench "$collective" "$mode" "$rounds" "$collective" -d bfloat16 --algo "$algos${nccl:+,$nccl}" $(span "$sizes") -c "$check"
      [ -z "$large" ] || bench "$collective-large" "$mode" 7 "$collective" -d bfloat16 --algo "$algos${nccl:+,$nccl}" $(span "$large") -n 4 -c 0
    done
    case " $collectives " in *" allreduce "*) ;; *) continue ;; esac
    for type in $types; do
      bench "allreduce-$type" "$mode" 7 allreduce -d "$type" --algo "$algos${nccl:+,$nccl}" $(span "$few") -c 0
    done
    for row in $hidden; do
      bench "allreduce-rmsnorm-$row" "$mode" "$rounds" allreduce -d bfloat16 --algo "$algos" --epilogue rmsnorm --hidden "$row" \
        $(span "$(normalized "$row")") -c "$check"
    done
  done
}

# theirs: what PyTorch does, all in one process of each rank.
theirs() {
  local jobs row moving
  moving=$(tr ' ' '\n' <<<"$collectives" | grep -vx barrier | paste -sd,)
  jobs=("${collectives// /,}/bfloat16/$sizes/20/$rounds")
  [ -z "$large" ] || [ -z "$moving" ] || jobs+=("$moving/bfloat16/$large/4/7")
  case " $collectives " in
    *" allreduce "*)
      [ -z "$types" ] || jobs+=("allreduce/${types// /,}/$few/20/7")
      for row in $hidden; do jobs+=("allreduce/bfloat16/$(normalized "$row")/20/$rounds/$row"); done
      ;;
  esac
  try "torch-$turn" $gpurun -- "$python" scripts/collectives-peers.py --out "$results/torch-$turn.rows" --modes "${modes// /,}" "${jobs[@]}"
  # What there was before it failed counts too.
  [ ! -s "$results/torch-$turn.rows" ] || mv "$results/torch-$turn.rows" "$results/torch-$turn.json"
}

for turn in $(seq "${TURNS:-3}"); do
  ours
  theirs
done
find "$results" -name '*.json' -empty -delete
"$python" scripts/collectives-merge.py --out "$results/baseline.json" "$results"/{gpurun,torch}-*.json &&
  "$python" scripts/collectives-table.py "$results/baseline.json" | tee "$results/table.md" || failures=$((failures + 1))
if [ "$collectives" != barrier ]; then
  "$python" scripts/collectives-plot.py "$results/baseline.json" "${modes%% *}" >"$results/plot.svg" || failures=$((failures + 1))
fi
[ "$failures" = 0 ]
