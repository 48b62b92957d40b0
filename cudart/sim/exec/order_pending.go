package exec

import "unsafe"

// lineBytes is the size and alignment of a line: no access crosses it.
const lineBytes = 16

// pendingStore is a piece that was stored and has not reached memory.
type pendingStore struct {
	ptr          unsafe.Pointer
	value        word
	writer       uint64 // the id of the block's view
	releasedAt   uint64 // when it was released at .gpu scope
	size         uint8
	bytes        uint16 // which bytes of the line
	thread       int32  // within the block
	blockVisible bool   // the whole block sees it
	copied       bool   // by a bulk copy
}

// line is the pending stores to lineBytes of memory, oldest first.
type line struct {
	key    uintptr
	stores []pendingStore
}

// pendingStores are stores that have not reached memory. Overlapping ones leave in the order in
// which they came.
type pendingStores struct {
	lines map[uintptr]*line
	order []*line // so that nothing depends on the order of a map; some may be empty
	spare []*line // for other keys
	count int
}

// lineOf returns the number of the line that holds p, and the bytes of it that
// an access takes.
func lineOf(p unsafe.Pointer, size uint64) (key uintptr, bytes uint16) {
	return uintptr(p) / lineBytes, uint16((1<<size - 1) << (uintptr(p) % lineBytes))
}

func (s *pendingStores) add(st pendingStore) {
	var key uintptr
	key, st.bytes = lineOf(st.ptr, uint64(st.size))
	l := s.lines[key]
	if l == nil {
		if s.lines == nil {
			s.lines = map[uintptr]*line{}
		}
		l = s.newLine(key)
		s.lines[key] = l
		s.order = append(s.order, l)
	}
	l.stores = append(l.stores, st)
	s.count++
}

// newLine returns an empty line.
func (s *pendingStores) newLine(key uintptr) *line {
	n := len(s.spare)
	if n == 0 {
		return &line{key: key}
	}
	l := s.spare[n-1]
	s.spare, l.key = s.spare[:n-1], key
	return l
}

// forward overlays value, which memory holds at p, with the stores there that match sees.
func (s *pendingStores) forward(value word, p unsafe.Pointer, size uint64, sees func(*pendingStore) bool) word {
	key, bytes := lineOf(p, size)
	l := s.lines[key]
	if l == nil {
		return value
	}
	for i := range l.stores {
		st := &l.stores[i]
		if st.bytes&bytes == 0 || !sees(st) {
			continue
		}
		for b := range uintptr(size) {
			if at := uintptr(p) + b - uintptr(st.ptr); at < uintptr(st.size) {
				value.setByte(b, st.value.byte(at))
			}
		}
	}
	return value
}

// drain removes the stores that match, and before them older ones that they overlap, and passes
// them to write.
func (s *pendingStores) drain(match func(*pendingStore) bool, write func(*pendingStore)) {
	if s.count == 0 && len(s.order) == 0 {
		return
	}
	rest := s.order[:0]
	for _, l := range s.order {
		if l.drain(match, write); len(l.stores) > 0 {
			rest = append(rest, l)
		} else {
			delete(s.lines, l.key)
			s.spare = append(s.spare, l)
		}
	}
	clear(s.order[len(rest):])
	s.order, s.count = rest, 0
	for _, l := range rest {
		s.count += len(l.stores)
	}
}

// drainAt removes all stores to an address and passes them to write.
func (s *pendingStores) drainAt(p unsafe.Pointer, size uint64, write func(*pendingStore)) {
	if s.count == 0 {
		return
	}
	key, bytes := lineOf(p, size)
	if l := s.lines[key]; l != nil {
		before := len(l.stores)
		l.drain(func(st *pendingStore) bool { return st.bytes&bytes != 0 }, write)
		s.count -= before - len(l.stores) // an empty line goes with the next drain
	}
}

func (l *line) drain(match func(*pendingStore) bool, write func(*pendingStore)) {
	var due uint64 // a bit per store, the newest in bit 0; older ones than 64 are due
	var bytes uint16
	n := len(l.stores)
	for i := n - 1; i >= 0; i-- {
		if st := &l.stores[i]; st.bytes&bytes != 0 || match(st) || n-1-i >= 64 {
			bytes |= st.bytes
			due |= 1 << (n - 1 - i)
		}
	}
	rest := l.stores[:0]
	for i := range l.stores {
		if st := &l.stores[i]; n-1-i >= 64 || due>>(n-1-i)&1 != 0 {
			write(st)
		} else {
			rest = append(rest, *st)
		}
	}
	l.stores = rest
}
