package userkernel

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// Custom returns a collective for kernel files that are none of gpurun's collectives. Each of its algorithms has inputs
// and outputs of its own.
func Custom(bundles []*kernelfile.Bundle) (*collective.Collective, error) {
	return Extend(&collective.Collective{
		Name:      kernelfile.Custom,
		Summary:   "what a kernel file describes",
		BusFactor: func(int) float64 { return 1 },
		Choose:    func(int, collective.Call) string { return "" },
	}, bundles)
}

// custom proves the outputs of a file.
type custom struct {
	*algorithm
	// buffers are the inputs and outputs, and places their places among the buffers of the file.
	buffers []*kernelfile.Buffer
	places  []int
}

func newCustom(a *algorithm) *collective.Custom {
	c := &custom{algorithm: a}
	for i := range a.file.Buffers {
		if b := &a.file.Buffers[i]; b.Role != kernelfile.Scratch {
			c.buffers, c.places = append(c.buffers, b), append(c.places, i)
		}
	}
	return &collective.Custom{Buffers: c.list, Next: c.next, Expect: c.expect, Tolerance: c.tolerance}
}

// list lists the inputs and outputs of a call of a rank.
func (x *custom) list(c *collective.Comm, call collective.Call) ([]collective.CustomBuffer, error) {
	st := x.state(c)
	values := st.values(x.target(c, call))
	sizes, err := x.file.Sizes(values)
	if err != nil {
		return nil, err
	}
	var all []collective.CustomBuffer
	for i, b := range x.buffers {
		d, ok := collective.ParseDType(b.Type)
		if !ok {
			return nil, fmt.Errorf("%s:%d: the buffer %s has no type", x.file.Path, b.Line, b.Name)
		}
		buffer := collective.CustomBuffer{
			Name: b.Name, Output: b.Role == kernelfile.Output, DType: d, Bytes: sizes[x.places[i]],
			Turn: st.turn(b),
		}
		for number := range int(copies(b)) {
			buffer.Copies = append(buffer.Copies, st.copyAt(b, number))
		}
		if b.Role == kernelfile.Input && (b.InitFile.Text != "" || b.Init != nil) {
			buffer.Fixed = func(rank int) ([]byte, error) { return x.fixed(b, buffer.Bytes, rank, values) }
		}
		all = append(all, buffer)
	}
	return all, nil
}

// fixed is the content of an input of a rank that the file gives.
func (x *custom) fixed(b *kernelfile.Buffer, bytes int64, rank int, v kernelfile.Call) ([]byte, error) {
	v.Rank = rank
	if b.InitFile.Text != "" {
		return x.readFile(b.InitFile, b.Type, v)
	}
	content := make([]byte, bytes)
	return content, x.file.Initial(b, v, 0, content)
}

func (x *custom) tolerance(c *collective.Comm, call collective.Call) (t collective.Tolerance, err error) {
	t.Relative, t.Absolute, err = x.file.Tolerances(x.state(c).values(x.target(c, call)))
	return t, err
}

// next is the number of the next call of a rank.
func (x *custom) next(c *collective.Comm) int64 { return x.state(c).number }

// expect computes the outputs of this rank behind the call of a number: by a file, an expression, or the reference
// kernel.
func (x *custom) expect(c *collective.Comm, s cudart.Stream, call collective.Call, number int64,
	inputs func(buffer, rank int) ([]byte, error),
) ([][]byte, error) {
	buffers, err := x.list(c, call)
	if err != nil {
		return nil, err
	}
	v := x.state(c).values(x.target(c, call))
	all, proved := make([][]byte, len(buffers)), true
	for i, b := range x.buffers {
		switch {
		case b.Role != kernelfile.Output:
		case b.ExpectFile.Text != "":
			all[i], err = x.readFile(b.ExpectFile, b.Type, v)
		case b.Expect != nil:
			all[i], err = x.evaluate(b, buffers[i], v)
		default:
			proved = false
		}
		if err != nil {
			return nil, err
		}
		if got := int64(len(all[i])); all[i] != nil && got != buffers[i].Bytes {
			return nil, fmt.Errorf("%s:%d: the output %s has %d bytes, and its file %d", x.file.Path, b.Line, b.Name,
				buffers[i].Bytes, got)
		}
	}
	if proved {
		return all, nil
	}
	return all, x.runReference(c, s, call, number, buffers, inputs, all)
}

// evaluate computes an output by its expression.
func (x *custom) evaluate(b *kernelfile.Buffer, of collective.CustomBuffer, v kernelfile.Call) ([]byte, error) {
	content := make([]byte, of.Bytes)
	return content, x.file.Expected(b, v, 0, content)
}
