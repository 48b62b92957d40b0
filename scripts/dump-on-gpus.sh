#!/bin/bash
# Shows on a GPU machine what gpurun says about PyTorch jobs over NCCL that hang or fail:
#
#     dump-on-gpus.sh [GPURUN [PART...]]
#
# The parts are sleeps, leaves-out, shape, dies, asked, times (of the recorder's dumps) and start; without any all run.
# One run for each of: a rank sleeps, a rank leaves the collective out, a rank calls it with another shape, a rank dies.
# Every run prints the page, the exit code, and how long the end took after the hang was noticed. It takes the GPUs that
# there are. With one GPU, the collectives have one rank: the pages have its stack, its recorder and its GPU. The pages
# and their JSON stay in a folder, which is printed.
# It needs: python3 with PyTorch for CUDA (or PYTHON_EXEC).
set -u
gpurun=${1:-gpurun}
parts=${*:2}
wanted() { test -z "$parts" || [[ " $parts " == *" $1 "* ]]; }
gpus=$(nvidia-smi -L | wc -l)
test "$gpus" -gt 0 || { echo "no GPU" >&2; exit 3; }
folder=${OUT:-$(mktemp -d)}/dumps
mkdir -p "$folder"
python=${PYTHON_EXEC:-python3}
"$python" -c 'import torch; print("PyTorch", torch.__version__, "NCCL", torch.cuda.nccl.version())' || exit 3

cat >"$folder/train.py" <<'PYTHON'
import os, sys, time
import torch
import torch.distributed as dist

case, culprit = sys.argv[1], int(os.environ["WORLD_SIZE"]) - 1
rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
x = torch.ones(1 << 20, device="cuda")


def step(n):
    mine = x
    if n == 5 and rank == culprit:
        if case == "sleeps":
            time.sleep(600)
        if case == "dies":
            os._exit(9)
        if case == "leaves-out":
            return
        if case == "shape":
            mine = x[: 1 << 10]
    dist.all_reduce(mine)
    torch.cuda.synchronize()


for n in range(10):
    step(n)
    print("step", n, "of rank", rank, flush=True)
if case == "leaves-out" and rank == culprit:  # the last collective of the others has no partner
    time.sleep(600)
if case == "asked":
    time.sleep(15)
PYTHON

run() {
	local case=$1 began=$SECONDS
	shift
	wanted "$case" || return 0
	echo "=== $case, $gpus GPUs"
	PYTHON_EXEC=$python "$gpurun" --nproc-per-node "$gpus" --hang-timeout 10 --grace 5 --log-dir "$folder/$case" "$@" \
		"$folder/train.py" "$case" >"$folder/$case.out" 2>"$folder/$case.err"
	echo "exit code $?, after $((SECONDS - began)) s"
	cat "$folder/$case.err"
}

run sleeps
run leaves-out
run shape
run dies

asked() {
	echo "=== asked while it runs, $gpus GPUs"
	PYTHON_EXEC=$python "$gpurun" --nproc-per-node "$gpus" "$folder/train.py" asked \
		>"$folder/asked.out" 2>"$folder/asked.err" &
	local job=$!
	until grep -qs 'step 9' "$folder/asked.out"; do
		kill -0 $job 2>/dev/null || break
		sleep 0.2
	done
	time "$gpurun" dump $job
	wait $job
	echo "exit code $?"
}
if wanted asked; then asked; fi

if wanted times; then
	echo "=== the recorder's dumps, by setting"
	"$python" "$(dirname "$0")/flight-times.py"
fi

times_of() { for _ in $(seq 20); do "$@"; done; }
if wanted start; then
	echo "=== what a script's start costs, in CPU seconds of 20 starts"
	time times_of "$python" -c pass
	time times_of "$gpurun" --nproc-per-node 1 -- "$python" -c pass
fi
echo "pages, JSON and recorders are in $folder"
