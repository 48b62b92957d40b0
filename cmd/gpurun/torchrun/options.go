// Package torchrun reads torchrun's command line: its flags in both spellings,
// with unambiguous prefixes, and its PET_ variables. It decides what they mean
// and does nothing else: no process is started here, no file opened.
//
// The flags and their defaults are those of torchrun of PyTorch 2.11.
package torchrun

import (
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// Options is what a command line asks for.
type Options struct {
	NNodes       NodeRange
	NProcPerNode Processes
	Role         string

	RdzvBackend  string // static, c10d, etcd or etcd-v2
	RdzvEndpoint Endpoint
	RdzvID       string // empty: none was given
	RdzvConf     map[string]string
	Standalone   bool
	NodeRank     int
	MasterAddr   string
	MasterPort   int
	LocalAddr    string

	MaxRestarts     int
	MonitorInterval float64 // seconds
	StartMethod     string
	EventLogHandler string
	LogsSpecs       string
	NUMABinding     string // NoBinding, node, socket, exclusive or core-complex
	SignalsToHandle Signals
	VirtualRank     bool // every worker has LOCAL_RANK 0 and sees one GPU

	Module, NoPython, RunPath bool

	LogDir                                         string
	Redirects, Tee                                 Streams
	LocalRanksFilter                               Ranks
	DuplicateStdoutFilters, DuplicateStderrFilters []string

	// Words are the script, module or program and its arguments.
	Words []string
	// Dashed says that "--" stood before them.
	Dashed bool

	flags   *pflag.FlagSet
	sources map[string]string // of the flags that were given
}

// NoBinding is the NUMABinding that binds nothing.
const NoBinding = "none"

// Named reports whether a program that was called by this path goes by the name
// torchrun.
func Named(program string) bool { return filepath.Base(program) == "torchrun" }

// Source says where a flag was given, as "--nnodes" or "PET_NNODES". It is empty
// for one that was not.
func (o *Options) Source(flag string) string { return o.sources[flag] }

// New returns options with torchrun's defaults.
func New() *Options {
	o := &Options{sources: map[string]string{}}
	o.flags = o.newFlags()
	return o
}

// Flags are torchrun's flags, for a help text.
func (o *Options) Flags() *pflag.FlagSet { return o.flags }

func (o *Options) newFlags() *pflag.FlagSet {
	f := pflag.NewFlagSet("torchrun", pflag.ContinueOnError)
	f.SetNormalizeFunc(dashes)
	add(f, &o.NNodes, parseNodes, "nnodes", "", "1:1", "`number` of machines, or MIN:MAX")
	add(f, &o.NProcPerNode, parseProcesses, "nproc-per-node", "", "1",
		"`number` of processes on this machine, or auto, gpu, cpu or xpu")
	add(f, &o.Role, parseText, "role", "", "default", "`name` of the workers' role")
	o.addRendezvousFlags(f)
	add(f, &o.MaxRestarts, parseCount, "max-restarts", "", "0",
		"`number` of times that all workers are restarted after one fails")
	add(f, &o.MonitorInterval, parseSeconds, "monitor-interval", "", "0.1",
		"`seconds`; accepted without effect: workers are not polled")
	add(f, &o.StartMethod, oneOf("spawn", "fork", "forkserver"), "start-method", "", "spawn",
		"`method` of multiprocessing; accepted without effect")
	add(f, &o.EventLogHandler, parseText, "event-log-handler", "", "null",
		"`name`; accepted without effect: there are no event logs")
	add(f, &o.LogsSpecs, oneOf("", "default"), "logs-specs", "", "", "`name`; accepted if it is default")
	add(f, &o.NUMABinding, oneOf(NoBinding, "node", "socket", "exclusive", "core-complex"), "numa-binding", "", NoBinding,
		"`policy` that binds workers to the CPUs near their GPUs: none, node, socket, exclusive or core-complex")
	add(f, &o.SignalsToHandle, parseSignals, "signals-to-handle", "", "SIGTERM,SIGINT,SIGHUP,SIGQUIT",
		"`signals` that are passed on to the workers and end the run")
	add(f, &o.VirtualRank, parseBool, "virtual-local-rank", "", "false",
		"give every worker LOCAL_RANK 0 and one GPU, by CUDA_VISIBLE_DEVICES")
	add(f, &o.Module, parseBool, "module", "m", "false", "the first word is a Python module: python3 -m")
	add(f, &o.NoPython, parseBool, "no-python", "", "false", "the first word is a program, whatever its name")
	add(f, &o.RunPath, parseBool, "run-path", "", "false", "the first word is a Python script, whatever its name")
	o.addLogFlags(f)
	return f
}

func (o *Options) addRendezvousFlags(f *pflag.FlagSet) {
	add(f, &o.RdzvBackend, oneOf("static", "c10d", "etcd", "etcd-v2"), "rdzv-backend", "", "static",
		"rendezvous `backend`: static, c10d, etcd or etcd-v2")
	add(f, &o.RdzvEndpoint, parseEndpoint, "rdzv-endpoint", "", "", "`host:port` of the rendezvous")
	add(f, &o.RdzvID, parseText, "rdzv-id", "", "", "`name` of the job, the same on all machines")
	add(f, &o.RdzvConf, parseConf, "rdzv-conf", "", "", "further settings of the rendezvous, `key=value,...`")
	add(f, &o.Standalone, parseBool, "standalone", "", "false",
		"one machine without rendezvous; overrides the other rendezvous flags")
	add(f, &o.NodeRank, parseCount, "node-rank", "", "0", "`rank` of this machine, for the backend static")
	add(f, &o.MasterAddr, parseText, "master-addr", "", "127.0.0.1",
		"`address` of the machine with rank 0, for the backend static")
	add(f, &o.MasterPort, parsePort, "master-port", "", "29500",
		"`port` on the machine with rank 0, for the backend static; on one machine a free port if not set")
	add(f, &o.LocalAddr, parseText, "local-addr", "", "", "`address` by which others reach this machine")
}

func (o *Options) addLogFlags(f *pflag.FlagSet) {
	add(f, &o.LogDir, parseText, "log-dir", "", "",
		"`directory` for the workers' output and error files; default: a temporary one")
	add(f, &o.Redirects, parseStreams, "redirects", "r", "0",
		"`streams` to write to files only: 1 stdout, 2 stderr, 3 both; or by local rank, such as 0:3,1:2")
	add(f, &o.Tee, parseStreams, "tee", "t", "0",
		"`streams` to write to files and also to show; values as for --redirects")
	add(f, &o.LocalRanksFilter, parseRanks, "local-ranks-filter", "", "",
		"local `ranks` whose output is shown, such as 0,2; default: all")
	add(f, &o.DuplicateStdoutFilters, parseFilters, "duplicate-stdout-filters", "", "",
		"copy lines of stdout that have one of these `texts` to filtered_stdout.log; ,, is a comma")
	add(f, &o.DuplicateStderrFilters, parseFilters, "duplicate-stderr-filters", "", "",
		"copy lines of stderr that have one of these `texts` to filtered_stderr.log; ,, is a comma")
}

// dashes lets flags be written with underscores too.
func dashes(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}
