package exec

// lift1, lift2 and lift3 turn a function of scalars into one of registers.
// The common instructions have loops of their own, because a call per lane
// costs more than most of them. Lifting nil gives nil: no such instruction.

func lift1(f func(a uint64) uint64) alu {
	if f == nil {
		return nil
	}
	return func(d, a, _, _ *lanes) {
		for i := range d {
			d[i] = f(a[i])
		}
	}
}

func lift2(f func(a, b uint64) uint64) alu {
	if f == nil {
		return nil
	}
	return func(d, a, b, _ *lanes) {
		for i := range d {
			d[i] = f(a[i], b[i])
		}
	}
}

func lift3(f func(a, b, c uint64) uint64) alu {
	if f == nil {
		return nil
	}
	return func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = f(a[i], b[i], c[i])
		}
	}
}
