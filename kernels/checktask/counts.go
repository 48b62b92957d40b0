package checktask

// vecBytes is the size of a vector.
const vecBytes = 16

// parts are those of the larger buffer.
func (c *Calls) parts(world int) int64 { return max(c.Shape.Send.Of(world), c.Shape.Recv.Of(world)) }

// UnevenCount is a number of elements of a part that ends within a vector, for a larger buffer of about so many bytes.
// It is false where buffers have one part, or the algorithm takes no such count.
func (c *Calls) UnevenCount(size int64, world int) (count int64, ok bool) {
	parts, element := c.parts(world), int64(c.DType.Size)
	if c.Shape.Empty || parts < 2 {
		return 0, false
	}
	if count = max(size/(parts*element), 1); count*element%vecBytes == 0 {
		count++
	}
	return count, count*element%vecBytes != 0 && c.accept(count, world) == nil
}

// CountsFor are the elements of a part of calls whose larger buffer has up to so many bytes, among so many ranks. Where
// buffers have several parts, these are cut to whole vectors unless they are to be unaligned, as in other runs. A count
// that the algorithm does not take is rounded up to one that it takes. A size that comes again has its count again, and
// of different sizes with the same count only the first has one. Without any, the error of the first is returned.
func (c *Calls) CountsFor(sizes []int64, world int, unaligned bool) (counts []int64, err error) {
	if c.Shape.Empty {
		return []int64{0}, nil
	}
	parts, sizeOf := c.parts(world), map[int64]int64{}
	for _, size := range sizes {
		count := max(size/(parts*int64(c.DType.Size)), 1)
		vec := vecBytes / int64(c.DType.Size)
		if whole := count / vec * vec; parts > 1 && whole > 0 && !unaligned {
			count = whole
		}
		count, refused := c.accepted(count, world)
		switch {
		case refused != nil:
			if err == nil {
				err = refused
			}
		default:
			if _, ok := sizeOf[count]; !ok {
				sizeOf[count] = size
			}
			if sizeOf[count] == size {
				counts = append(counts, count)
			}
		}
	}
	if len(counts) > 0 {
		return counts, nil
	}
	return nil, err
}

// accepted is the first count from one on that the algorithm takes.
func (c *Calls) accepted(count int64, world int) (int64, error) {
	const most = 1 << 14 // elements, of which a count may have to be a multiple: more than a row of a large model has
	first := c.accept(count, world)
	if first == nil {
		return count, nil
	}
	for more := range int64(most) {
		if c.accept(count+more, world) == nil {
			return count + more, nil
		}
	}
	return 0, first
}

// accept returns why the algorithm does not take a call.
func (c *Calls) accept(count int64, world int) error {
	call := c.callOf(count)
	if err := c.Algorithm.Check(call, world); err != nil {
		return err
	}
	if c.Algorithm.Areas == nil {
		return nil
	}
	_, err := c.Algorithm.Areas(world, 1, call)
	return err
}
