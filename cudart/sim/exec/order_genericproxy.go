package exec

// The generic proxy. wgmma reads shared memory through the async proxy, which sees the stores of
// threads, through the generic proxy, only after fence.proxy.async. In kernels with wgmma the
// stores to shared memory by st and stmatrix are noted. A multiplication that reads unfenced memory is a
// fault. A fence covers the stores of its warp, and of warps that have arrived at a barrier since,
// whether the barrier is complete or not. Atomics and cp.async are not noted, and bulk copies are not
// checked.

// noteBytes is the size of the piece of shared memory that one note is about.
const noteBytes = chunkBytes

// A note says which warp has stored to the piece since the last fence: none, the warp of that
// number minus 1, or any warp, whose store is visible to the block.
const (
	noStore  = 0
	anyStore = 255
)

// genericStores are the notes of a block. A nil one notes nothing.
type genericStores struct {
	notes     []uint8
	writers   uint32 // warps of which there are notes
	published bool   // some notes are anyStore
}

func newGenericStores(k *Kernel, shared *span) *genericStores {
	if len(k.async) == 0 && !k.usesTensorCores || k.program.observed { // what observes it judges the stores itself
		return nil
	}
	return &genericStores{notes: make([]uint8, shared.size/noteBytes+1)}
}

// note is a store by a warp to an address, of no more than noteBytes, which it
// does not cross. Only the block's shared memory counts.
func (s *genericStores) note(w *warp, addr uint64) {
	if s == nil || addr-w.block.shared.base >= w.block.shared.size {
		return
	}
	s.notes[(addr-w.block.shared.base)/noteBytes] = uint8(w.index + 1)
	s.writers |= 1 << w.index
}

// noteStores is note for a store of all lanes to a region.
func (w *warp) noteStores(o *op, s *span) {
	if w.block.generic == nil || s != &w.block.shared {
		return
	}
	w.expandLanes(o.a)
	for _, base := range w.regs[o.a] {
		w.block.generic.note(w, base+o.mem.bias)
	}
}

// publish is a release by a warp.
func (s *genericStores) publish(w *warp) {
	if s != nil && s.writers>>w.index&1 != 0 {
		s.replace(uint8(w.index+1), anyStore)
		s.writers, s.published = s.writers&^(1<<w.index), true
	}
}

// fence is fence.proxy.async by a warp.
func (s *genericStores) fence(w *warp) {
	s.publish(w)
	if s != nil && s.published {
		s.replace(anyStore, noStore)
		s.published = false
	}
}

func (s *genericStores) replace(note, by uint8) {
	for i, n := range s.notes {
		if n == note {
			s.notes[i] = by
		}
	}
}

// unfenced reports whether memory at an address was stored to and not fenced.
func (s *genericStores) unfenced(at uint64) bool { return s != nil && s.notes[at/noteBytes] != noStore }
