package check

// slab makes many small objects of a run with few allocations. They live as long as the run.
type slab[T any] []T

// next is a new object, which is zero.
func (s *slab[T]) next() *T {
	const objects = 64
	if len(*s) == 0 {
		*s = make([]T, objects)
	}
	x := &(*s)[0]
	*s = (*s)[1:]
	return x
}
