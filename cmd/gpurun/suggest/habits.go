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

// flagHabits are flags of nccl-tests, kubectl, hyperfine, pytest and ruff that gpurun lacks, or has by another name.
// The first whose flags a command takes is the answer.
var flagHabits = []habit{
	{[]string{"-t"}, "--nproc-per-node sets the number of GPUs, each of which has a process and no threads"},
	{[]string{"--warmup"}, "--warmup-iters sets the number of calls before the timed ones"},
	{[]string{"--runs", "--min-runs", "--repeat"}, "--rounds sets the number of samples, and --iters the calls in each"},
	{[]string{"--runs", "--min-runs", "--repeat"}, "--iters sets the number of timed calls"},
	{[]string{"-L", "--parameter-list", "-P", "--parameter-scan"}, "--algo and --datatype take lists"},
	{[]string{"--prepare", "--setup", "--cleanup", "--conclude"}, "nothing runs between timed calls: leave it out"},
	{[]string{"--no-color", "--nocolor"}, "--color never prints no colors"},
	{[]string{"--show-output"}, "--log-level debug says more"},
	{[]string{"--time-unit"}, "times are in microseconds: leave it out"},
	{[]string{"--reference", "--baseline", "--vs", "--compare"}, "--against sets the algorithm that ratios compare with"},
	{[]string{"--sort"}, "gpurun report makes a page whose tables sort by any column"},
	{[]string{"--ignore-failure", "--shell"}, "gpurun calls kernels and no commands: leave it out"},
	{[]string{"--style"}, "--color sets when verdicts have colors"},
	{[]string{"--export-json", "--json-file", "--summary-export"}, "--output-file FILE writes the results as JSON"},
	{[]string{"--export-markdown", "--export-asciidoc"}, "--output markdown prints the table as Markdown"},
	{[]string{"--export-csv"}, "--output csv prints the results as CSV"},
	{[]string{"--junitxml", "--junit-xml"}, "--junit FILE writes the results as JUnit XML"},
	{[]string{"--select", "--ignore", "--extend-ignore"}, "--suppressions FILE accepts findings"},
	{[]string{"--tool", "--race", "--racecheck-report"}, "gpurun check finds races and deadlocks: leave it out"},
	{[]string{"--maxfail", "--fail-fast", "--failfast"}, "a command shows all failures before it ends: leave it out"},
	{[]string{"--fix", "--unsafe-fixes"}, "gpurun changes no kernel and no machine: a finding says what to do"},
	{[]string{"--output-format", "--format"}, "--output sets the format of the results"},
	{[]string{"--output-format", "--format"}, "--sarif, --junit and --json name files for the findings"},
	{[]string{"--export-json", "--json-file"}, "--json FILE writes the results as JSON"},
	{[]string{"--verbose", "-vv", "--debug"}, "--log-level debug says more"},
	{[]string{"--quiet", "--silent", "-q"}, "--log-level error says less"},
	{[]string{"-V", "-version"}, "--version prints the version"},
	{[]string{"--dry-run"}, "--explain shows what auto chooses"},
	{[]string{"--dtype", "--type"}, "--datatype sets the element types"},
	{[]string{"--size", "--sizes", "--bytes"}, "--minbytes and --maxbytes set the sizes"},
	{[]string{"--algorithm", "--algorithms"}, "--algo chooses algorithms"},
	{[]string{"--iterations", "--repetitions"}, "--iters sets the number of timed calls"},
	{[]string{"--csv"}, "--output csv prints the results as CSV"},
	{[]string{"--markdown", "--md"}, "--output markdown prints the table as Markdown"},
	{[]string{"--graph", "--graphs", "--cuda-graph", "--cuda-graphs"}, "--cudagraph replays calls from a CUDA graph"},
	{[]string{"--sim", "--simulate", "--simulator", "--cpu", "--no-gpu"}, "--device sim runs the simulator"},
	{[]string{"--devices", "--device-ids", "--gpu", "--gpu-ids"}, "CUDA_VISIBLE_DEVICES selects GPUs"},
	{[]string{"--no-check", "--no-verify", "--no-validate", "--skip-verify"}, "--check 0 turns verification off"},
	{[]string{"--verify", "--validate", "--validation"}, "every element is verified, unless --check is 0: leave it out"},
	{[]string{"--in-place", "--inplace", "--out-of-place"}, "calls are made out of place and in place: leave it out"},
	{[]string{"--backend"}, "--algo chooses algorithms, such as nccl, and --symm how memory is shared"},
	{[]string{"--memory"}, "--symm chooses how memory is shared"},
	{[]string{"--duration", "--time", "--loop", "--stress", "--soak"}, "--minutes sets how long further calls run"},
	{[]string{"--threshold", "--max-regression"}, "--tolerance sets how much slower a case may be"},
	{[]string{"--png", "--pdf"}, "--svg FILE draws the results"},
	{[]string{"--out", "--save"}, "--output-file FILE writes the results as JSON"},
	{[]string{"--nproc-per-node", "--world-size", "--nproc"}, "--ranks sets the numbers of ranks"},
	{[]string{"--ranks", "--world-size", "--nproc"}, "--nproc-per-node sets the number of processes"},
}

