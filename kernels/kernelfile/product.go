package kernelfile

import "slices"

// The matrices of a product. gathered is all of A, where the product gathers it.
const (
	matrixA        = "a"
	matrixB        = "b"
	matrixC        = "c"
	matrixGathered = "gathered"

	gatheringProduct = "allgather-matmul"
)

// productTypes are the element types of products. A test compares them with the catalog.
var productTypes = []string{"half", "bfloat16"}

// IsProduct reports whether the file computes a product of matrices.
func (f *File) IsProduct() bool { return isProduct(f.Collective) }

func isProduct(collective string) bool { return slices.Contains(ownBuffers(collective), matrixA) }

// instead are the names that calls have in place of absentNames.
func instead(collective string) string {
	if isProduct(collective) {
		return "m, n and k"
	}
	return "count: m, n and k are those of products of matrices"
}

// checkTypes refuses element types that products do not have.
func (d *decoder) checkTypes(f *File, t *table) {
	for _, name := range f.Types {
		if f.IsProduct() && !slices.Contains(productTypes, name) {
			d.fail(t.node.line, "%s multiplies %s, not %s", f.Collective, orList(productTypes), name)
		}
	}
}

// checkProductContract refuses what does not apply to a product, or to anything else, and what verification of products
// cannot tell.
func (d *decoder) checkProductContract(f *File, t *table) {
	refuse := func(key, format string, args ...any) {
		if n := t.get(key); n != nil {
			d.fail(n.line, key+" is not for "+f.Collective+": "+format, args...)
		}
	}
	if !f.IsProduct() {
		for _, key := range []string{"m_multiple", "n_multiple", "k_multiple"} {
			refuse(key, "it is for products of matrices")
		}
		return
	}
	for _, key := range []string{"count_multiple", "max_bytes"} {
		refuse(key, "write m_multiple, n_multiple or k_multiple")
	}
	refuse("alignment", "its matrices are aligned to 256 bytes")
	refuse("in_place", "its matrices are always apart")
	refuse("order", "its sums are exact, or lie within bounds that any order keeps")
	if f.Contract.Accumulate != "" && f.Contract.Accumulate != "float" {
		refuse("accumulate", "its bounds are those of sums in float")
	}
	if f.Collective == gatheringProduct {
		refuse("stepwise", "it adds no products of other ranks")
	}
}

// acceptsProduct says which extent of a product the contract excludes.
func (f *File) acceptsProduct(call Call) error {
	e := env{file: f, call: call}
	for _, x := range []struct {
		name     string
		multiple *Expr
		extent   int64
	}{
		{"an M", f.Contract.MMultiple, call.M},
		{"an N", f.Contract.NMultiple, call.N},
		{"a K", f.Contract.KMultiple, call.K},
	} {
		if x.multiple == nil {
			continue
		}
		of, err := e.between(*x.multiple, "a number of elements", 1, maxBufferBytes)
		if err != nil {
			return err
		}
		if x.extent%of != 0 {
			return f.errorAt(x.multiple.Line, "%s takes %s that is a multiple of %d, not %d", f.Name, x.name, of, x.extent)
		}
	}
	return nil
}
