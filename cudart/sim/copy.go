package sim

import (
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

const (
	// pieceBytes is how much the copy engine moves in a turn, in bytes.
	pieceBytes = 1 << 20
	// maxPieces bounds the number of pieces of a copy in disorder.
	maxPieces = 8
	// pieceAlignment is what pieces begin at in disorder, in bytes from the first.
	pieceAlignment = 16
)

// transfer is an enqueued copy, or a memset where src is 0.
type transfer struct {
	dst, src cudart.DevicePtr
	bytes    int64
	value    byte
}

// copyEngine performs a transfer in pieces: in order, or with disorder in random order and with
// delays in between. The copy engine of a GPU guarantees no order either.
type copyEngine struct {
	stream   *stream
	dst      cudart.DevicePtr
	to, from []byte // nothing in from for a memset
	value    byte
	pieces   [][2]int64 // still to be done: where they begin and end
}

func (t transfer) begin(s *stream) (task, error) {
	e := &copyEngine{stream: s, dst: t.dst, value: t.value}
	var err error
	if e.to, err = s.device.memory.bytes(t.dst, t.bytes); err != nil {
		return nil, failure("writing to device memory", cudart.ErrInvalidValue, "%v", err)
	}
	if t.src != 0 {
		if e.from, err = s.device.memory.bytes(t.src, t.bytes); err != nil {
			return nil, failure("copying from device memory", cudart.ErrInvalidValue, "%v", err)
		}
	}
	e.split()
	return e, nil
}

// split cuts the transfer into pieces. One from a range to another that overlaps
// it is done at once.
func (e *copyEngine) split() {
	size := int64(len(e.to))
	r := e.stream.delays
	cuts := []int64{0}
	switch {
	case overlap(e.to, e.from):
	case r == nil:
		for at := int64(pieceBytes); at < size; at += pieceBytes {
			cuts = append(cuts, at)
		}
	default:
		for range r.IntN(maxPieces) {
			last := cuts[len(cuts)-1]
			if at := last + (1+r.Int64N(size/2+1))/pieceAlignment*pieceAlignment; at > last && at < size {
				cuts = append(cuts, at)
			}
		}
	}
	ends := append(slices.Clone(cuts[1:]), size)
	for i, begin := range cuts {
		e.pieces = append(e.pieces, [2]int64{begin, ends[i]})
	}
	if r != nil {
		r.Shuffle(len(e.pieces), func(i, j int) { e.pieces[i], e.pieces[j] = e.pieces[j], e.pieces[i] })
	}
}

func overlap(a, b []byte) bool {
	first, second := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return first < second+uintptr(len(b)) && second < first+uintptr(len(a))
}

// step moves a piece.
func (e *copyEngine) step() (exec.State, error) {
	p := e.pieces[0]
	to := e.to[p[0]:p[1]]
	e.recordOverwritten(p[0], len(to))
	if e.from != nil {
		copy(to, e.from[p[0]:p[1]])
	} else {
		set(to, e.value)
	}
	if e.pieces = e.pieces[1:]; len(e.pieces) == 0 {
		return exec.Done, nil
	}
	e.stream.delay(betweenPieces)
	return exec.Running, nil
}

// recordOverwritten keeps what a piece is about to overwrite, for blocks with stale loads.
func (e *copyEngine) recordOverwritten(offset int64, bytes int) {
	if e.stream.delays == nil {
		return
	}
	if r, ok := e.stream.device.memory.Resolve(uint64(e.dst)); ok {
		history.Record(r, uint64(e.dst)-r.Base+uint64(offset), uint64(bytes))
	}
}

// set gives every byte a value.
func set(to []byte, value byte) {
	if value == 0 {
		zero(to)
		return
	}
	for i := range to {
		to[i] = value
	}
}

// zero clears memory. Whole pages are given back to the operating system where that works: they are
// zero when they are next touched. Most pages of mailboxes, which are sized for the largest grids,
// never are.
func zero(to []byte) {
	page := uintptr(os.Getpagesize())
	head := min(-uintptr(unsafe.Pointer(unsafe.SliceData(to)))%page, uintptr(len(to)))
	tail := head + (uintptr(len(to))-head)/page*page
	if tail > head && unix.Madvise(to[head:tail], unix.MADV_REMOVE) == nil {
		clear(to[:head])
		to = to[tail:]
	}
	clear(to)
}
