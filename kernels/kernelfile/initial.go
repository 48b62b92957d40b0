package kernelfile

import "fmt"

// Uniform is the value of every byte of a buffer before the first call, if all are the same on all ranks.
func (b *Buffer) Uniform() (byte, bool) {
	switch {
	case b.InitFile.Text != "":
		return 0, false
	case b.Init == nil:
		return poison, true
	case b.Init.Value.root == nil || b.Init.Value.root.op != opConstant:
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

func (b *Buffer) isUniform() bool {
	_, ok := b.Uniform()
	return ok
}

// poison is what a buffer holds for which the file has no initial value: NaN as a float of any type.
const poison = 0xff

// Bytes is the size of an element, in bytes.
func (i *Init) Bytes() int64 { return int64(numberBytes(i.Type)) }

// DependsOnSize reports whether calls of different sizes begin with different elements.
func (i *Init) DependsOnSize() bool { return i.Value.names.has(ofCallSize) }

// CheckInit returns an error if the initial values of a buffer, which were written for a first call, are others for a
// call of another type or operation.
func (f *File) CheckInit(first, now Call) error {
	var differ names
	if first.Type != now.Type {
		differ |= nameType | nameSize
	}
	if first.Op != now.Op {
		differ |= nameOp
	}
	for _, b := range f.Buffers {
		if b.Init != nil && b.Role != Input && b.Init.Value.names.has(differ) {
			return f.errorAt(b.Init.Value.Line, "init of buffer %s is written once, for %s %s, and depends on the "+
				"type or the operation: run %s %s by itself", b.Name, first.Type, first.Op, now.Type, now.Op)
		}
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

// Tolerances are those of the contract of a Custom file, for one call; 0 where it has none.
func (f *File) Tolerances(call Call) (relative, absolute float64, err error) {
	e := env{file: f, call: call}
	if relative, err = e.tolerance(f.Contract.Tolerance); err == nil {
		absolute, err = e.tolerance(f.Contract.AbsoluteTolerance)
	}
	return relative, absolute, err
}

func (e *env) tolerance(x *Expr) (float64, error) {
	if x == nil {
		return 0, nil
	}
	v, err := e.value(*x)
	if err != nil {
		return 0, err
	}
	if v.float() < 0 {
		return 0, e.fail(*x, fmt.Sprintf("is %s, and a tolerance is at least 0", v))
	}
	return v.float(), nil
}
