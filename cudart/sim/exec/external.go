package exec

import (
	"strings"
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// external is a function of the system, which every module may declare and call (CUDA programming guide,
// "Formatted Output", "Assertion", "Dynamic Global Memory Allocation").
type external struct {
	params []int64 // sizes
	result int64   // its size, or 0
	heap   bool    // needs Config.Heap
	run    func(w *warp, s *callSite, lane int) error
}

var externals = map[string]*external{
	"__assertfail": {params: []int64{8, 8, 4, 8, 8}, run: assertFail},
	"vprintf":      {params: []int64{8, 8}, result: 4, run: printFormatted},
	"malloc":       {params: []int64{8}, result: 8, heap: true, run: mallocLane},
	"free":         {params: []int64{8}, heap: true, run: freeLane},
}

// undefinedFunction says why a function that a module only declares cannot be called.
func undefinedFunction(name string) string {
	switch {
	case strings.HasPrefix(name, "cuda") || strings.HasPrefix(name, "__cuda") || strings.HasPrefix(name, "cnp"):
		return name + " is of the device runtime, which the simulator lacks: a kernel cannot launch kernels or change graphs"
	case strings.HasPrefix(name, "nvshmem"):
		return name + " is of NVSHMEM's device library, which runs on GPUs alone"
	}
	return name + " is declared and not defined; link it into the module. The simulator itself has __assertfail, " +
		"vprintf, malloc and free"
}

// callExternal compiles the call of a function that the module declares and does not define.
func (c *compiler) callExternal(o *op, site *callSite, f *ptx.Function) {
	e, ok := externals[f.Name]
	if !ok {
		c.fail("%s", undefinedFunction(f.Name))
		return
	}
	sizes := func(list []*ptx.Var) (all []int64) {
		for _, v := range list {
			all = append(all, v.Size)
		}
		return all
	}
	if !equal(sizes(f.Params), e.params) || len(f.Results) > 1 || len(f.Results) == 1 && f.Results[0].Size != e.result {
		c.fail("%s is declared with other parameters than the system's", f.Name)
		return
	}
	c.kernel.usesHeap = c.kernel.usesHeap || e.heap
	site.external = e
	o.kind = opControl
	o.control = func(w *warp, _ *op, mask uint32) (verdict, error) {
		w.watch.blind = true // a loop that prints or allocates does more than poll
		for _, p := range site.results {
			w.ownLanes([2]int32{p.slot, p.slot + 1})
		}
		for m := mask; m != 0; m &= m - 1 {
			if err := e.run(w, site, lowest(m)); err != nil {
				return suspended, err
			}
		}
		return proceed, nil
	}
}

func equal(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// frameBase is where the frame of the running function is.
func (w *warp) frameBase(lane int) uint64 {
	if w.calls == nil {
		return 0
	}
	return w.calls.base[lane]
}

// argument is argument i of a call of a lane.
func (s *callSite) argument(w *warp, i, lane int) uint64 {
	return w.placed(&s.args[i], w.frameBase(lane), lane)
}

// setResult sets the result of a call, if somebody wants it.
func (s *callSite) setResult(w *warp, lane int, v uint64) {
	if len(s.results) > 0 {
		w.place(&s.results[0], w.frameBase(lane), lane, v)
	}
}

// assertFail is __assertfail(message, file, line, function, size of a character).
func assertFail(w *warp, s *callSite, lane int) error {
	var text [3]string
	for i, arg := range []int{0, 1, 3} {
		var err error
		if text[i], err = w.text(s.argument(w, arg, lane), lane); err != nil {
			return err
		}
	}
	return w.fault(AssertionFailed, lane, "%s:%d: %s: `%s` does not hold", text[1], s.argument(w, 2, lane), text[2],
		text[0])
}

// seen is what a weak load of a lane sees at p, with disorder also its own stores that are not in memory yet.
func (w *warp) seen(p unsafe.Pointer, size uint64, lane int) uint64 {
	return w.visibleValue(readPiece(p, size), p, size, lane, true, false)[0]
}

// maxString bounds the strings that kernels pass.
const maxString = 64 << 10

// text reads a string that ends in a zero.
func (w *warp) text(addr uint64, lane int) (string, error) {
	var all []byte
	for len(all) < maxString {
		p, err := w.rangeAt(addr+uint64(len(all)), 1, 1, lane)
		if err != nil {
			return "", err
		}
		c := w.seen(p, 1, lane)
		if c == 0 {
			return string(all), nil
		}
		all = append(all, byte(c))
	}
	return "", w.fault(IllegalAddress, lane, "the string at %#x has more than %d bytes", addr, maxString)
}

// mallocLane acquires what freeLane releases: accesses before a free happen before those after the malloc that
// returns the same memory.
func mallocLane(w *warp, s *callSite, lane int) error {
	w.block.view.acquire("gpu")
	s.setResult(w, lane, w.grid.cfg.Heap.Malloc(w.site(), lane, s.argument(w, 0, lane)))
	return nil
}

func freeLane(w *warp, s *callSite, lane int) error {
	w.release("gpu", 1<<lane)
	if addr := s.argument(w, 0, lane); !w.grid.cfg.Heap.Free(w.site(), lane, addr) {
		return w.fault(IllegalAddress, lane, "free of %#x, which malloc did not return or which was freed before", addr)
	}
	return nil
}
