package checktask

// repeats is how many calls of a size are made at first, so that a call uses again what one of its size has used, and
// that a size begins at calls of even and of odd number.
const repeats = 2

// sizeOfCall is the number of a call's size, of so many sizes with so many launches each: first repeats of each size;
// then the last size is in front of the first, and the calls go around from there.
func sizeOfCall(call, sizes, launches int) int {
	first := min(repeats, launches)
	if call < sizes*first {
		return call / first
	}
	return (call - sizes*first) * max(sizes-1, 1) % sizes
}
