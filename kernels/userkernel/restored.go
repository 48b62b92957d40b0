package userkernel

import (
	"slices"

	"gpurun/kernels/kernelfile"
)

// inAreas are the buffers that are areas, in the order of these.
func (u *user) inAreas() (all []*kernelfile.Buffer) {
	for i := range u.file.Buffers {
		if b := &u.file.Buffers[i]; !b.Size.IsZero() {
			all = append(all, b)
		}
	}
	return all
}

// restoredAreas are the numbers of the areas that the kernel must leave as they were.
func (u *user) restoredAreas() (numbers []int) {
	for i, b := range u.inAreas() {
		if b.Restored && !b.Host {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// initial makes what an area must hold after a call, from a byte on. dst has what it holds, which stays where the
// area may hold anything.
func (st *state) initial(t target, area int, dst []byte, at int64) error {
	b := st.inAreas()[area]
	if b.Role == kernelfile.Input {
		return st.initialInput(b, t, dst, at)
	}
	placed := st.areas[b.Name]
	for len(dst) > 0 { // copy by copy, without what lies between them
		in := at % placed.Step()
		n := min(int64(len(dst)), placed.Step()-in)
		if held := min(n, placed.Bytes-in); held > 0 {
			if err := st.content(b, st.values(t), dst[:held], in); err != nil {
				return err
			}
		}
		dst, at = dst[n:], at+n
	}
	return nil
}

// initialInput is initial for an input of a custom file. It is written for each call: the copy that the last call has
// used holds the values of that call, as many as the call has.
func (st *state) initialInput(b *kernelfile.Buffer, t target, dst []byte, at int64) error {
	values := st.values(t)
	sizes, err := st.file.Sizes(values)
	if err != nil {
		return err
	}
	n, area := copies(b), st.areas[b.Name]
	begin := (st.number + n - 1) % n * area.Step()
	end := begin + sizes[slices.IndexFunc(st.file.Buffers, func(x kernelfile.Buffer) bool { return x.Name == b.Name })]
	from, to := max(at, begin), min(at+int64(len(dst)), end)
	if from >= to {
		return nil
	}
	return st.content(b, values, dst[from-at:to-at], from-begin)
}
