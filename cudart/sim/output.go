package sim

import (
	"bytes"
	"io"

	"gpurun/cudart/sim/exec"
)

// prefixed writes what the kernels of a device print. A prefix begins each line, and lines are written
// whole. It belongs to the device's goroutine.
type prefixed struct {
	to     io.Writer
	prefix string
	line   []byte // that has not ended yet
}

func (p *prefixed) Write(text []byte) (int, error) {
	for rest := text; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if len(p.line) == 0 {
			p.line = append(p.line, p.prefix...)
		}
		p.line = append(p.line, line...)
		if rest = after; !whole && len(p.line) < maxLine {
			break
		}
		p.flush()
	}
	return len(text), nil
}

// maxLine bounds a line that has no end.
const maxLine = 64 << 10

// flush writes the line, if there is one. Where nobody can read it, the kernel goes on.
func (p *prefixed) flush() {
	if len(p.line) > 0 {
		_, _ = p.to.Write(append(p.line, '\n'))
		p.line = p.line[:0]
	}
}

// makeHeap allocates the heap of malloc, unless the device has it. It stays until the device closes.
func (d *Device) makeHeap() error {
	if d.heap != nil {
		return nil
	}
	a, err := d.memory.allocate(exec.HeapBytes)
	if err != nil {
		return failedBy("allocating the heap of malloc in kernels", err)
	}
	d.heap = exec.NewHeap(a.base, exec.HeapBytes)
	return nil
}
