#!/usr/bin/env bash
# Runs gpurun under a real Slurm of two nodes, on this machine.
#
#   scripts/slurm-test.sh                # all checks
#   scripts/slurm-test.sh COMMAND...     # a command instead, such as bash, with gpurun in PATH
#
# It wants root on Debian, with Go; Slurm is installed if need be. The nodes n1 and n2
# are network namespaces with host names of their own, each with Debian's slurmd, and
# "processors" enough for 4 tasks; ctl has slurmctld. All of it runs in namespaces
# of this script and in a temporary folder: nothing outside is touched, and nothing is
# left when it ends. The exit status is 0 when everything held.
set -euo pipefail

outside() {
  local missing=()
  command -v slurmctld >/dev/null || missing+=(slurmctld)
  command -v slurmd >/dev/null || missing+=(slurmd)
  command -v srun >/dev/null || missing+=(slurm-client)
  command -v munged >/dev/null || missing+=(munge)
  command -v ip >/dev/null || missing+=(iproute2)
  if [ ${#missing[@]} -gt 0 ]; then
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
  fi
  folder=$(mktemp -d)
  inside=
  trap '{ [ -z "$inside" ] || kill -KILL "$inside"; } 2>/dev/null || true; rm -rf "$folder" || { sleep 1 && rm -rf "$folder"; }' EXIT
  trap 'exit 1' INT TERM HUP
  cp "$(dirname "$0")/slurm-health.sh" "$folder"
  (cd "$(dirname "$0")/.." && CGO_ENABLED=0 go build -o "$folder/bin/gpurun" ./cmd/gpurun)
  # When the first process in it ends, the kernel kills all others of a PID namespace.
  unshare --mount --net --uts --ipc --pid --fork --kill-child --mount-proc \
    bash "$(realpath "$0")" --inside "$folder" "$@" <&0 &
  inside=$!
  wait "$inside"
}

# network connects ctl, n1 and n2, and gives them names.
network() {
  mount -t tmpfs none /run # for namespaces and sockets
  ip link set lo up
  ip link add br0 type bridge
  ip addr add 192.0.2.254/24 dev br0
  ip link set br0 up
  printf '%s\n' '127.0.0.1 localhost' '192.0.2.254 ctl' '192.0.2.1 n1' '192.0.2.2 n2' >hosts
  mount --bind hosts /etc/hosts
  hostname ctl
  local i
  for i in 1 2; do
    ip netns add n$i
    ip link add n$i type veth peer name eth0 netns n$i
    ip link set n$i master br0 up
    ip -n n$i addr add 192.0.2.$i/24 dev eth0
    ip -n n$i link set eth0 up
    ip -n n$i link set lo up
  done
}

# slurm starts the daemons and waits for the nodes.
slurm() {
  cat >slurm.conf <<CONF
ClusterName=test
SlurmctldHost=ctl(192.0.2.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=$PWD/state
SlurmdSpoolDir=$PWD/spool/%n
SlurmctldPidFile=$PWD/slurmctld.pid
SlurmdPidFile=$PWD/slurmd.%n.pid
SlurmctldLogFile=$PWD/slurmctld.log
SlurmdLogFile=$PWD/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
HealthCheckProgram=$PWD/health.sh
HealthCheckInterval=1
HealthCheckNodeState=ANY
Prolog=$PWD/health.sh
PrologFlags=Alloc
NodeName=n[1-2] CPUs=4
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
  # Until there is a file for the node and the context, no check runs.
  cat >health.sh <<SH
#!/bin/sh
context=\${SLURM_SCRIPT_CONTEXT:-health}
settings=$PWD/check.\$context.\$SLURMD_NODENAME
test -e "\$settings" || exit 0
export PATH=$PATH SLURM_CONF=$PWD/slurm.conf
. "\$settings"
$PWD/slurm-health.sh >>$PWD/health.\$context.\$SLURMD_NODENAME.log 2>&1
code=\$?
echo "exits \$code" >>$PWD/health.\$context.\$SLURMD_NODENAME.log
exit \$code
SH
  chmod +x health.sh
  export SLURM_CONF=$PWD/slurm.conf
  mkdir -p state spool /run/munge
  (umask 077 && head -c 1024 /dev/urandom >munge.key)
  munged --foreground --force --key-file="$PWD/munge.key" --seed-file="$PWD/munge.seed" --log-file="$PWD/munged.log" \
    --pid-file=/run/munge/munged.pid --socket=/run/munge/munge.socket.2 >munged.out 2>&1 &
  slurmctld -D -c >slurmctld.out 2>&1 &
  local i
  for i in 1 2; do
    unshare --uts sh -c "hostname n$i && exec nsenter --net=/run/netns/n$i slurmd -D" >slurmd.$i.out 2>&1 &
  done
  for i in $(seq 300); do
    [ "$(sinfo --noheader --states=idle --format=%D 2>/dev/null)" != 2 ] || return 0
    sleep 0.1
  done
  tail -n 20 ./*.out ./*.log
  echo "Slurm did not come up"
  return 1
}

failures=0

# check NAME CODE COUNT PATTERN COMMAND...: runs COMMAND within a minute. It must exit with
# CODE, and print COUNT lines that match PATTERN. Its output is kept in NAME.txt.
check() {
  local name=$1 want=$2 count=$3 pattern=$4 began=${EPOCHREALTIME/./} got=0 lines
  shift 4
  timeout -k 5 60 "$@" >"$name.txt" 2>&1 || got=$?
  lines=$(grep -cE -- "$pattern" "$name.txt" || true)
  printf '%-28s exit %-3s (want %s) %3d lines (want %s) %6d ms\n' "$name" "$got" "$want" "$lines" "$count" $(((${EPOCHREALTIME/./} - began) / 1000))
  [ "$got $lines" = "$want $count" ] || { failures=$((failures + 1)); cat "$name.txt"; }
}

# over waits for the end of all jobs.
over() {
  local i
  for i in $(seq 300); do
    [ -n "$(squeue --noheader)" ] || return 0
    sleep 0.1
  done
  squeue
  return 1
}

# gone reports whether no gpurun is left within five seconds.
gone() {
  local i
  for i in $(seq 50); do
    grep -qsx gpurun /proc/[0-9]*/comm || return 0
    sleep 0.1
  done
  grep -sx gpurun /proc/[0-9]*/comm
  return 1
}

programs() {
  cat >ranks.sh <<'SH'
echo "rank $RANK of $WORLD_SIZE: $LOCAL_RANK of $LOCAL_WORLD_SIZE on node $GROUP_RANK of $GROUP_WORLD_SIZE, $(hostname), master $MASTER_ADDR, ${GPURUN_RDZV_TOKEN-no secret}"
SH
  cat >again.sh <<'SH'
echo "rank $RANK begins attempt $TORCHELASTIC_RESTART_COUNT"
[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] || exit 0
[ "$RANK" = 0 ] || exit 7
exec sleep 60
SH
  cat >train.py <<'PY'
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.tensor([dist.get_rank() + 1])
dist.all_reduce(total)
print(f"rank {dist.get_rank()} of {dist.get_world_size()} sums {total.item()}", flush=True)
dist.barrier()
PY
  cat >job.sh <<'SH'
#!/bin/sh
#SBATCH --nodes=2 --ntasks-per-node=1
export GPURUN_RDZV_TOKEN=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
srun gpurun --nproc-per-node 2 -- sh ranks.sh
gpurun true
SH
}

checks() {
  programs
  local each="srun --nodes=2 --ntasks-per-node=1" tasks="srun --nodes=2 --ntasks=5"
  check no-secret 2 2 'nodes that meet at n1 need a shared secret: put "export GPURUN_RDZV_TOKEN=' $each gpurun true
  check job 0 0 . bash -c 'sbatch --quiet --output=job.out job.sh && over'
  check job-ranks-n1 0 2 '^(\[rank .\] )?rank [01] of 4: [01] of 2 on node 0 of 2, n1, master 192.0.2.1, no secret$' cat job.out
  check job-ranks-n2 0 2 '^(\[rank .\] )?rank [23] of 4: [01] of 2 on node 1 of 2, n2, master 192.0.2.1, no secret$' cat job.out
  check job-outside-srun 0 1 "the Slurm job has 2 nodes, but srun did not start gpurun" cat job.out

  export GPURUN_RDZV_TOKEN=0123456789abcdef0123456789abcdef
  check tasks 0 4 '^rank ([0-3]) of 5: \1 of 4 on node 0 of 2, n1, master 192.0.2.1' $tasks gpurun -- sh ranks.sh
  check tasks-last 0 1 '^rank 4 of 5: 0 of 1 on node 1 of 2, n2, master 192.0.2.1' cat tasks.txt
  check tasks-cyclic 0 1 '^rank 1 of 3: 0 of 1 on node 1 of 2, n2' srun -n3 -N2 -m cyclic gpurun -- sh ranks.sh
  check tasks-one-node 0 3 '^rank ([0-2]) of 3: \1 of 3 on node 0 of 1, n[12], master 127.0.0.1' srun -N1 -n3 gpurun -- sh ranks.sh
  check flags-win 0 5 '^rank 0 of 1: 0 of 1 on node 0 of 1' $tasks gpurun --nnodes 1 -- sh ranks.sh
  check failure 7 1 'rank +: 3 \(local_rank: 3\)' $tasks gpurun -- sh -c 'test $RANK != 3 || exit 7; sleep 60'
  check restart 0 2 '^rank [01] begins attempt 1$' $each gpurun --max-restarts 1 -- sh again.sh
  check elastic 0 2 '^rank [01] of 2: 0 of 1 on node [01] of 2, n[12], master 192.0.2.[12]' $each gpurun --nnodes 1:2 --rdzv-backend c10d -- sh ranks.sh
  check another-secret 6 1 'wrong token for this job: give all nodes the same' $each sh -c 'GPURUN_RDZV_TOKEN=$GPURUN_RDZV_TOKEN$SLURM_NODEID exec gpurun --rdzv-conf join_timeout=5 true'

  check collective 0 1 'Out of bounds values : 0 OK' srun -N1 -n1 gpurun --device sim --nproc-per-node 2 allreduce -e 4K
  check collective-nodes 3 2 '^gpurun: node 0 \(n1\) cannot take part: jobs across machines need NCCL' $each gpurun --device sim allreduce
  check collective-tasks 3 5 '^gpurun: node 0 \(n1\) cannot take part: ranks that srun starts one by one need NCCL' $tasks gpurun --device sim allreduce
  if /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null; then
    export PYTHON_EXEC=/usr/bin/python3
    check torch 0 4 'rank [0-3] of 4 sums 10$' $each gpurun --nproc-per-node 2 train.py
    check torch-tasks 0 3 'rank [0-2] of 3 sums 6$' srun -N2 -n3 gpurun train.py
  fi
  check canceled 0 0 . bash -c canceled
  health_checks
  check nothing-left 0 0 . bash -c gone
}

# health_checks tries slurm-health.sh as HealthCheckProgram and as prolog, with the real gpurun and with stand-ins.
health_checks() {
  cat >fake.sh <<'SH'
#!/bin/sh
echo "OK    driver  580"
echo "FAIL  ecc     2 memory errors were not corrected"
exit 3
SH
  printf '#!/bin/sh\nexec sleep 600\n' >slow.sh
  printf '#!/bin/sh\necho unknown flag\nexit 2\n' >usage.sh
  chmod +x fake.sh slow.sh usage.sh
  local fine="export GPURUN=$PWD/bin/gpurun" fake="export GPURUN=$PWD/fake.sh" usage="export GPURUN=$PWD/usage.sh"
  local slow="export GPURUN=$PWD/slow.sh GPURUN_CHECK_TIMEOUT=1"

  printf '#!/bin/bash\n"$@"\n' >call.sh # timeout does not find functions
  local call="bash call.sh"
  # As HealthCheckProgram.
  check health-fit 0 0 drain $call tried health n1 "$fine"
  check health-no-gpu 0 1 'gpurun doctor: FAIL driver there is no NVIDIA driver' $call tried health n1 "$fine GPURUN_REQUIRE_GPU=1"
  check health-unfit 0 1 'gpurun doctor: FAIL ecc 2 memory errors were not corrected *$' $call tried health n1 "$fake"
  check health-late 0 0 '^drained' $call tried health n1 "$slow"
  check health-late-log 0 1 'n1 is not drained: gpurun doctor did not end within 1 s: a time-out, not a finding' tail -n 2 health.health.n1.log
  check health-late-drained 0 1 'drained: gpurun doctor did not end within 1 s: a time-out' $call tried health n1 "$slow GPURUN_DRAIN_ON_TIMEOUT=1"
  check health-usage 0 0 '^drained' $call tried health n1 "$usage"
  check health-missing 0 0 '^drained' $call tried health n1 "export GPURUN=/nonexistent"

  # As a prolog, before jobs on n2.
  check prolog-fit 0 1 '^n2$' $call prologue "$fine" srun --nodelist=n2 hostname
  check prolog-late 0 1 '^n2$' $call prologue "$slow" srun --nodelist=n2 hostname
  check prolog-unfit 0 1 '^drained: gpurun doctor: FAIL ecc 2 memory errors were not corrected *$' $call prologue "$fake" kept_away
}

# tried NAME NODE SETTINGS: lets the check run once in its context, and prints the reason if the node is drained.
tried() {
  local log=health.$1.$2.log i
  rm -f "$log"
  echo "$3" >"check.$1.$2"
  for i in $(seq 100); do
    ! grep -qs '^exits ' "$log" || break
    sleep 0.1
  done
  rm "check.$1.$2"
  while pgrep -f health.sh >/dev/null; do sleep 0.1; done # another may have begun
  grep -q '^exits ' "$log" || { echo "the check did not run"; return 1; }
  reason "$2"
}

# prologue SETTINGS COMMAND...: runs a command while n2 checks itself before jobs.
prologue() {
  local code=0
  echo "$1" >check.prolog_slurmd.n2
  shift
  "$@" || code=$?
  rm check.prolog_slurmd.n2
  return "$code"
}

# kept_away submits a job for n2, which must not run, and prints why n2 is drained.
kept_away() {
  local i
  printf '#!/bin/sh\ntouch has-run\n' >away.sh
  sbatch --quiet --nodelist=n2 --requeue --output=away.out away.sh
  for i in $(seq 300); do
    ! scontrol --oneliner show node n2 | grep -q DRAIN || break
    sleep 0.1
  done
  scancel --name=away.sh
  over
  [ ! -e has-run ] || { echo "the job has run"; return 1; }
  reason n2
}

# reason NODE: prints why a node is drained, if it is, and lets jobs run there again.
reason() {
  local why
  sleep 0.3
  why=$(scontrol --oneliner show node "$1" | sed -nE 's/.*State=[A-Z+_]*DRAIN.* Reason=(.*) \[.*/\1/p')
  [ -n "$why" ] || return 0
  echo "drained: $why"
  scontrol update NodeName="$1" State=RESUME
  scontrol reconfigure # else the node counts as not responding for minutes, and is not checked
  sleep 1
}

# canceled cancels a job whose processes run, and waits for it.
canceled() {
  local i
  printf '#!/bin/sh\nsrun --ntasks-per-node=2 gpurun -- sh -c "touch running.\\$RANK; exec sleep 600"\n' >cancel.sh
  sbatch --quiet --nodes=2 --ntasks=4 --output=cancel.out cancel.sh
  for i in $(seq 300); do
    [ ! -e running.0 ] || [ ! -e running.3 ] || break
    sleep 0.1
  done
  scancel --name=cancel.sh
  [ -e running.3 ] || { cat cancel.out && return 1; }
  over
}

export -f canceled over gone tried reason prologue kept_away # check runs them in a shell of their own

if [ "${1-}" != --inside ]; then
  outside "$@"
  exit
fi
cd "$2"
shift 2
PATH=$PWD/bin:$PATH
network
slurm
if [ $# -gt 0 ]; then
  exec "$@"
fi
checks
echo "$failures failed"
[ "$failures" = 0 ]
