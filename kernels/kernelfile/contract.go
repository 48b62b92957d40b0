package kernelfile

import (
	"fmt"
	"slices"
	"strings"
)

// Requirements are the numbers of the contract, for one call.
type Requirements struct {
	CountMultiple int64 // 1: any count
	Alignment     int64 // bytes; 1: any
	MaxBytes      int64 // of a part; 0: no limit
}

// Requirements evaluates the numbers of the contract.
func (f *File) Requirements(call Call) (Requirements, error) {
	e := env{file: f, call: call}
	r := Requirements{1, 1, 0}
	for _, n := range []struct {
		x     *Expr
		what  string
		least int64
		to    *int64
	}{
		{f.Contract.CountMultiple, "a number of elements", 1, &r.CountMultiple},
		{f.Contract.Alignment, "an alignment", 1, &r.Alignment},
		{f.Contract.MaxBytes, "a number of bytes", 1, &r.MaxBytes},
	} {
		if n.x == nil {
			continue
		}
		var err error
		if *n.to, err = e.between(*n.x, n.what, n.least, maxBufferBytes); err != nil {
			return r, err
		}
	}
	return r, nil
}

// ElementTypes are the element types that the file is for.
func (f *File) ElementTypes() []string {
	switch {
	case len(f.Types) > 0:
		return f.Types
	case f.IsProduct():
		return productTypes
	}
	return typeNames()
}

// Accepts says which part of the file's contract a call breaks.
func (f *File) Accepts(call Call) error {
	name := f.Name
	switch {
	case len(f.World) > 0 && !slices.Contains(f.World, call.World):
		return f.errorAt(0, "%s is for %s ranks, not %d", name, orList(f.World), call.World)
	case len(f.Types) > 0 && !slices.Contains(f.Types, call.Type):
		return f.errorAt(0, "%s is for elements of type %s, not %s", name, orList(f.Types), call.Type)
	case len(f.Ops) > 0 && !slices.Contains(f.Ops, call.Op):
		return f.errorAt(0, "%s computes %s, not %s", name, orList(f.Ops), call.Op)
	case f.Contract.InPlace == "no" && call.InPlace:
		return f.errorAt(0, "%s does not run in place: its contract has in_place = \"no\"", name)
	case f.Contract.InPlace == "only" && !call.InPlace:
		return f.errorAt(0, "%s runs only in place: its contract has in_place = \"only\"", name)
	}
	if f.IsProduct() {
		return f.acceptsProduct(call)
	}
	r, err := f.Requirements(call)
	bytes := call.Count * call.ElementBytes
	switch {
	case err != nil:
		return err
	case call.Count%r.CountMultiple != 0:
		return f.errorAt(f.Contract.CountMultiple.Line, "%s takes counts that are multiples of %d, not %d", name,
			r.CountMultiple, call.Count)
	case r.MaxBytes > 0 && bytes > r.MaxBytes:
		return f.errorAt(f.Contract.MaxBytes.Line, "%s takes parts of up to %d bytes, not %d", name, r.MaxBytes, bytes)
	}
	_, _, err = f.Tolerances(call)
	return err
}

// orList reads "a, b or c".
func orList[T any](all []T) string {
	words := make([]string, len(all))
	for i, a := range all {
		words[i] = fmt.Sprint(a)
	}
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
