package flags

import (
	"slices"
	"strings"
)

// Group is flags that help shows under one title.
type Group struct{ Title, names string }

// Has reports whether a flag is in the group.
func (g Group) Has(name string) bool { return slices.Contains(strings.Fields(g.names), name) }

// Groups are the groups of all commands, in the order of help. A flag is in one.
func Groups() []Group {
	return []Group{
		{"Sizes", "minbytes maxbytes stepbytes stepfactor sizes bytes m n k splits-per-rank"},
		{"Calls", "datatype op root unaligned epilogue hidden scale epsilon iters warmup-iters run-cycles rounds " +
			"launches cudagraph check minutes timeout seed in-place call"},
		{"Algorithm", "algo against tuning explain blocks max-blocks pdl p2p multicast symm nccl-lib " +
			"nvshmem-lib cublas-lib"},
		{"Schedules", "ranks schedules strategy steps model resident replay save suppressions"},
		{"Litmus tests", "litmus expect unroll"},
		{"Kernel files", "compile sms"},
		{"Output", "output json output-file output-table html svg plot junit sarif prometheus trace timeline timing title " +
			"report color"},
		{"Thresholds", "min-busbw max-latency profile tolerance"},
		{"Simulator", "sim-seed sim-arch sim-memory"},
		{"Faults", "inject skew"},
		{"Processes", "nproc-per-node device require-gpu oversubscribe module no-python run-path virtual-local-rank " +
			"numa-binding start-method signals-to-handle grace signal-grace"},
		{"Several machines", "nnodes node-rank master-addr master-port rdzv-token-file tls-cert tls-key tls-ca " +
			"join-timeout rdzv-backend rdzv-endpoint rdzv-id rdzv-conf standalone local-addr role"},
		{"Restarts and hangs", "max-restarts monitor-interval on-failure hang-timeout health-check health-check-timeout"},
		{"Output of processes", "log-dir redirects tee local-ranks-filter duplicate-stdout-filters " +
			"duplicate-stderr-filters logs-specs event-log-handler"},
		{"Settings", "config log-level log-format"},
	}
}

// First are the flags that people need first, in this order. Help shows five of them in front of the groups.
func First() []string {
	return strings.Fields("nproc-per-node minbytes maxbytes ranks sizes schedules replay against algo m n k " +
		"output-table quick datatype junit min-busbw max-restarts log-dir nnodes device json html")
}
