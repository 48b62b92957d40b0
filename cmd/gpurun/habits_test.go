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
		{"allreduce --ngpus 2", "--nproc-per-node sets the number of GPUs"},
		{"allreduce -d fp16 -e 1K --device sim", works},
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
		// torchrun
		{"--nproc_per_node=2 --device=sim allreduce -e 1K", works},
		{"--nproc-per-node auto --standalone /bin/true", works},
		{"--nnodes=1 --nproc_per_node 2 --max_restarts 1 /bin/true", works},
		{"--nproc 2 allreduce", "did you mean --nproc-per-node?"},
		// docker run and kubectl
		{"run allreduce", "write gpurun COLLECTIVE, such as gpurun allreduce"},
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
		// hyperfine
		{"bench allreduce --warmup 3", "--warmup-iters sets the number of calls before the timed ones"},
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
		{"allredcue", `did you mean "allreduce"?`},
		{"list --jsn", "did you mean --json?"},
	} {
		text := usageOf(strings.Fields(c.line)...)
		if !strings.Contains(text, c.want) || (c.want == works) != (text == "") {
			t.Errorf("gpurun %s: %q, want %q", c.line, text, c.want)
		}
	}
}
