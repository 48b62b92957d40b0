package suggest

import (
	"slices"
	"strings"
)

// habit is a word of other programs, and what to write in place of it.
type habit struct {
	words   []string
	instead string
}

// flagHabits are flags of nccl-tests, mpirun, docker run, kubectl, hyperfine, pytest and ruff that gpurun lacks, or has
// by another name. The first whose flags a command takes is the answer.
var flagHabits = []habit{
	{[]string{"-g", "--ngpus", "--nthreads", "--gpus", "--num-gpus"}, "--nproc-per-node sets the number of GPUs"},
	{[]string{"-t"}, "--nproc-per-node sets the number of GPUs, each of which has a process and no threads"},
	{[]string{"-n", "-np", "--np", "--n", "--ntasks", "--num-procs"}, "--nproc-per-node sets the number of processes"},
	{
		[]string{"-host", "--host", "-H", "--hosts", "-hostfile", "--hostfile", "--machinefile"},
		"gpurun is started once on each machine: --nnodes, --node-rank and --master-addr say which one this is",
	},
	{
		[]string{"-it", "-i", "--rm", "--ipc", "--shm-size", "--privileged", "-v", "--volume"},
		"gpurun starts no containers: write it behind docker run IMAGE",
	},
	{[]string{"-e", "-x", "--env", "-genv"}, "processes inherit the environment: write NAME=VALUE gpurun COMMAND"},
	{[]string{"--warmup"}, "--warmup-iters sets the number of calls before the timed ones"},
	{[]string{"--runs", "--min-runs", "--repeat"}, "--rounds sets the number of samples, and --iters the calls in each"},
	{[]string{"--runs", "--min-runs", "--repeat"}, "--iters sets the number of timed calls"},
	{[]string{"--export-json", "--json-file"}, "--output-file FILE writes the results as JSON"},
	{[]string{"--export-markdown"}, "--output markdown prints the table as Markdown"},
	{[]string{"--export-csv"}, "--output csv prints the results as CSV"},
	{[]string{"--junitxml", "--junit-xml"}, "--junit FILE writes the results as JUnit XML"},
	{[]string{"--fix", "--unsafe-fixes"}, "gpurun changes no kernel: a finding names the lines to change"},
	{[]string{"--output-format", "--format"}, "--output sets the format of the results"},
	{[]string{"--output-format", "--format"}, "--sarif, --junit and --json name files for the findings"},
	{[]string{"--export-json", "--json-file"}, "--json FILE writes the results as JSON"},
	{[]string{"--verbose", "-vv", "--debug"}, "--log-level debug says more"},
	{[]string{"--quiet", "-q"}, "--log-level error says less"},
	{[]string{"-V"}, "--version prints the version"},
	{[]string{"--dry-run"}, "--explain shows what auto chooses"},
	{[]string{"--dtype", "--type"}, "--datatype sets the element types"},
	{[]string{"--size", "--sizes", "--bytes"}, "--minbytes and --maxbytes set the sizes"},
	{[]string{"--algorithm", "--algorithms"}, "--algo chooses algorithms"},
}

// behindCommands are what some flags mean behind a command of gpurun's, where they are none of mpirun's or docker's.
var behindCommands = []habit{
	{[]string{"-x", "--exitfirst"}, "a command shows all failures before it ends"},
	{[]string{"-v"}, "--log-level debug says more"},
	{[]string{"-k"}, "a word says what runs, such as gpurun check allreduce"},
}

// commandHabits are commands of other programs.
var commandHabits = []habit{
	{[]string{"run"}, "write gpurun COLLECTIVE, such as gpurun allreduce, or gpurun -- COMMAND"},
	{[]string{"exec", "launch", "start"}, "write gpurun -- COMMAND to launch a program"},
	{[]string{"get", "show", "algorithms", "collectives"}, "gpurun list shows collectives and algorithms"},
	{[]string{"describe", "explain"}, "gpurun list NAME describes a collective or an algorithm"},
	{[]string{"verify", "selftest", "validate"}, "gpurun smoke verifies all collectives"},
	{[]string{"diagnose", "health", "status", "info"}, "gpurun doctor checks this machine"},
	{[]string{"lint", "race", "racecheck", "sanitize"}, "gpurun check finds races and deadlocks"},
	{[]string{"stack", "stacks", "logs", "attach"}, "gpurun dump PID shows what a job's workers are doing"},
	{[]string{"init", "new"}, "gpurun kernel init drafts a kernel file"},
	{[]string{"plot", "html", "view"}, "gpurun report makes a page of results"},
	{[]string{"measure", "perf", "benchmark"}, "gpurun bench measures algorithms side by side"},
	{[]string{"autotune"}, "gpurun tune writes a table of the fastest algorithms"},
}

// Flag says what to write in place of a flag of another program, with its dashes, or is empty. behind says that a
// command is in front of the flag. takes reports whether a flag without dashes can be written there: no other is named.
func Flag(flag string, behind bool, takes func(string) bool) string {
	habits := flagHabits
	if behind {
		habits = slices.Concat(behindCommands, flagHabits)
	}
	for _, h := range habits {
		if slices.Contains(h.words, flag) && all(h.flags(), takes) {
			return h.instead
		}
	}
	return ""
}

// flags are the flags that the habit names, without dashes.
func (h habit) flags() (names []string) {
	for _, word := range strings.Fields(h.instead) {
		if name, ok := strings.CutPrefix(strings.TrimRight(word, ",:"), "--"); ok {
			names = append(names, name)
		}
	}
	return names
}

func all(words []string, is func(string) bool) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !is(word) })
}

// Command says what to write in place of a command of another program, or is empty.
func Command(word string) string {
	for _, h := range commandHabits {
		if slices.Contains(h.words, word) {
			return h.instead
		}
	}
	return ""
}
