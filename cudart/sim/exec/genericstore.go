package exec

// Proxies. wgmma reads shared memory through the async proxy, which sees what
// threads have stored only after fence.proxy.async. In kernels with wgmma the
// stores to shared memory, st and stmatrix, are noted; a multiplication that
// reads what was not fenced is a fault. A fence counts for the stores of its warp,
// and of those warps that have since arrived at a barrier, even one that others
// have not. Atomics are not noted, nor is cp.async, and bulk copies do not look.

// noteBytes is how much of shared memory a note is about.
const noteBytes = chunkBytes

// Of each noteBytes, who has stored to it since the last fence: nobody, the warp
// of that number plus 1, or somebody whose stores the block sees.
const (
	noStore  = 0
	anyStore = 255
)

// genericStores are the notes of a block. Nil notes nothing.
type genericStores struct {
	notes     []uint8
	writers   uint32 // warps of which there are notes
	published bool   // there are notes of anyStore
}

func newGenericStores(k *Kernel, shared *span) *genericStores {
	if len(k.async) == 0 {
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
