package nvshmem

import (
	"os"
	"path/filepath"
	"strconv"
)

// heapRoom is what the symmetric heap gets besides the caller's bytes, for
// alignment and for what NVSHMEM itself keeps there for every team. It is the
// size of NVSHMEM's default heap, so it is enough for that.
const heapRoom = 1 << 30

// uidPlugin is how NVSHMEM names the plugin that unique ids need.
const uidPlugin = "nvshmem_bootstrap_uid.so.3"

// Environment is what to put into the process's environment before Init, as
// assignments, of the variables that getenv says are unset: a heap with room
// for bytes of the caller's, the plugin beside the library, NVSHMEM's own
// kernels rather than NCCL's, and where all ranks are on one machine, no
// network. NVSHMEM_DISABLE_NVLS is the user's alone.
func (l *Library) Environment(getenv func(string) string, bytes int64, oneMachine bool) []string {
	var assignments []string
	set := func(name, value string) {
		if getenv(name) == "" {
			assignments = append(assignments, name+"="+value)
		}
	}
	set("NVSHMEM_SYMMETRIC_SIZE", strconv.FormatInt(bytes+heapRoom, 10))
	set("NVSHMEM_DISABLE_NCCL", "1")
	// The loader finds the plugin where it finds the library, if the library was
	// built to say so. An absolute path needs no such luck.
	if plugin := filepath.Join(filepath.Dir(l.path), uidPlugin); exists(plugin) {
		set("NVSHMEM_BOOTSTRAP_UID_PLUGIN", plugin)
	}
	if oneMachine {
		// The ranks meet over the loopback interface, which is there without any
		// network, and no InfiniBand library is loaded.
		set("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo")
		set("NVSHMEM_REMOTE_TRANSPORT", "none")
	}
	return assignments
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
