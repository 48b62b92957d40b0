package main

import (
	"os"
	"strings"
	"testing"
)

// works stands for a command line that is no usage error.
const works = ""

// TestHabits types what people type who come from other programs: it works, or the answer names the right word.
func TestHabits(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("train.py", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, want string }{
		// nccl-tests
		{"allreduce -b 8 -e 1K -f 2 -c 1 -n 20 -w 5 -d float -o sum --device sim", works},
		{"all_reduce_perf -b 8 -e 1K -f 2 --device sim", works},
		{"all_reduce_perf --minbytes 8 --maxbytes 1K --stepfactor 2 --check 1 --device sim", works},
		{"./build/all_reduce_perf -b 8 -e 1K", "write gpurun all_reduce_perf"},
		{"allreduce -g 2 -b 8", "unknown flag -g; --nproc-per-node sets the number of GPUs"},
		{"allreduce -t 1", "unknown flag -t; --nproc-per-node sets the number of GPUs"},
		{"allreduce -c 0 -N 2 -e 1K --device sim", works},
		{"allreduce -a 2 -b 8", "a time is that of the slowest rank"},
		{"all_gather_perf -e 1K --device sim", works},
		{"reduce_scatter_perf -e 1K --device sim", works},
		{"alltoall_perf -e 1K --device sim", works},
		{"bench allreduce -N 10", "--rounds sets the number of samples"},
		{"bench allreduce -r 10", "it has no root; --rounds sets the number of samples"},
		{"allreduce --ngpus 2", "--nproc-per-node sets the number of GPUs"},
		{"allreduce -d fp16 -e 1K --device sim", works},
		{"all_reduce_perf -z 1", "leave it out"},
		{"all_reduce_perf -a 1", "a time is that of the slowest rank"},
		{"all_reduce_perf -C 1", "gpurun bench COLLECTIVE -G 0 shows the time of the host"},
		{"all_reduce_perf -m 2", "--iters sets the number of timed calls"},
		{"all_reduce_perf -b 8 -e 1K -R 1", "--symm chooses how memory is shared"},
		{"sendrecv_perf -b 8", "gpurun doctor measures each pair of GPUs"},
		// mpirun and srun
		{"-np 4 allreduce", "write gpurun --nproc-per-node 4 allreduce"},
		{"-n 4 allreduce", "write gpurun --nproc-per-node 4 allreduce"},
		{"-N 2 allreduce", "write gpurun --nnodes 2 allreduce"},
		{"-np 4 train.py", "--nproc-per-node sets the number of processes"},
		{"-n 4 ./train.py", "--nproc-per-node sets the number of processes"},
		{"--np 2 /bin/true", works}, // short for --nproc-per-node, as torchrun has it
		{"-host a,b allreduce", "--nnodes, --node-rank and --master-addr say which one this is"},
		{"-H a,b train.py", "--nnodes, --node-rank and --master-addr say which one this is"},
		{"--hostfile hosts allreduce", "--nnodes, --node-rank and --master-addr say which one this is"},
		{"-x NCCL_DEBUG train.py", "processes inherit the environment: write NAME=VALUE gpurun COMMAND"},
		{"-x NCCL_DEBUG=INFO allreduce", "processes inherit NCCL_DEBUG: write NCCL_DEBUG=INFO gpurun allreduce"},
		{"-x NCCL_DEBUG allreduce", "processes inherit the environment: write gpurun allreduce"},
		{"--np 2 --host a,b train.py", "--nnodes, --node-rank and --master-addr say which one this is"},
		{"--np 2 --bind-to none train.py", "--numa-binding binds processes"},
		{"--bind-to none allreduce", "binding to CPUs applies to launched programs"},
		{"--report-bindings train.py", "unknown flag --report-bindings; --numa-binding binds"},
		{"--oversubscribe --np 4 train.py", "--oversubscribe applies to collectives"},
		{"-host a train.py", "unknown flag -host; gpurun is started once on each machine"},
		{"-hostfile hosts train.py", "unknown flag -hostfile; gpurun is started once on each machine"},
		{"-np 2 python train.py", "unknown flag -np; --nproc-per-node sets"},
		{"-npernode 2 train.py", "--nproc-per-node sets the number of processes"},
		{"-mca btl tcp train.py", "gpurun needs no MPI"},
		{"--map-by ppr:2:node train.py", "--nproc-per-node sets the number of processes"},
		{"--bind-to core train.py", "--numa-binding binds processes"},
		{"--bind-to core allreduce", "binding to CPUs applies to launched programs"},
		{"--allow-run-as-root train.py", "gpurun runs as any user"},
		{"--tag-output train.py", "each line of a process has its rank in front"},
		{"-genv NCCL_DEBUG INFO train.py", "unknown flag -genv; processes inherit the environment"},
		{"--ntasks-per-node=2 train.py", "--nproc-per-node sets the number of processes"},
		{"--gres=gpu:2 train.py", "--nproc-per-node sets the number of GPUs"},
		{"-N 2 train.py", "--nnodes sets the number of machines"},
		{"-p gpu train.py", "write it behind srun, in front of gpurun"},
		{"--nodelist=a train.py", "write it behind srun, in front of gpurun"},
		{"-o out.log train.py", "--log-dir keeps what each process prints"},
		// horovodrun and deepspeed
		{"-np 2 -H localhost:2 train.py", "--nproc-per-node sets the number of processes"},
		{"--min-np 2 train.py", "--nnodes MIN:MAX sets the machines of an elastic job"},
		{"--start-timeout 30 train.py", "--join-timeout sets how long a node waits"},
		{"--timeline-filename t.json train.py", "HOROVOD_TIMELINE"},
		{"--network-interface eth0 train.py", "NCCL_SOCKET_IFNAME"},
		{"--check-build", "gpurun version says"},
		{"--num_gpus=2 train.py", "--nproc-per-node sets the number of GPUs"},
		{"--num_nodes 2 train.py", "--nnodes sets the number of machines"},
		{"--include localhost:0 train.py", "CUDA_VISIBLE_DEVICES selects GPUs"},
		{"--deepspeed train.py", "write it behind SCRIPT.py"},
		// ncu and nsys
		{"--set full train.py", "write it behind ncu or nsys, in front of gpurun"},
		{"--target-processes all allreduce", "write it behind ncu or nsys, in front of gpurun"},
		{"-k regex:sum train.py", "write it behind ncu or nsys, in front of gpurun"},
		{"profile train.py", "write nsys profile gpurun COLLECTIVE"},
		// torchrun
		{"--nproc_per_node=2 --device=sim allreduce -e 1K", works},
		{"--nproc-per-node auto --standalone /bin/true", works},
		{"--nnodes=1 --nproc_per_node 2 --max_restarts 1 /bin/true", works},
		{"--nnodes=1:2 --rdzv-backend=c10d /bin/true", "set --rdzv-endpoint host:port, where the nodes meet"},
		{"--nnodes=1:2 --rdzv_backend=c10d --rdzv_endpoint=localhost:0 true", "port 0 is another one on every node"},
		{"--use_env --nproc_per_node 2 train.py", "gpurun always sets LOCAL_RANK"},
		{"--nproc 2 allreduce", "did you mean --nproc-per-node?"},
		// docker run and kubectl
		{"run allreduce", "write gpurun COLLECTIVE, such as gpurun allreduce"},
		{"run --rm --gpus all image allreduce", "write gpurun COLLECTIVE, such as gpurun allreduce"},
		{"--shm-size=1g allreduce", "write it behind docker run, in front of the image"},
		{"describe pod allreduce-0", "gpurun list NAME describes"},
		{"logs -f allreduce-0", "gpurun dump PID"},
		{"--gpus all allreduce", "--nproc-per-node sets the number of GPUs"},
		{"-it allreduce", "gpurun starts no containers"},
		{"--rm allreduce", "gpurun starts no containers"},
		{"-e NCCL_DEBUG=INFO allreduce", "processes inherit the environment: write NCCL_DEBUG=INFO gpurun allreduce"},
		{"get collectives", "gpurun list shows collectives and algorithms"},
		{"describe allreduce", "gpurun list NAME describes"},
		{"list -o json", "--json writes JSON"},
		{"list --output=json", works},
		{"list --output=wide", `unknown output format "wide" (valid: table, json)`},
		{"logs 4711", "gpurun dump PID"},
		{"apply -f job.yaml", "kubectl is for that"},
		{"version -o json", "--json writes JSON"},
		{"api-resources", "gpurun --help shows all"},
		{"--network host train.py", "write it behind docker run, in front of the image"},
		{"--name trial train.py", "write it behind docker run, in front of the image"},
		// hyperfine
		{"bench allreduce -m 5", "--rounds sets the number of samples"},
		{"bench allreduce -L size 1,2", "--algo and --datatype take lists"},
		{"bench allreduce --prepare sync", "nothing runs between timed calls"},
		{"bench allreduce --style full", "--color sets when verdicts have colors"},
		{"bench allreduce --show-output", "--log-level debug says more"},
		{"bench allreduce --warmup 3", "--warmup-iters sets the number of calls before the timed ones"},
		{"bench --warmup 3 --export-json f.json allreduce", "--warmup-iters sets the number of calls before the timed ones"},
		{"bench allreduce --time-unit millisecond", "times are in microseconds"},
		{"bench allreduce --reference oneshot", "--against sets the algorithm"},
		{"bench allreduce --sort mean-time", "gpurun report makes a page"},
		{"bench allreduce --ignore-failure", "gpurun calls kernels and no commands"},
		{"bench allreduce --runs 10", "--rounds sets the number of samples"},
		{"bench allreduce --export-json f.json", "--output-file FILE writes the results as JSON"},
		{"allreduce --runs 10", "--iters sets the number of timed calls"},
		{"check --export-json f.json", "--json FILE writes the results as JSON"},
		{"bench allreduce --export-markdown f.md", "--output markdown"},
		// pytest
		{"check -k allreduce", "a word says what is checked, such as gpurun check allreduce"},
		{"smoke -k allreduce", "a word says what runs"},
		{"smoke -v", "--log-level debug says more"},
		{"smoke -x", "a command shows all failures before it ends"},
		{"check --junitxml=f.xml", "--junit FILE writes the results as JUnit XML"},
		// ruff
		{"check --fix", "gpurun changes no kernel"},
		{"check .", "name a collective, a product or a kernel file"},
		{"check --output-format sarif", "--sarif, --junit and --json name files for the findings"},
		// git and others
		{"help bench", works},
		{"bench --help", works},
		{"bench -h", works},
		{"--version", works},
		{"version", works},
		{"-V", "--version prints the version"},
		{"bench allreduce -q", "--log-level error says less"},
		{"benchmark allreduce", `gpurun bench measures`},
		{"allreduce --sizess 1K", "--minbytes and --maxbytes set the sizes"},
		{"allreduce 1M", "--minbytes and --maxbytes set the sizes"},
		{"allreduce float", "--datatype sets the element types"},
		{"allreduce oneshot", "--algo chooses algorithms"},
		{"bench oneshot", "write gpurun bench allreduce --algo oneshot"},
		{"bench oneshot.toml", "write gpurun bench COLLECTIVE --algo oneshot.toml"},
		{"check oneshot", "write gpurun check allreduce --algo oneshot"},
		{"allreduce --device gpu", `did you mean "cuda"?`},
		{"allreduce -d fp8", `did you mean "f8e4m3" or "f8e5m2"?`},
		{"oneshot", "write gpurun allreduce --algo oneshot"},
		{"./oneshot.toml", "gpurun kernel ./oneshot.toml runs a kernel file"},
		{"kernel oneshot.ptx", "gpurun kernel init oneshot.ptx drafts a kernel file"},
		{"kernel oneshot.cu", "compile it to PTX first"},
		{"allreduce --algo oneshot.cu", "compile it to PTX first"},
		{"race-1.json", "gpurun check --replay race-1.json runs a schedule again"},
		{"allredcue", `did you mean "allreduce"?`},
		{"list --jsn", "did you mean --json?"},
	} {
		text := usageOf(strings.Fields(c.line)...)
		if !strings.Contains(text, c.want) || (c.want == works) != (text == "") {
			t.Errorf("gpurun %s: %q, want %q", c.line, text, c.want)
		}
	}
}
