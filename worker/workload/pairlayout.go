package workload

import "gpurun/kernels/probe"

// PairLayout says where a check of pairs has its memory on each rank, in bytes
// from the base of the symmetric memory.
type PairLayout struct {
	Bytes   int64 // of data and of landing
	Data    int64 // patterns that peers write
	Landing int64 // copies that nobody looks at
	Ring    int64
	Lines   int64 // of the ring
	Report  int64
	end     int64
}

// maxLines keep a ring, of 1 MiB, within the owner's cache and one page.
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
