package workload

import "gpurun/kernels/collective"

// count is the number of elements of a part, if the larger of a rank's buffers has up to so
// many bytes, as nccl-tests counts. If buffers hold a part per rank, parts are cut to whole
// vectors of 16 bytes and so all aligned. They are not cut if nothing would be left, or if the
// job is about unaligned buffers. Bytes that do not hold an element per part lead to a call
// without elements; the table shows size and count 0. Rows that are normalized stay whole, and
// there is at least one.
func (j Job) count(s collective.Shape, world int, d collective.DType, bytes int64) int64 {
	const vecBytes = 16
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

// offset is how far buffers lie from their alignment, in bytes.
func (j Job) offset(d collective.DType) int64 {
	if j.Unaligned {
		return int64(d.Size)
	}
	return 0
}
