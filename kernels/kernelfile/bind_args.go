package kernelfile

import (
	"encoding/binary"
	"fmt"
	"strings"

	"gpurun/cudart"
)

// packer lays out members as C does: each at a multiple of its alignment.
type packer struct {
	bytes   []byte
	align   int // the largest of the members so far
	patches []Patch
	fields  []Field
}

// place makes room for a member.
func (p *packer) place(bytes, align int) []byte {
	at := roundUp(len(p.bytes), align)
	p.bytes = append(p.bytes, make([]byte, at+bytes-len(p.bytes))...)
	p.align = max(p.align, align)
	p.fields = append(p.fields, Field{At: at, Bytes: bytes, Align: align})
	return p.bytes[at:]
}

func (p *packer) word(n uint64) { binary.LittleEndian.PutUint64(p.place(8, 8), n) }

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// params evaluates the arguments of a launch. If the kernel's parameters are known, null = "rest" fills them up.
func (b *binder) params(l *Launch, kernel []Param, known bool) error {
	var p packer
	for i := range l.Args {
		a := &l.Args[i]
		if a.Rest {
			if !known {
				return b.file.errorAt(a.Line, `the parameters of the kernel are not known: write null = 2, or how many `+
					`there are, for "rest"`)
			}
			for len(p.fields) < len(kernel) {
				p.word(0)
				b.describe(&p, a, len(p.fields)-1)
			}
			continue
		}
		first := len(p.fields)
		if err := b.put(&p, a); err != nil {
			return err
		}
		b.describe(&p, a, first)
		if len(p.bytes) > maxParamBytes {
			return b.file.errorAt(a.Line, "the arguments have more than %d bytes, the most that a kernel takes", maxParamBytes)
		}
	}
	b.out.Params, b.out.Fields, b.out.Patches = p.bytes, p.fields, p.patches
	return nil
}

// put adds an argument, or a member of a struct.
func (b *binder) put(p *packer, a *Arg) error {
	switch a.Kind {
	case Number:
		return b.number(p, a)
	case Pointer:
		return b.pointer(p, a, b.call.Rank)
	case Pointers:
		return b.pointers(p, a)
	case Table:
		var content packer
		if err := b.pointers(&content, a); err != nil {
			return err
		}
		return b.table(p, a, content.bytes)
	case Struct:
		return b.structure(p, a)
	case Structs:
		return b.structs(p, a)
	case Multicast:
		return b.multicast(p, a)
	case Tensor:
		return b.tensor(p, a)
	case Raw:
		copy(p.place(len(a.Bytes), max(a.Align, 1)), a.Bytes)
	default:
		p.word(0)
	}
	return nil
}

func (b *binder) number(p *packer, a *Arg) error {
	size := numberBytes(a.Type)
	to := p.place(size, size)
	if a.Value.names.has(nameCall) {
		e := b.env
		p.patches = append(p.patches, Patch{At: len(p.bytes) - size, Type: a.Type, Value: a.Value, env: &e})
	}
	return b.encode(to, a.Type, a.Value)
}

func (b *binder) pointer(p *packer, a *Arg, rank int) error {
	at, err := b.address(a.Buffer, a.Rank, rank)
	if err != nil {
		return err
	}
	return b.shifted(p, a, at)
}

// shifted adds an address, with the argument's offset.
func (b *binder) shifted(p *packer, a *Arg, at uint64) error {
	if a.Offset != nil {
		n, err := b.between(*a.Offset, "an offset in bytes", -maxBufferBytes, maxBufferBytes)
		if err != nil {
			return err
		}
		at += uint64(n)
	}
	p.word(at)
	return nil
}

// entries calls a function with i for each rank, and then makes null entries up to the padding.
func (b *binder) entries(a *Arg, entry func() error, null func()) error {
	if a.Pad > 0 && a.Pad < b.call.World {
		return b.file.errorAt(a.Line, "pad is %d, and there are %d ranks", a.Pad, b.call.World)
	}
	defer func(i int64) { b.i = i }(b.i)
	for b.i = 0; b.i < int64(b.call.World); b.i++ {
		if err := entry(); err != nil {
			return err
		}
	}
	for range a.Pad - b.call.World {
		null()
	}
	return nil
}

func (b *binder) pointers(p *packer, a *Arg) error {
	return b.entries(a, func() error { return b.pointer(p, a, int(b.i)) }, func() { p.word(0) })
}

// table adds the address of device memory.
func (b *binder) table(p *packer, a *Arg, content []byte) error {
	at, err := b.memory.Table(content)
	if err != nil {
		return b.file.errorAt(a.Line, "making a table of %d bytes: %v", len(content), err)
	}
	p.word(at)
	return nil
}

// members lays out a struct by itself.
func (b *binder) members(a *Arg) (packer, error) {
	q := packer{align: max(a.Align, 1)}
	for i := range a.Members {
		if err := b.put(&q, &a.Members[i]); err != nil {
			return q, err
		}
		if len(q.bytes) > maxParamBytes {
			return q, b.file.errorAt(a.Line, "a struct has more than %d bytes", maxParamBytes)
		}
	}
	size := roundUp(len(q.bytes), q.align)
	q.bytes = append(q.bytes, make([]byte, size-len(q.bytes))...)
	return q, nil
}

