package kernelfile

// Uniform is the value of every byte of a buffer before the first call, if all are the same on all ranks.
func (b *Buffer) Uniform() (byte, bool) {
	switch {
	case b.InitFile.Text != "":
		return 0, false
	case b.Init == nil:
		return poison, true
	case b.Init.Value.root.op != opConstant:
		return 0, false
	}
	n, ok := b.Init.Value.root.value.whole()
	switch {
	case !ok || n.negative || n.num > 0xff:
		return 0, false
	case n.num == 0 || numberBytes(b.Init.Type) == 1:
		return byte(n.num), true
	}
	return 0, false
}

// poison is what a buffer holds for which the file has no initial value: NaN as a float of any type.
const poison = 0xff

// Initial writes what the buffer holds before the first call, from byte at on. at is a multiple of 8; dst may end within an
// element.
func (f *File) Initial(b *Buffer, call Call, dst []byte, at int64) error {
	if value, ok := b.Uniform(); ok {
		for i := range dst {
			dst[i] = value
		}
		return nil
	}
	size := int64(numberBytes(b.Init.Type))
	e := env{file: f, call: call, i: at / size}
	var element [8]byte
	for done := 0; done < len(dst); e.i++ {
		if err := e.encode(element[:size], b.Init.Type, b.Init.Value); err != nil {
			return err
		}
		done += copy(dst[done:], element[:size])
	}
	return nil
}

// UsesMulticast reports whether some argument is a multicast address.
func (f *File) UsesMulticast() bool {
	for _, l := range f.Launches() {
		for i := range l.Args {
			if l.Args[i].has(Multicast) {
				return true
			}
		}
	}
	return false
}

func (a *Arg) has(kind ArgKind) bool {
	for i := range a.Members {
		if a.Members[i].has(kind) {
			return true
		}
	}
	return a.Kind == kind
}

// Expected is the value of element i of an output of a Custom file, by Buffer.Expect.
func (f *File) Expected(b *Buffer, call Call, i int64) (float64, error) {
	e := env{file: f, call: call, i: i}
	v, err := e.value(*b.Expect)
	if err != nil {
		return 0, err
	}
	return v.float(), nil
}

// Tolerance is the largest relative error of an output of a Custom file; 0: to the bit.
func (f *File) Tolerance(call Call) (float64, error) {
	if f.Contract.Tolerance == nil {
		return 0, nil
	}
	e := env{file: f, call: call}
	v, err := e.value(*f.Contract.Tolerance)
	if err != nil {
		return 0, err
	}
	return v.float(), nil
}
