package flags

// Launcher flags by what they are about. A command inherits all of them, and takes those that mean something to it.
// Each list is a new slice.

// Processes are the flags about the processes of one machine.
func Processes() []string {
	return []string{"nproc-per-node", "device", "require-gpu", "oversubscribe"}
}

// Machines are the flags about the machines of a job.
func Machines() []string {
	return []string{
		"nnodes", "node-rank", "master-addr", "master-port", "rdzv-token-file", "tls-cert", "tls-key", "tls-ca",
		"join-timeout",
	}
}

// Settings are the flags about the file of settings, the log, and how processes end.
func Settings() []string {
	return []string{"config", "log-level", "log-format", "grace", "on-failure", "hang-timeout"}
}
