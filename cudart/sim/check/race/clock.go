package race

// vector is a vector clock: for each thread, by number, the time up to which what it did happens before.
type vector []uint32

// at is the time of a thread; 0 is before everything that it did.
func (v vector) at(thread int) uint32 {
	if thread < len(v) {
		return v[thread]
	}
	return 0
}

// join makes v the later one of both, thread by thread.
func (v *vector) join(other vector) {
	if len(other) > len(*v) {
		*v = append(*v, make(vector, len(other)-len(*v))...)
	}
	mine := (*v)[:len(other)]
	for i, t := range other {
		mine[i] = max(mine[i], t)
	}
}

// set moves the clock of one thread.
func (v *vector) set(thread int, time uint32) {
	if thread >= len(*v) {
		*v = append(*v, make(vector, thread+1-len(*v))...)
	}
	(*v)[thread] = time
}

// knowledge is what happens before a place in a program.
type knowledge struct {
	ordered  vector // by the memory model
	anyScope vector // as if every scope were .sys; never earlier than ordered
	lost     *Edge  // the last edge that only anyScope has, or nil
}

func (k *knowledge) join(other *knowledge) {
	k.ordered.join(other.ordered)
	k.anyScope.join(other.anyScope)
	if other.lost != nil {
		k.lost = other.lost
	}
}

func (k *knowledge) copy() knowledge {
	return knowledge{
		ordered: append(vector(nil), k.ordered...), anyScope: append(vector(nil), k.anyScope...), lost: k.lost,
	}
}
