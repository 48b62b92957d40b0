package flags

import "github.com/spf13/pflag"

// AddLauncher adds the flags about how to launch, which all commands inherit.
func AddLauncher(f *pflag.FlagSet) {
	f.String("nproc-per-node", "",
		"`number` of processes on this machine, or auto, gpu or cpu; "+
			"default: one per GPU, 8 in the simulator, 1 for a launched command")
	f.String("device", "",
		"`backend` of collectives: auto, cuda or sim (the simulator); auto: cuda if there is a GPU, else sim")
	f.Bool("require-gpu", false, "fail with exit code 3 if there is no GPU, and do not run in the simulator")
	f.Bool("oversubscribe", false, "allow more ranks than GPUs")
	f.String("nnodes", "", "`number` of machines that run the collective; gpurun is started once on each")
	f.String("node-rank", "", "`rank` of this machine, from 0 to --nnodes less 1")
	f.String("master-addr", "", "`address` at which the other nodes reach node 0")
	f.String("master-port", "", "`port` of node 0 at which the nodes meet")
	f.String("rdzv-token-file", "",
		"`file` with the secret that all nodes share, made by openssl rand -hex 32; or set GPURUN_RDZV_TOKEN to the secret")
	f.String("tls-cert", "", "`file` with this node's certificate in PEM; nodes then use mutual TLS, "+
		"which PyTorch's own store does not support")
	f.String("tls-key", "", "`file` with the key of --tls-cert")
	f.String("tls-ca", "", "`file` with the certificates of the authorities that sign the nodes' certificates")
	f.String("join-timeout", "", "`seconds` that a node waits for all other nodes")
	f.String("grace", "", "`seconds` from SIGTERM to SIGKILL for processes that are ended")
	f.String("on-failure", "", "`action` when a process fails: dump or none; "+
		"dump shows what the others are doing, before they are ended: "+
		"Python programs, and ranks if the wait of one of them timed out")
	f.String("hang-timeout", "", "`seconds` that all processes may go without any output, report or heartbeat; "+
		"then gpurun shows what they are doing, and ends the job with exit code 4; 0, the default: no limit")
	f.String("config", "", "TOML, YAML or JSON `file` with values for flags, by their long names")
	f.String("log-level", "", "least `level` of log entries: debug, info, warn or error")
	f.String("log-format", "", "`format` of the log: console or json")
}
