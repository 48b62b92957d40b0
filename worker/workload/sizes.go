package workload

import (
	"slices"

	"gpurun/kernels/collective"
)

const vecBytes = 16

// count is the number of elements of a part, if the larger of a rank's buffers has up to so
// many bytes, as nccl-tests counts. If buffers hold a part per rank, parts are cut to whole
// vectors of 16 bytes and so all aligned. They are not cut if nothing would be left, or if the
// job is about unaligned buffers. Bytes that do not hold an element per part lead to a call
// without elements; the table shows size and count 0. Rows that are normalized stay whole, and
// there is at least one.
func (j Job) count(s collective.Shape, world int, d collective.DType, bytes int64) int64 {
	parts := max(s.Send.Of(world), s.Recv.Of(world))
	count := bytes / (parts * int64(d.Size))
	whole := count / (vecBytes / int64(d.Size)) * (vecBytes / int64(d.Size))
	switch {
	case s.Empty:
		return 0
	case j.Epilogue == string(collective.RMSNorm) && j.Row > 0:
		return max(count/j.Row, 1) * j.Row
	case parts > 1 && whole > 0 && !j.Unaligned:
		return whole
	}
	return count
}

// roundUp is the count of a call, or the next one that is a multiple of what all kernel files ask for. All algorithms
// have the same count. Parts stay whole vectors, and rows stay whole.
func (j Job) roundUp(s collective.Shape, world int, call collective.Call, algorithms ...*collective.Algorithm) int64 {
	unit := int64(1)
	for _, a := range algorithms {
		if a.Multiple != nil {
			unit = leastCommonMultiple(unit, a.Multiple(world, call))
		}
	}
	if call.Count%unit == 0 {
		return call.Count
	}
	switch parts := max(s.Send.Of(world), s.Recv.Of(world)); {
	case j.Epilogue == string(collective.RMSNorm) && j.Row > 0:
		unit = leastCommonMultiple(unit, j.Row)
	case parts > 1 && !j.Unaligned:
		unit = leastCommonMultiple(unit, vecBytes/int64(call.DType.Size))
	}
	return (call.Count + unit - 1) / unit * unit
}

// leastCommonMultiple is the least common multiple of two positive numbers, or 1 if no buffer has so many elements.
func leastCommonMultiple(a, b int64) int64 {
	divisor, rest := a, b
	for rest != 0 {
		divisor, rest = rest, divisor%rest
	}
	if a/divisor > maxBytes/b {
		return 1
	}
	return a / divisor * b
}

// Cut reports whether whole vectors are fewer elements of a part than some size would allow.
func (j Job) Cut(s collective.Shape, world int) bool {
	unaligned := j
	unaligned.Unaligned = true
	for _, name := range j.DTypes {
		d, ok := collective.ParseDType(name)
		if ok && slices.ContainsFunc(j.Sizes, func(bytes int64) bool {
			return j.count(s, world, d, bytes) != unaligned.count(s, world, d, bytes)
		}) {
			return true
		}
	}
	return false
}

// offset is how far buffers lie from their alignment, in bytes.
func (j Job) offset(d collective.DType) int64 {
	if j.Unaligned {
		return int64(d.Size)
	}
	return 0
}
