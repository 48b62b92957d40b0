package checktask

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// custom is a call that a kernel file describes on its own: its inputs and outputs are areas of the algorithm.
type custom struct {
	*rank
	kept [][]cudart.DevicePtr // by call and buffer
}

func (x *custom) buffers(number int) ([]collective.CustomBuffer, error) {
	return x.Algorithm.Custom.Buffers(x.comm, x.call(number))
}

// input makes the content of an input of a rank. Each buffer has other numbers.
func (x *custom) input(number int, buffers []collective.CustomBuffer, buffer, rank int) ([]byte, error) {
	b := buffers[buffer]
	if b.Fixed != nil {
		content, err := b.Fixed(rank)
		if err == nil && int64(len(content)) != b.Bytes {
			err = fmt.Errorf("the input %s of rank %d has %d bytes, and its file %d", b.Name, rank, b.Bytes, len(content))
		}
		return content, err
	}
	in := reference.Input{
		Seed: x.Seed + uint64(number), DType: b.DType, Op: collective.Sum, World: x.World, First: int64(buffer) << 40,
	}
	content := make([]byte, b.Bytes)
	in.Fill(content, rank)
	return content, nil
}

func (x *custom) prepare() error {
	for n := range x.total() {
		buffers, err := x.buffers(n)
		if err != nil {
			return err
		}
		var kept []cudart.DevicePtr
		for i, b := range buffers {
			at, err := x.keep(b.Bytes, b.Name+" of all calls")
			if err != nil {
				return err
			}
			if kept = append(kept, at); b.Output {
				if err := x.poisonCopies(b); err != nil {
					return err
				}
				continue
			}
			content, err := x.input(n, buffers, i, x.Number)
			if err != nil {
				return err
			}
			if err := x.stream.Upload(at, content); err != nil {
				return fmt.Errorf("uploading the input %s: %w", b.Name, err)
			}
		}
		x.kept = append(x.kept, kept)
	}
	return nil
}

// poisonCopies poisons all copies of an output that rotates. A peer may write to one as soon as it has heard from the
// call before: the poison must be there before that call.
func (x *custom) poisonCopies(b collective.CustomBuffer) error {
	if !b.Rotates() {
		return nil
	}
	for _, at := range b.Copies {
		if err := x.stream.Fill(x.comm.Local(at), poison, b.Bytes); err != nil {
			return fmt.Errorf("poisoning the output %s: %w", b.Name, err)
		}
	}
	return nil
}

func (x *custom) enqueue(number int) error {
	buffers, err := x.buffers(number)
	if err != nil {
		return err
	}
	for i, b := range buffers {
		if err := x.fill(b, x.kept[number][i]); err != nil {
			return fmt.Errorf("preparing the buffer %s: %w", b.Name, err)
		}
	}
	if err := x.launch(number, x.call(number)); err != nil {
		return err
	}
	for i, b := range buffers {
		if !b.Output {
			continue
		}
		if err := x.stream.Copy(x.kept[number][i], x.at(b), b.Bytes); err != nil {
			return fmt.Errorf("copying the output %s: %w", b.Name, err)
		}
		if !b.Rotates() {
			continue
		}
		if err := x.stream.Fill(x.at(b), poison, b.Bytes); err != nil { // for the call that uses this copy next
			return fmt.Errorf("poisoning the output %s: %w", b.Name, err)
		}
	}
	return nil
}

// fill writes an input of a call, or poisons an output. Outputs that rotate are poisoned already.
func (x *custom) fill(b collective.CustomBuffer, kept cudart.DevicePtr) error {
	switch {
	case !b.Output:
		return x.stream.Copy(x.at(b), kept, b.Bytes)
	case b.Rotates():
		return nil
	}
	return x.stream.Fill(x.at(b), poison, b.Bytes)
}

func (x *custom) betweenReplays() error {
	half := x.enqueued()
	for n, kept := range x.kept[:half] {
		buffers, err := x.buffers(n)
		if err != nil {
			return err
		}
		for i, b := range buffers {
			from, to := x.kept[half+n][i], kept[i]
			if b.Output {
				from, to = to, from
			}
			if err := x.stream.Copy(to, from, b.Bytes); err != nil {
				return fmt.Errorf("copying the buffer %s between replays: %w", b.Name, err)
			}
		}
	}
	return nil
}

// at is where a buffer of the call lies on this rank.
func (x *custom) at(b collective.CustomBuffer) cudart.DevicePtr {
	return x.comm.Local(b.Offset())
}

func (x *custom) compare() error {
	for n := range x.total() {
		if err := x.compareCall(n); err != nil {
			return err
		}
	}
	return nil
}

func (x *custom) compareCall(number int) error {
	call := x.call(number)
	buffers, err := x.buffers(number)
	if err != nil {
		return err
	}
	inputs := func(buffer, rank int) ([]byte, error) { return x.input(number, buffers, buffer, rank) }
	expected, err := x.Algorithm.Custom.Expect(x.comm, x.stream, call, int64(number), inputs)
	if err != nil {
		return fmt.Errorf("computing the expected outputs: %w", err)
	}
	tolerance, err := x.Algorithm.Custom.Tolerance(x.comm, call)
	if err != nil {
		return err
	}
	for i, b := range buffers {
		if !b.Output {
			continue
		}
		got := make([]byte, b.Bytes)
		at := x.kept[x.place(number)][i]
		if err := x.stream.Download(got, at); err != nil {
			return fmt.Errorf("downloading the output %s: %w", b.Name, err)
		}
		v := reference.Values(b.DType, got, expected[i], 0, tolerance)
		wrong := x.found(number, wrongResult, output{b.Name, at, b.Bytes / int64(b.DType.Size), b.DType.Size})
		wrong.excess = reference.ExcessOf(b.DType, v, tolerance)
		wrong.add(x.Rank, v)
	}
	return nil
}
