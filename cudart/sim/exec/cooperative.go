package exec

import (
	"fmt"
	"strconv"
	"strings"
)

// Cooperative grids. The blocks of a grid that is launched with [Config.Cooperative] are all resident at
// once, so that they may wait for one another. CUDA's cooperative groups do so at a counter in the grid's
// workspace, memory that the driver provides: %envreg1 has the upper half of its address, %envreg2 the
// lower one, and both are 0 in other grids. The counter is the second word.
//
// The workspace is a region of the executor's own, which no other grid reaches. It begins as zeros.

const workspaceBytes = 256

// TooLargeError is a cooperative grid of more blocks than can be resident at once.
type TooLargeError struct{ Blocks int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("a cooperative grid cannot have %d blocks; %d can be resident at once", e.Blocks, MaxResident)
}

// checkCooperative says whether a cooperative grid is too large.
func (cfg *Config) checkCooperative(k *Kernel) error {
	l := cfg.launch(k)
	if n := l.Grid().Count(); cfg.Cooperative && n > MaxResident {
		return &TooLargeError{n}
	}
	return nil
}

// workspace is the workspace of a grid; none unless it is cooperative.
func (cfg *Config) workspace() span {
	if !cfg.Cooperative {
		return span{}
	}
	return newSpan(workspaceWindow, zeroed(workspaceBytes)[:workspaceBytes])
}

// environmentRegister finds how to compute one of %envreg0 to %envreg31, or nil.
func environmentRegister(name string) func(w *warp, lane int) uint64 {
	number, ok := strings.CutPrefix(name, "%envreg")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || n > 31 {
		return nil
	}
	return func(w *warp, _ int) uint64 {
		switch n {
		case 1:
			return w.grid.workspace.base >> 32
		case 2:
			return w.grid.workspace.base & (1<<32 - 1)
		}
		return 0
	}
}
