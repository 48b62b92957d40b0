package userkernel

import "gpurun/kernels/kernelfile"

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

// initial makes what an area holds before the first call, from a byte on.
func (st *state) initial(t target, area int, dst []byte, at int64) error {
	b := st.inAreas()[area]
	one := st.areas[b.Name].Bytes / copies(b)
	for len(dst) > 0 { // copy by copy
		n := min(int64(len(dst)), one-at%one)
		if err := st.content(b, st.values(t), dst[:n], at%one); err != nil {
			return err
		}
		dst, at = dst[n:], at+n
	}
	return nil
}
