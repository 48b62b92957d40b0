package checktask

import (
	"bytes"
	"errors"
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// poison fills an output before a call, so that an element that the call does not write is found.
const poison = 0xff

// data is what collectives move. A copy in the stream makes the input of each call, so that the call has to order it
// before its peers' loads, and these before the next copy. Another one keeps the output.
type data struct {
	*rank
	inputs, outputs cudart.DevicePtr // of all calls
}

func (d *data) sendBytes(c collective.Call) int64 { return c.Bytes() * d.Shape.Send.Of(d.World) }
func (d *data) recvBytes(c collective.Call) int64 { return c.Bytes() * d.Shape.Recv.Of(d.World) }

// input describes the inputs of a call on all ranks.
func (d *data) input(number int) reference.Input {
	a := d.algorithm(number)
	in := reference.Input{
		Seed: d.Seed + uint64(number), DType: d.DType, Op: d.Op, World: d.World, Stepwise: a.Stepwise,
		Ordered: a.AddsInOrder(), ScalesInputs: a.Stepwise && a.File != "", Chain: a.Chain, Root: d.Root,
	}
	if a.Needs.Multicast && d.DType.Kind == collective.FloatingPoint && d.DType.Size == 1 {
		in.Accumulator = collective.Half // of multimem.ld_reduce
	}
	if accumulator := a.Accumulator; accumulator != nil {
		in.Accumulator = *accumulator
	}
	return in
}

func (d *data) prepare() (err error) {
	if err := reference.Check(d.DType); err != nil {
		return err
	}
	var outputs int64
	for n := range d.total() {
		outputs += d.recvBytes(d.call(n))
	}
	all := d.allInputs()
	if d.inputs, err = d.keep(int64(len(all)), "inputs of all calls"); err != nil {
		return err
	}
	if d.outputs, err = d.keep(outputs, "outputs of all calls"); err != nil {
		return err
	}
	return d.stream.Upload(d.inputs, all)
}

// allInputs are the inputs of all calls, which are the same in all runs.
func (d *data) allInputs() (all []byte) {
	key := fmt.Sprint("inputs ", d.input(0), d.Shape, d.Number, d.Counts, d.Launches, d.Replayed)
	if kept, ok := d.Kept(key).([]byte); ok {
		return kept
	}
	for n := range d.total() {
		content := make([]byte, d.sendBytes(d.call(n)))
		d.input(n).Fill(content, d.Number)
		all = append(all, content...)
	}
	d.Keep(key, all)
	return all
}

// keep allocates memory that kernels do not know.
func (r *rank) keep(bytes int64, name string) (cudart.DevicePtr, error) {
	at, err := r.Device.Malloc(max(bytes, 1))
	if err == nil {
		r.Name(at, bytes, name)
	}
	return at, err
}

// kept is where the input and the output of a call are kept.
func (d *data) kept(number int) (input, output cudart.DevicePtr) {
	input, output = d.inputs, d.outputs
	for n := range number {
		call := d.call(n)
		input, output = input+cudart.DevicePtr(d.sendBytes(call)), output+cudart.DevicePtr(d.recvBytes(call))
	}
	return input, output
}

func (d *data) enqueue(number int) error {
	call := d.call(number)
	input, output := d.kept(number)
	send, recv := d.comm.Local(call.Send), d.comm.Local(call.Recv)
	if err := d.stream.Fill(d.comm.Local(d.layout.output), poison, d.placeBytes(call)); err != nil {
		return fmt.Errorf("poisoning the output: %w", err)
	}
	if err := d.stream.Copy(send, input, d.sendBytes(call)); err != nil {
		return fmt.Errorf("copying the input: %w", err)
	}
	if err := d.launch(number, call); err != nil {
		return err
	}
	if err := d.stream.Copy(output, recv, d.recvBytes(call)); err != nil {
		return fmt.Errorf("copying the output: %w", err)
	}
	return nil
}

func (d *data) betweenReplays() error {
	input, output := d.kept(d.enqueued())
	return errors.Join(d.stream.Copy(output, d.outputs, int64(output-d.outputs)),
		d.stream.Copy(d.inputs, input, int64(input-d.inputs)))
}

// placeBytes is the size of what a call writes to, which in place has the input, too.
func (d *data) placeBytes(c collective.Call) int64 {
	if d.InPlace {
		return max(d.sendBytes(c), d.recvBytes(c))
	}
	return d.recvBytes(c)
}

func (d *data) compare() error {
	for n := range d.total() {
		call := d.call(n)
		got := make([]byte, d.recvBytes(call))
		_, at := d.kept(d.place(n))
		if err := d.stream.Download(got, at); err != nil {
			return fmt.Errorf("downloading an output: %w", err)
		}
		all := d.verdict(n, got)
		d.note(n, output{"output", at, call.Count * d.Shape.Recv.Of(d.World), d.DType.Size}, all)
		if d.determined() {
			d.Result("output of "+d.describe(n), got)
		}
	}
	return nil
}

// determined reports whether the outputs must be the same bits under all schedules: our own algorithms add ranks in
// their order, and a kernel file says whether it does.
func (d *data) determined() bool {
	return d.Algorithm.File == "" || d.Algorithm.Ordered || !d.Shape.Reduces
}

// judged is an output and what was said of it.
type judged struct {
	output  []byte
	verdict reference.Verdict
}

// verdict compares the output of a call with the reference. In most runs the output is the same as in the first one,
// so that there is nothing to compute.
func (d *data) verdict(number int, output []byte) (all reference.Verdict) {
	count := d.count(number)
	key := fmt.Sprint("output ", d.input(number), d.Shape, d.Number, d.Root, count, d.InPlace)
	kept, ok := d.Kept(key).(judged)
	if ok && bytes.Equal(kept.output, output) {
		return kept.verdict
	}
	for _, s := range reference.Output(d.Shape, d.Number, d.World, d.Root, count, d.InPlace) {
		all = all.Merge(d.judge(number, s, output))
	}
	if !ok {
		d.Keep(key, judged{output, all})
	}
	return all
}

// judge compares a segment of an output with what it must hold. The verdict's index is that of the output.
func (d *data) judge(number int, s reference.Segment, output []byte) (v reference.Verdict) {
	size := int64(d.DType.Size)
	got := output[s.At*size:][:s.Count*size]
	in := d.input(number)
	in.First = s.First
	switch s.Source {
	case reference.Reduced:
		v = in.Reduced(got)
	case reference.Copied:
		v = in.From(s.From, got)
	default:
		v = reference.Filled(got, d.DType.Size, poison)
		v.First += s.First
	}
	v.First += s.At - s.First
	return v
}
