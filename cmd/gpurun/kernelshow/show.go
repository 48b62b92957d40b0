// Package kernelshow shows what ranks get of a kernel file: the buffers, and for each step the shape of the launch and
// its arguments. It needs no device: addresses are made up.
package kernelshow

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"gpurun/cudart"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/matmul"
	"gpurun/kernels/userkernel"
)

// Call is the call to show.
type Call struct {
	World   int
	DType   collective.DType
	Op      string
	Bytes   int64 // of the larger of a rank's buffers
	SMs     int
	Root    int
	Number  int64
	InPlace bool
	M, N, K int64
	// TimeoutNS bounds a wait for a peer.
	TimeoutNS int64
}

// Report is what all ranks get in one call.
type Report struct {
	File       string `json:"file"`
	Collective string `json:"collective"`
	DType      string `json:"dtype"`
	Op         string `json:"op"`
	Count      int64  `json:"count"` // elements of a part
	Bytes      int64  `json:"bytes"` // of a part
	// M, N and K are the extents of a product of matrices, which has no parts.
	M         int64  `json:"m,omitempty"`
	N         int64  `json:"n,omitempty"`
	K         int64  `json:"k,omitempty"`
	World     int    `json:"ranks"`
	SMs       int    `json:"multiprocessors"`
	Number    int64  `json:"call"`
	Addresses string `json:"addresses"`
	Ranks     []Rank `json:"by_rank"`
}

// Rank is what one rank gets.
type Rank struct {
	Rank    int      `json:"rank"`
	Buffers []Buffer `json:"buffers"`
	Steps   []Step   `json:"steps"`
}

// Buffer is memory of a rank.
type Buffer struct {
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"`
	Offset  int64  `json:"offset"` // from the beginning of the rank's memory
	Address string `json:"address"`
}

