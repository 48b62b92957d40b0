#!/usr/bin/env bash
# Takes a node out of Slurm when gpurun finds its GPUs unfit. In slurm.conf, with one or both of
#
#   HealthCheckProgram=/path/to/slurm-health.sh HealthCheckInterval=300 HealthCheckNodeState=IDLE
#   Prolog=/path/to/slurm-health.sh
#
# the node is drained with the reason, such as "gpurun doctor: FAIL ecc 2 memory errors were not
# corrected". As a prolog, the script then fails, and Slurm runs the job elsewhere.
#
# A check that does not end in time has found nothing: the node is not drained, and the script
# says so, here and in the system's log. With GPURUN_DRAIN_ON_TIMEOUT=1 it is drained, and the
# reason says that it was a time-out. Wrong usage, or a gpurun that cannot run, drains no node.
#
# Slurm passes no variables on. To change one, name a script of your own in slurm.conf that ends in
# exec env GPURUN_CHECK=smoke /path/to/slurm-health.sh
set -uo pipefail

gpurun=${GPURUN:-gpurun}               # the program
check=${GPURUN_CHECK:-doctor}          # doctor or smoke
limit=${GPURUN_CHECK_TIMEOUT:-50}      # seconds; Slurm kills a health check after 60
node=${SLURMD_NODENAME:-$(hostname -s)}
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH

# say TEXT: to the log of slurmd, which reads stdout, and to the system's, if there is one.
say() {
  echo "slurm-health.sh: $1"
  logger --tag slurm-health.sh -- "$1" 2>/dev/null || true
}

# drain REASON: and fail, so that no job begins here.
drain() {
  local reason
  reason=$(tr -cs '[:print:]' ' ' <<<"$1" | tr -s ' ' | cut -c 1-200)
  say "$node is drained: $reason"
  scontrol update NodeName="$node" State=DRAIN Reason="$reason" || say "$node could not be drained"
  exit 1
}

# A node whose configuration has GPUs must have them.
flags=()
if [ "${GPURUN_REQUIRE_GPU:-}" = 1 ] || scontrol --oneliner show node "$node" 2>/dev/null | grep -q ' Gres=[^ ]*gpu'; then
  flags+=(--require-gpu)
fi

# run runs the check. Settings of a job, in the environment of a prolog, are none of the check's.
run() (
  unset $(compgen -v | grep -E '^(SLURM_|PET_|CUDA_VISIBLE_DEVICES$|RANK$|WORLD_SIZE$)') 2>/dev/null
  exec timeout --kill-after=5 "$limit" "$gpurun" "${flags[@]}" "$check" 2>&1
)

output=$(run)
code=$?
finding=$(grep -m 1 '^FAIL' <<<"$output" || tail -n 1 <<<"$output")

case $code in
  0) exit 0 ;;
  124 | 137)
    text="gpurun $check did not end within $limit s: a time-out, not a finding"
    [ "${GPURUN_DRAIN_ON_TIMEOUT:-}" != 1 ] || drain "$text"
    say "$node is not drained: $text"
    exit 0
    ;;
  4) drain "gpurun $check: a time-out of a rank or a kernel: $finding" ;;
  1 | 3 | 5 | 6 | 99 | 220) drain "gpurun $check: $finding" ;;
  *)
    say "$node is not drained: gpurun $check exited with code $code: $finding"
    exit 0
    ;;
esac
