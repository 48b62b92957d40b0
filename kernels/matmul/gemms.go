package matmul

import (
	"sync"
)

// GEMMs lists all GEMMs, the preferred one first; of those of the same name the one with the least Cost is taken. Callers do
// not change the list.
func GEMMs() []*GEMM { return gemms() }

// gemms is GEMMs made once: calls that are enqueued choose from it.
var gemms = sync.OnceValue(func() []*GEMM {
	var all []*GEMM
	for _, columns := range wgmmaWidths() {
		all = append(all, columns.gemm())
	}
	return append(all, mmaGEMM(), naiveGEMM())
})