// Step is one thing that a call enqueues.
type Step struct {
	Line int    `json:"line"`
	Kind string `json:"kind"` // launch, fill, copy or barrier
	// Of a launch.
	Module      string     `json:"module,omitempty"`
	Entry       string     `json:"entry,omitempty"`
	Grid        string     `json:"grid,omitempty"`
	Block       string     `json:"block,omitempty"`
	Cluster     string     `json:"cluster,omitempty"`
	SharedBytes int        `json:"shared_bytes,omitempty"`
	Cooperative bool       `json:"cooperative,omitempty"`
	PDL         bool       `json:"pdl,omitempty"`
	Arguments   []Argument `json:"arguments,omitempty"`
	// Of a fill or a copy.
	To    string `json:"to,omitempty"`
	From  string `json:"from,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	Value *byte  `json:"value,omitempty"`
}

// Argument is one of a kernel.
type Argument struct {
	Line  int    `json:"line"`
	At    int    `json:"at"` // bytes from the first argument's
	Bytes int    `json:"bytes"`
	What  string `json:"what"`
	Hex   string `json:"hex"` // the number, or the bytes of what is larger, in memory order
	// Table is what the device memory holds that the argument points to, in words of 64 bits.
	Table []string `json:"table,omitempty"`
}

// addresses says where addresses come from.
const addresses = "made up: rank r's memory begins at (r+1) << 40, and only offsets are real"

// Of binds a call of all ranks.
func Of(f *kernelfile.File, b *kernelfile.Bundle, c Call) (Report, error) {
	base, err := c.base(f)
	if err != nil {
		return Report{}, err
	}
	r := Report{
		File: f.Path, Collective: f.Collective, DType: base.Type, Op: base.Op, Count: base.Count,
		Bytes: base.Count * base.ElementBytes, World: c.World, SMs: c.SMs, Number: c.Number, Addresses: addresses,
	}
	if f.IsProduct() {
		r.M, r.N, r.K = c.M, c.N, c.K
	}
	for rank := range c.World {
		call := base
		call.Rank = rank
		if err := f.Accepts(call); err != nil {
			return r, err
		}
		one, err := ofRank(f, b, call)
		if err != nil {
			return r, err
		}
		r.Ranks = append(r.Ranks, one)
	}
	return r, nil
}

// base is the call that ranks have in common.
func (c Call) base(f *kernelfile.File) (kernelfile.Call, error) {
	call := kernelfile.Call{
		World: c.World, Root: c.Root, Type: c.DType.Name, Op: c.Op, ElementBytes: int64(c.DType.Size), InPlace: c.InPlace,
		SMs: c.SMs, Number: c.Number, TimeoutNS: c.TimeoutNS, M: c.M, N: c.N, K: c.K,
	}
	if o, ok := matmul.Find(f.Collective); ok {
		return c.baseOfProduct(f, o, call)
	}
	shape := collective.Shape{}
	if what, ok := kernels.Find(f.Collective); ok {
		shape = what.Shape
	}
	if _, _, _, ok := shape.InPlace(0); c.InPlace && !ok {
		return call, fmt.Errorf("%s: %s does not run in place", f.Path, f.Collective)
	}
	parts := max(shape.Send.Of(c.World), shape.Recv.Of(c.World))
	call.Count = c.Bytes / parts / int64(c.DType.Size)
	r, err := f.Requirements(call)
	if err != nil {
		return call, err
	}
	if rest := call.Count % r.CountMultiple; rest != 0 {
		call.Count += r.CountMultiple - rest // as where it runs
	}
	part := call.Count * int64(c.DType.Size)
	call.InputBytes, call.OutputBytes = part*shape.Send.Of(c.World), part*shape.Recv.Of(c.World)
	return call, nil
}

// baseOfProduct is base for a product of matrices.
func (c Call) baseOfProduct(f *kernelfile.File, o *matmul.Operation, call kernelfile.Call) (kernelfile.Call, error) {
	p := matmul.Problem{M: c.M, N: c.N, K: c.K, DType: c.DType}
	if err := o.Check(p, c.World); err != nil {
		return call, fmt.Errorf("%s: %w", f.Path, err)
	}
	if c.InPlace {
		return call, fmt.Errorf("%s: %s does not run in place", f.Path, f.Collective)
	}
	call.Matrices = userkernel.ProductValues(o, p, c.World).Matrices
	return call, nil
}

func ofRank(f *kernelfile.File, b *kernelfile.Bundle, call kernelfile.Call) (Rank, error) {
	r := Rank{Rank: call.Rank, Buffers: []Buffer{}, Steps: []Step{}}
	memory, err := f.NewMadeUp(call)
	if err != nil {
		return r, err
	}
	for _, s := range memory.Spaces {
		at, err := memory.Address(s.Buffer, call.Rank)
		if err != nil {
			return r, err
		}
		r.Buffers = append(r.Buffers, Buffer{s.Buffer, s.Bytes, s.Offset, address(at)})
	}
	steps, err := f.Bind(call, b, memory)
	if err != nil {
		return r, err
	}
	for _, s := range steps {
		r.Steps = append(r.Steps, describe(s, b, memory))
	}
	return r, nil
}

func address(at uint64) string { return fmt.Sprintf("0x%x", at) }

func describe(s kernelfile.BoundStep, b *kernelfile.Bundle, memory *kernelfile.MadeUp) Step {
	out := Step{Line: s.Step.Line}
	switch {
	case s.Step.Launch != nil:
		l, code := s.Launch, s.Step.Launch.Code
		out.Line = cmp.Or(code.Entry.Line, code.Match.Line, out.Line)
		out.Kind, out.Module, out.Entry = "launch", b.Modules[s.Module].Path, s.Entry
		out.Grid, out.Block, out.Cluster = dimensions(l.Grid()), dimensions(l.Block()), dimensions(l.ClusterBlocks())
		out.SharedBytes, out.Cooperative, out.PDL = l.SharedBytes, l.Cooperative, l.PDL
		for _, field := range s.Fields {
			out.Arguments = append(out.Arguments, argument(field, s.Params, memory))
		}
	case s.Step.Fill != nil:
		out.Kind, out.To, out.Bytes, out.Value = "fill", address(uint64(s.To)), s.Bytes, &s.Value
	case s.Step.Copy != nil:
		out.Kind, out.To, out.From, out.Bytes = "copy", address(uint64(s.To)), address(uint64(s.From)), s.Bytes
	default:
		out.Kind = "barrier"
	}
	return out
}

// dimensions is a shape such as "8" or "8x2x1"; "" is none.
func dimensions(d cudart.Dim3) string {
	switch {
	case d.X == 0:
		return ""
	case d.Y <= 1 && d.Z <= 1:
		return fmt.Sprint(d.X)
	}
	return fmt.Sprintf("%dx%dx%d", d.X, d.Y, max(d.Z, 1))
}

func argument(field kernelfile.Field, params []byte, memory *kernelfile.MadeUp) Argument {
	raw := params[field.At : field.At+field.Bytes]
	a := Argument{Line: field.Line, At: field.At, Bytes: field.Bytes, What: field.What}
	if len(raw) > wordBytes || len(raw)&(len(raw)-1) != 0 {
		a.Hex = hex.EncodeToString(raw)
		return a
	}
	padded := make([]byte, wordBytes)
	copy(padded, raw)
	value := binary.LittleEndian.Uint64(padded)
	a.Hex = fmt.Sprintf("0x%0*x", 2*len(raw), value)
	if content := memory.Content(value); len(raw) == wordBytes && content != nil {
		a.Table = words(content)
	}
	return a
}

const wordBytes = 8

// words are memory in words of 64 bits, and bytes behind them.
func words(content []byte) (all []string) {
	for len(content) >= wordBytes {
		all = append(all, fmt.Sprintf("0x%016x", binary.LittleEndian.Uint64(content)))
		content = content[wordBytes:]
	}
	if len(content) > 0 {
		all = append(all, "bytes "+strings.ToLower(hex.EncodeToString(content)))
	}
	return all
}
