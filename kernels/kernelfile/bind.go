package kernelfile

import (
	"gpurun/cudart"
)

// Call is what expressions are evaluated over, for one call of one rank.
type Call struct {
	Rank, World, Root int
	Type, Op          string // canonical names; Op is "none" where nothing is reduced
	ElementBytes      int64
	Count             int64 // elements of a part
	InPlace           bool
	SMs               int // the least number of multiprocessors among the ranks' devices
	Blocks            int // the grid that the user asks for; 0: none in particular
	// InputBytes and OutputBytes are the sizes of this rank's buffers input and output. They follow from the collective,
	// which the caller knows; a Custom file lists its buffers.
	InputBytes, OutputBytes int64
	Number                  int64 // of the call, from 0 on, counted since signals were initialized
	TimeoutNS               int64
	// M, N and K are the extents of a product of matrices: M is that of the whole.
	M, N, K  int64
	Matrices Matrices
}

// Matrices are the sizes of a rank's matrices of a product, in bytes. Gathered is 0 where the product gathers nothing.
type Matrices struct{ A, B, C, Gathered int64 }

// Memory gives addresses to Bind. Buffers that are neither private nor of the host lie at the same distances from each
// other on all ranks, so that offset("b") of this rank is right for the others as well.
type Memory interface {
	// Address is where a rank's buffer begins, as this rank's device sees it.
	Address(buffer string, rank int) (uint64, error)
	// Multicast is the multicast address of a buffer.
	Multicast(buffer string) (uint64, error)
	// Table is the address of device memory with this content.
	Table(content []byte) (uint64, error)
	// TensorMap encodes a tensor map for this rank's device.
	TensorMap(m cudart.TensorMap) ([cudart.TensorMapBytes]byte, error)
}

// BoundStep is a step of a call with all its expressions evaluated.
type BoundStep struct {
	Step   *Step
	Module string // key of Bundle.Modules
	Entry  string
	Launch cudart.Launch
	Params []byte
	Fields []Field // of Params, in order
	// Patches are the fields that depend on the number of the call.
	Patches []Patch
	// Resident is how many blocks of a launch must be resident at once; 0: none in particular.
	Resident int64
	// To, From, Bytes and Value are those of a Fill or a Copy.
	To, From cudart.DevicePtr
	Bytes    int64
	Value    byte
}

// Field describes one argument, for people.
type Field struct {
	At, Bytes, Align int
	What             string // such as "u64 count" or "pointer pad of rank 2"
	Line             int
}

// ParamOffsets is where each argument begins in Params.
func (b *BoundStep) ParamOffsets() (all []int) {
	for _, f := range b.Fields {
		all = append(all, f.At)
	}
	return all
}

// Patch is a number among the parameters that depends on the number of the call: see [Patch.Write].
type Patch struct {
	At    int
	Type  string
	Value Expr
	env   *env
}

// Write evaluates the number for a call, and writes it among the parameters. It allocates nothing. A Patch belongs to
// one goroutine.
func (p *Patch) Write(params []byte, number int64) error {
	p.env.call.Number = number
	return p.env.encode(params[p.At:], p.Type, p.Value)
}

// encode evaluates a number and writes it to the front of to.
func (e *env) encode(to []byte, numberType string, x Expr) error {
	v, err := e.value(x)
	if err != nil {
		return err
	}
	if err := encode(to, numberType, v); err != nil {
		return e.fail(x, err.Error())
	}
	return nil
}

// Bind evaluates the steps of a call of one rank. Steps whose condition is false are left out. Where the kernels'
// parameters are known, the arguments are compared with them. A nil bundle has no modules: then names of kernels are
// as the file has them, and nothing is compared.
//
// Memory gives the addresses of this call: of the copies whose turn it is, where buffers rotate. If
// [File.DependsOnCall], each call must be bound anew. Otherwise Patches are all that changes from call to call.
func (f *File) Bind(call Call, bundle *Bundle, m Memory) ([]BoundStep, error) {
	var all []BoundStep
	for i := range f.Steps {
		b := newBinder(f, call, m)
		b.bundle, b.step = bundle, &f.Steps[i]
		bound, skip, err := b.bind()
		if err != nil {
			return nil, err
		}
		if !skip {
			all = append(all, bound)
		}
	}
	return all, nil
}

// BindReference is Bind for the launch of [File.Reference]. Memory gives the addresses of all ranks' inputs and outputs
// on one device.
func (f *File) BindReference(call Call, bundle *Bundle, m Memory) (BoundStep, error) {
	if f.Reference == nil {
		return BoundStep{}, f.errorAt(0, "the file has no [reference]")
	}
	b := newBinder(f, call, m)
	b.bundle, b.step, b.oneDevice = bundle, f.Reference, true
	bound, _, err := b.bind()
	return bound, err
}

