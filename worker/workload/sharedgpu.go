package workload

import "gpurun/cudart"

// Ranks that share a GPU (--oversubscribe) have copies among them that the driver makes by
// kernels, as an H200 shows. Kernels that wait for copies therefore leave them
// multiprocessors, and none is launched early, which would take these.

// copySMs is the number of multiprocessors that products leave to copies.
const copySMs = 4

// shareGPUs reports whether several ranks have the same GPU. Simulated ones copy without
// multiprocessors.
func shareGPUs(devices []cudart.Info) bool {
	seen := map[string]bool{}
	for _, d := range devices {
		if d.Backend != "cuda" || d.UUID == "" {
			continue
		}
		if seen[d.UUID] {
			return true
		}
		seen[d.UUID] = true
	}
	return false
}
