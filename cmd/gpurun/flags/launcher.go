package flags

import "github.com/spf13/pflag"

// AddLauncher adds the flags about how to launch, which all commands inherit.
func AddLauncher(f *pflag.FlagSet) {
	f.String("nproc-per-node", "", "processes: a `number`, auto, gpu or cpu; without this flag one per GPU, 8 in the simulator, 1 for a command")
	f.String("device", "", "`where` collectives run: auto, cuda or sim; auto is cuda where there is a GPU")
	f.Bool("require-gpu", false, "fail where there is no GPU instead of simulating one")
	f.Bool("oversubscribe", false, "allow more ranks than GPUs")
	f.String("nnodes", "", "`number` of machines that the ranks of a collective are on; gpurun runs once on each")
	f.String("node-rank", "", "`rank` of this machine among them, from 0")
	f.String("master-addr", "", "`address` of node 0, by which all others reach it")
	f.String("master-port", "", "`port` of node 0 at which the nodes meet")
	f.String("rdzv-token-file", "", "`file` with the secret that all nodes share, or set GPURUN_RDZV_TOKEN; openssl rand -hex 32 makes one")
	f.String("tls-cert", "", "`file` with this node's certificate, in PEM: nodes meet by mutual TLS, which PyTorch's own store does not know")
	f.String("tls-key", "", "`file` with the key to it")
	f.String("tls-ca", "", "`file` with the certificates of the authorities that sign all nodes'")
	f.String("join-timeout", "", "`seconds` that a node waits for all others to come")
	f.String("grace", "", "`seconds` that processes get to end after SIGTERM, before SIGKILL")
	f.String("signal-grace", "", "`seconds` that a command's processes get to end after a signal to gpurun that is passed on")
	f.String("config", "", "TOML, YAML or JSON `file` with values for flags, by their long names")
	f.String("log-level", "", "least `level` that is logged: debug, info, warn or error")
	f.String("log-format", "", "`form` of the log: console or json")
}