// Sizes are the bytes of each of Buffers, in order. A buffer that rotates has so many bytes in each of its copies.
func (f *File) Sizes(call Call) ([]int64, error) {
	e := env{file: f, call: call}
	all := make([]int64, len(f.Buffers))
	for i := range f.Buffers {
		var err error
		if all[i], err = e.length(f.Buffers[i].Name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// binder binds one step.
type binder struct {
	env
	owner  int // whose buffers pointers are by default: this rank's, in a table of structs those of the entry's rank
	bundle *Bundle
	step   *Step
	// oneDevice: the buffers of all ranks are on this device, where none is private.
	oneDevice bool
	out       BoundStep
}

func newBinder(f *File, call Call, m Memory) binder {
	return binder{env: env{file: f, call: call, memory: m}, owner: call.Rank}
}

func (b *binder) bind() (bound BoundStep, skip bool, err error) {
	b.out.Step = b.step
	if b.step.When != nil {
		do, err := b.truth(*b.step.When)
		if err != nil || !do {
			return BoundStep{}, true, err
		}
	}
	switch {
	case b.step.Launch != nil:
		err = b.launch(b.step.Launch)
	case b.step.Fill != nil:
		err = b.fill(b.step.Fill)
	case b.step.Copy != nil:
		err = b.copy(b.step.Copy)
	}
	return b.out, false, err
}

func (b *binder) fill(f *Fill) error {
	value, err := b.or(f.Value, "a byte", 0, 255, 0)
	if err != nil {
		return err
	}
	b.out.Value = byte(value)
	to, err := b.span(f.Buffer, nil, f.Offset)
	if err != nil {
		return err
	}
	b.out.To = to.at
	b.out.Bytes, err = b.or(f.Bytes, "a number of bytes within the buffer", 0, to.rest, to.rest)
	return err
}

func (b *binder) copy(c *Copy) error {
	from, err := b.span(c.From, c.FromRank, c.FromOffset)
	if err != nil {
		return err
	}
	to, err := b.span(c.To, c.ToRank, c.ToOffset)
	if err != nil {
		return err
	}
	b.out.From, b.out.To = from.at, to.at
	b.out.Bytes, err = b.or(c.Bytes, "a number of bytes within both buffers", 0, min(from.rest, to.rest), from.rest)
	if err == nil && b.out.Bytes > to.rest {
		err = b.file.errorAt(c.To.Line, "copy of %d bytes to %s, which has %d from there on", b.out.Bytes, c.To.Text, to.rest)
	}
	return err
}

// or evaluates an expression in a range, or gives what stands for an absent one.
func (e *env) or(x Expr, what string, least, most, absent int64) (int64, error) {
	if x.IsZero() {
		return absent, nil
	}
	return e.between(x, what, least, most)
}

// A span is a buffer from an offset on.
type span struct {
	at   cudart.DevicePtr
	rest int64 // bytes
}

func (b *binder) span(buffer Text, rank *Expr, offset Expr) (span, error) {
	length, err := b.length(buffer.Text)
	if err != nil {
		return span{}, err
	}
	skipped, err := b.or(offset, "an offset within buffer "+buffer.Text, 0, length, 0)
	if err != nil {
		return span{}, err
	}
	at, err := b.address(buffer, rank, b.call.Rank)
	return span{cudart.DevicePtr(at + uint64(skipped)), length - skipped}, err
}

// address is where a rank's buffer begins. An absent expression is the given rank.
func (b *binder) address(buffer Text, rank *Expr, absent int) (uint64, error) {
	whose := int64(absent)
	if rank != nil {
		var err error
		if whose, err = b.between(*rank, "a rank", 0, int64(b.call.World-1)); err != nil {
			return 0, err
		}
	} else if absent >= b.call.World {
		return 0, b.file.errorAt(buffer.Line, "entry %d is of rank %d, and a rank is 0 to %d: say by rank whose buffer each "+
			"entry is", absent, absent, b.call.World-1)
	}
	if d := b.file.buffer(buffer.Text); d != nil && (d.Private || d.Host) && !b.oneDevice &&
		int(whose) != b.call.Rank {
		return 0, b.file.errorAt(buffer.Line, "rank %d has no address of rank %d's buffer %s, which is private: "+
			"leave out private and host, or take this rank's own by pointer", b.call.Rank, whose, buffer.Text)
	}
	at, err := b.memory.Address(buffer.Text, int(whose))
	if err != nil {
		return 0, b.file.errorAt(buffer.Line, "address of buffer %s of rank %d: %v", buffer.Text, whose, err)
	}
	return at, nil
}
