package workload

import "gpurun/cudart"

// Between ranks that share a GPU (--oversubscribe) the driver copies by kernels (observed on an
// H200). Kernels that wait for copies therefore leave multiprocessors free for the copies.
// Programmatic dependent launch is off, because early kernels would occupy these multiprocessors.

// copySMs is the number of multiprocessors that products leave to copies.
const copySMs = 4

// shareGPUs reports whether several ranks have the same GPU. Simulated devices do not count:
// they copy without multiprocessors.
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
