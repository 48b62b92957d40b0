package kernelfile

import (
	"encoding/binary"
	"maps"
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
		return b.pointer(p, a, b.owner)
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
		e.sizes = maps.Clone(e.sizes)
		e.lets = make([]letValue, len(b.file.Let)) // large enough for Write to allocate nothing
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

// entries calls a function with i for each entry, by default one for each rank, and then makes null entries up to the
// padding.
func (b *binder) entries(a *Arg, entry func() error, null func()) error {
	entries := int64(b.call.World)
	if a.Entries != nil {
		n, err := b.between(*a.Entries, "a number of entries", 1, maxPad)
		if err != nil {
			return err
		}
		entries = n
	}
	if a.Pad > 0 && int64(a.Pad) < entries {
		return b.file.errorAt(a.Line, "pad is %d, and there are %d entries", a.Pad, entries)
	}
	defer func(i int64) { b.i = i }(b.i)
	for b.i = 0; b.i < entries; b.i++ {
		if err := entry(); err != nil {
			return err
		}
	}
	for range int64(a.Pad) - entries {
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

// structure adds a struct, or the structs of an array.
func (b *binder) structure(p *packer, a *Arg) error {
	if !a.isArray() {
		_, err := b.oneStruct(p, a)
		return err
	}
	size, align := 0, 1
	defer func(owner int) { b.owner = owner }(b.owner)
	return b.entries(a, func() error {
		b.owner = int(b.i)
		q, err := b.oneStruct(p, a)
		size, align = len(q.bytes), q.align
		return err
	}, func() { p.place(size, align) })
}

func (b *binder) oneStruct(p *packer, a *Arg) (packer, error) {
	q, err := b.members(a)
	if err != nil {
		return q, err
	}
	copy(p.place(len(q.bytes), q.align), q.bytes)
	for _, patch := range q.patches {
		patch.At += len(p.bytes) - len(q.bytes)
		p.patches = append(p.patches, patch)
	}
	return q, nil
}

func (b *binder) structs(p *packer, a *Arg) error {
	var content []byte
	size := 0
	defer func(owner int) { b.owner = owner }(b.owner)
	err := b.entries(a, func() error {
		b.owner = int(b.i)
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
