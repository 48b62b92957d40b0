package matmul

import (
	"sync"
)

// GEMMs lists all GEMMs, the preferred one first. Of the GEMMs of one name the one with the least Cost is taken. The
// list is made once; callers do not change it.
var GEMMs = sync.OnceValue(func() []*GEMM {
	var all []*GEMM
	for _, columns := range wgmmaWidths() {
		all = append(all, wgmmaGEMM(columns))
	}
	for _, columns := range productWidths() {
		all = append(all, columns.productGEMM())
	}
	for _, columns := range transposedWidths() {
		all = append(all, transposedGEMM(columns))
	}
	for _, rows := range skinnyHeights() {
		all = append(all, rows.gemm())
	}
	for _, rows := range tallHeights() {
		all = append(all, rows.gemm())
	}
	return append(all, mmaGEMM(), naiveGEMM())
})