// callHabits are flags of nccl-tests, behind a command that times calls.
var callHabits = []habit{
	{[]string{"-z", "--blocking"}, "gpurun waits for a call when its samples are complete: leave it out"},
	{[]string{"-a", "--average"}, "a time is that of the slowest rank: leave it out"},
	{[]string{"-N", "--cycles"}, "--rounds sets the number of samples, and --iters the calls in each"},
	{[]string{"-y", "--stream-null"}, "calls are made on a stream of their own: leave it out"},
	{[]string{"-m", "-M"}, "--rounds sets the number of samples, and --iters the calls in each"},
	{[]string{"-m", "--agg-iters"}, "--iters sets the number of timed calls, which are not aggregated"},
	{[]string{"-C", "--report-cputime"}, "gpurun bench COLLECTIVE -G 0 shows the time of the host"},
	{[]string{"-R", "--local-register"}, "--symm chooses how memory is shared: it is always registered"},
	{[]string{"-p", "--parallel-init"}, "ranks always begin in parallel: leave it out"},
}

// behindCommands are what some flags mean behind a command of gpurun's, and not to mpirun or docker.
var behindCommands = []habit{
	{[]string{"-i", "--id"}, "CUDA_VISIBLE_DEVICES selects GPUs"},
	{[]string{"-o"}, "--json writes JSON"},
	{[]string{"-x", "--exitfirst"}, "a command shows all failures before it ends"},
	{[]string{"-v"}, "--log-level debug says more"},
	{[]string{"-v"}, "the output is complete: leave it out"},
	{[]string{"-k"}, "a word says what runs, such as gpurun check allreduce"},
}

// commandHabits are commands of other programs.
var commandHabits = []habit{
	{
		[]string{"accelerate", "deepspeed", "horovodrun", "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "srun"},
		"gpurun takes its place: write gpurun --nproc-per-node N SCRIPT.py",
	},
	{[]string{"ncu", "nsys", "profile"}, "a profiler stands in front: write nsys profile gpurun COLLECTIVE"},
	{
		[]string{"apply", "create", "delete", "cluster-info", "port-forward", "rollout", "scale"},
		"kubectl is for that: see docs/kubernetes.md",
	},
	{
		[]string{"send", "recv", "sendrecv", "sendrecv_perf", "hypercube", "hypercube_perf"},
		"gpurun doctor measures each pair of GPUs, and gpurun alltoall all pairs at once",
	},
	{[]string{"run"}, "write gpurun COLLECTIVE, such as gpurun allreduce, or gpurun -- COMMAND"},
	{[]string{"exec", "launch", "start"}, "write gpurun -- COMMAND to launch a program"},
	{[]string{"get", "show", "algorithms", "collectives"}, "gpurun list shows collectives and algorithms"},
	{[]string{"describe", "explain"}, "gpurun list NAME describes a collective or an algorithm"},
	{[]string{"verify", "selftest", "validate"}, "gpurun smoke verifies all collectives"},
	{
		[]string{"diagnose", "diag", "health", "status", "info", "stats", "dmon", "dcgmi"},
		"gpurun doctor checks this machine",
	},
	{
		[]string{"lint", "race", "racecheck", "sanitize", "compute-sanitizer", "initcheck", "memcheck", "synccheck"},
		"gpurun check finds races and deadlocks",
	},
	{[]string{"stack", "stacks", "logs", "attach"}, "gpurun dump PID shows what a job's workers are doing"},
	{[]string{"init", "new"}, "gpurun kernel init drafts a kernel file"},
	{[]string{"plot", "html", "view"}, "gpurun report makes a page of results"},
	{[]string{"measure", "perf", "benchmark"}, "gpurun bench measures algorithms side by side"},
	{
		[]string{"devices", "gpus", "links", "nvlink", "topo", "topology", "bandwidth", "nvbandwidth", "nvidia-smi"},
		"gpurun doctor shows GPUs and links",
	},
	{[]string{"algos", "types"}, "gpurun list shows collectives, algorithms and types"},
	{[]string{"config", "settings", "env"}, "flags, variables and a file set options: see docs/configuration.md"},
	{[]string{"stop", "cancel"}, "Ctrl-C ends a run, and so does SIGTERM to its first process"},
	{[]string{"autotune"}, "gpurun tune writes a table of the fastest algorithms"},
}

// Flag says what to write in place of a flag of another program, with its dashes, or is empty. behind says that a
// command is in front of the flag. takes reports whether a flag without dashes can be written there: no other is named.
func Flag(flag string, behind bool, takes func(string) bool) string {
	flag = strings.ReplaceAll(flag, "_", "-")
	habits := flagsOfOthers(behind)
	if behind && takes("iters") {
		habits = slices.Concat(callHabits, habits)
	}
	for _, h := range habits {
		if slices.Contains(h.words, flag) && all(h.flags(), takes) {
			return h.instead
		}
	}
	return ""
}

// Misspelled is the flag of another program that one was meant to be, or is empty.
func Misspelled(flag string, behind bool) string {
	const least = len("--") + 6 // shorter words are alike by chance: --short, and hyperfine's --sort
	for _, h := range flagsOfOthers(behind) {
		if word := Typo(flag, h.words); word != "" && len(flag) >= least {
			return word
		}
	}
	return ""
}

func flagsOfOthers(behind bool) []habit {
	if behind {
		return slices.Concat(behindCommands, flagHabits, withoutLetters(launcherHabits))
	}
	return slices.Concat(flagHabits, launcherHabits)
}

// withoutLetters leaves out flags of one letter, such as docker's -d, unless a flag of gpurun replaces them: behind a
// command of gpurun's such letters mean something else.
func withoutLetters(habits []habit) (kept []habit) {
	for _, h := range habits {
		if len(h.flags()) == 0 {
			h.words = slices.DeleteFunc(slices.Clone(h.words), func(word string) bool { return len(word) == len("-d") })
		}
		kept = append(kept, h)
	}
	return kept
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
