package check

import (
	"slices"
	"testing"

	"gpurun/cmd/gpurun/checkreport"
	engine "gpurun/cudart/sim/check"
	"gpurun/kernels"
)

// A kernel of a kernel file that was loaded, and that no schedule of any variant has launched, makes the case
// incomplete. Of gpurun's own modules, kernels are loaded ahead.
func TestUnlaunchedKernelsAreIncomplete(t *testing.T) {
	use := func(module, entry string, launches int) engine.KernelUse {
		return engine.KernelUse{Module: module, Entry: entry, Launches: launches}
	}
	own := kernels.Modules()[0].Name
	for name, c := range map[string]struct {
		uses []engine.KernelUse // of the variants
		want []string
	}{
		"launched":            {[]engine.KernelUse{use("a.ptx", "one", 3)}, nil},
		"by another variant":  {[]engine.KernelUse{use("a.ptx", "one", 0), use("a.ptx", "one", 1)}, nil},
		"gpurun's own module": {[]engine.KernelUse{use(own, "one", 0)}, nil},
		"never": {
			[]engine.KernelUse{use("a.ptx", "one", 3), use("a.ptx", "two", 0), use("a.ptx", "two", 0)},
			[]string{"the kernel two of a.ptx was loaded, and no call has launched it"},
		},
		"another module's kernel of the same name": {
			[]engine.KernelUse{use("a.ptx", "one", 0), use("b.ptx", "one", 1)},
			[]string{"the kernel one of a.ptx was loaded, and no call has launched it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &merge{kernels: [][]engine.KernelUse{c.uses}}
			m.result.Cases = []checkreport.Case{{
				Collective: "custom", Algorithm: "a.toml", Schedules: 1, Blocks: 1,
			}}
			m.findUnlaunched()
			if got := m.result.Cases[0].Incomplete; !slices.Equal(got, c.want) {
				t.Errorf("not checked: %q, want %q", got, c.want)
			}
			if got, want := len(m.incomplete), len(c.want); got != want {
				t.Errorf("the summary has %d lines, want %d", got, want)
			}
		})
	}
}
