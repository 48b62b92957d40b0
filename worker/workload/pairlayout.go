package workload

import "gpurun/kernels/probe"

// PairLayout is where the buffers of a check of pairs lie on each rank, in bytes from the base
// of the symmetric memory.
type PairLayout struct {
	Bytes   int64 // of data and of landing
	Data    int64 // patterns that peers write
	Landing int64 // copies that are timed, and not compared
	Ring    int64
	Lines   int64 // of the ring
	Report  int64
	end     int64
}

// maxLines bounds a ring to 1 MiB, which fits into the owner's cache and one page.
const maxLines = 4096

func layOutPairs(bytes, begin int64) PairLayout {
	l := PairLayout{Bytes: bytes, Data: begin, Landing: begin + RoundUp(bytes), Lines: 1}
	for l.Lines < maxLines && 2*l.Lines*probe.LineBytes <= bytes {
		l.Lines *= 2
	}
	l.Ring = l.Landing + RoundUp(bytes)
	l.Report = l.Ring + l.Lines*probe.LineBytes
	l.end = l.Report + RoundUp(probe.ReportBytes)
	return l
}