func (b *binder) structure(p *packer, a *Arg) error {
	q, err := b.members(a)
	if err != nil {
		return err
	}
	copy(p.place(len(q.bytes), q.align), q.bytes)
	for _, patch := range q.patches {
		patch.At += len(p.bytes) - len(q.bytes)
		p.patches = append(p.patches, patch)
	}
	return nil
}

func (b *binder) structs(p *packer, a *Arg) error {
	var content []byte
	size := 0
	err := b.entries(a, func() error {
		q, err := b.members(a)
		size = len(q.bytes)
		content = append(content, q.bytes...)
		return err
	}, func() { content = append(content, make([]byte, size)...) })
	if err != nil {
		return err
	}
	return b.table(p, a, content)
}

func (b *binder) multicast(p *packer, a *Arg) error {
	at, err := b.memory.Multicast(a.Buffer.Text)
	if err != nil {
		return b.file.errorAt(a.Line, "multicast address of buffer %s: %v", a.Buffer.Text, err)
	}
	return b.shifted(p, a, at)
}

func (b *binder) tensor(p *packer, a *Arg) error {
	var base packer
	if err := b.pointer(&base, a, b.call.Rank); err != nil {
		return err
	}
	m, err := b.tensorMap(a.Map)
	if err != nil {
		return err
	}
	m.Base = cudart.DevicePtr(binary.LittleEndian.Uint64(base.bytes))
	encoded, err := b.memory.TensorMap(m)
	if err != nil {
		return b.file.errorAt(a.Line, "tensor map of buffer %s: %v", a.Buffer.Text, err)
	}
	copy(p.place(cudart.TensorMapBytes, cudart.TensorMapAlign), encoded[:])
	return nil
}

// strideLimit is above all strides of tensor maps.
const strideLimit = 1 << 40

// tensorMap evaluates a tensor map, its address aside. The backend checks it.
func (b *binder) tensorMap(t *TensorMap) (m cudart.TensorMap, err error) {
	name := t.Type
	if name == "" {
		name = b.call.Type
	}
	at, ok := tensorTypeIndex(name)
	if !ok {
		return m, b.file.errorAt(t.Sizes[0].Line, "a tensor map has no elements of type %s: write type, such as u8", name)
	}
	m.Type, m.FillNaN = cudart.TensorType(at), t.FillNaN
	stride := int64(m.Type.Bytes())
	for i, x := range t.Sizes {
		n, err := b.between(x, "a number of elements", 1, 1<<32)
		if err != nil {
			return m, err
		}
		m.Sizes = append(m.Sizes, n)
		if stride > strideLimit/n {
			stride = strideLimit
		} else {
			stride *= n
		}
		if len(t.Strides) == 0 && i < len(t.Sizes)-1 {
			m.Strides = append(m.Strides, stride)
		}
	}
	for _, x := range t.Strides {
		n, err := b.between(x, "a stride in bytes", 0, strideLimit)
		if err != nil {
			return m, err
		}
		m.Strides = append(m.Strides, n)
	}
	if m.Box, err = b.ints(t.Box, "an extent of a box", 256); err != nil {
		return m, err
	}
	if m.Steps, err = b.ints(t.Steps, "a step", 8); err != nil {
		return m, err
	}
	swizzle, err := b.or(t.Swizzle, "a swizzle", 0, 128, 0)
	if err != nil {
		return m, err
	}
	l2, err := b.or(t.L2, "an L2 promotion", 0, 256, 0)
	m.Swizzle, m.L2Promotion = int(swizzle), int(l2)
	return m, err
}

func (b *binder) ints(all []Expr, what string, most int64) ([]int, error) {
	var values []int
	for _, x := range all {
		n, err := b.between(x, what, 1, most)
		if err != nil {
			return nil, err
		}
		values = append(values, int(n))
	}
	return values, nil
}

// describe says of the fields from one on what they are.
func (b *binder) describe(p *packer, a *Arg, first int) {
	for i := first; i < len(p.fields); i++ {
		p.fields[i].Line = a.Line
		p.fields[i].What = a.describe()
		if a.Kind == Pointers {
			p.fields[i].What = fmt.Sprintf("pointer %s, entry %d", a.Buffer.Text, i-first)
		}
	}
}

// describe is a short text for people.
func (a *Arg) describe() string {
	offset := func(text string) string {
		if a.Rank != nil {
			text += " of rank " + a.Rank.Text
		}
		if a.Offset != nil {
			text += " + " + a.Offset.Text
		}
		return text
	}
	switch a.Kind {
	case Number:
		return a.Type + " " + a.Value.Text
	case Pointer:
		return offset("pointer " + a.Buffer.Text)
	case Pointers:
		return offset("pointers " + a.Buffer.Text)
	case Table:
		return offset("table of pointers " + a.Buffer.Text)
	case Multicast:
		return offset("multicast " + a.Buffer.Text)
	case Tensor:
		return offset("tensor map of " + a.Buffer.Text)
	case Raw:
		return "bytes"
	case Null:
		return "null"
	}
	var members []string
	for i := range a.Members {
		members = append(members, a.Members[i].describe())
	}
	text := "{" + strings.Join(members, ", ") + "}"
	if a.Kind == Structs {
		return "table of structs " + text
	}
	return "struct " + text
}
