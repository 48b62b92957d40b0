package worker

import "gpurun/kernels/probe"

// pairLayout says where a check of pairs has its memory on each rank, in bytes
// from the base of the symmetric memory.
type pairLayout struct {
	bytes   int64 // of data and of landing
	data    int64 // patterns that peers write
	landing int64 // copies that nobody looks at
	ring    int64
	lines   int64 // of the ring
	report  int64
	end     int64
}

// mostLines keep a ring, of 1 MiB, within the owner's cache and one page.
const mostLines = 4096

func layOutPairs(bytes, begin int64) pairLayout {
	l := pairLayout{bytes: bytes, data: begin, landing: begin + roundUp(bytes), lines: 1}
	for l.lines < mostLines && 2*l.lines*probe.LineBytes <= bytes {
		l.lines *= 2
	}
	l.ring = l.landing + roundUp(bytes)
	l.report = l.ring + l.lines*probe.LineBytes
	l.end = l.report + roundUp(probe.ReportBytes)
	return l
}
