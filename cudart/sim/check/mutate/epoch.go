package mutate

import (
	"fmt"
	"slices"

	"gpurun/cudart/sim/ptx"
)

// epochs spoils words that a kernel reads, counts, and stores for its next launch, and what depends on their parity.
func (c *code) epochs() {
	counters := map[int]bool{}
	for i := range c.body {
		in := &c.body[i]
		switch {
		case in.Op != "ld" || len(in.Args) < 2:
		case has(in, "param"):
			for r := range c.derived(defines(in)) {
				counters[r] = true
			}
		case !strong(in) && c.bytes(in) == 4 && in.Args[0].Kind == ptx.Register:
			known := c.derived(defines(in))
			if c.counted(in, known) {
				for r := range known {
					counters[r] = true
				}
			}
		}
	}
	for i := range c.body {
		// Epochs have 32 bits; of 64, a bit is that of an address.
		if in := &c.body[i]; in.Op == "and" && has(in, "b32") && len(in.Args) == 3 && in.Args[2].Kind == ptx.Immediate &&
			in.Args[2].Bits == 1 && in.Args[1].Kind == ptx.Register && counters[in.Args[1].Reg] {
			c.plant(ParityConstant, edit{in, fmt.Sprintf("mov.b32 %s,0;", c.name(in.Args[0].Reg))})
		}
	}
}

// counted plants mistakes in the stores of a counter that a load has read. It reports whether there are any.
func (c *code) counted(load *ptx.Inst, known map[int]bool) (found bool) {
	for i := range c.body {
		in := &c.body[i]
		shared := has(in, "shared", "shared::cta")
		if in.Op != "st" || strong(in) || shared || len(in.Args) < 2 || in.Args[1].Kind != ptx.Register ||
			!known[in.Args[1].Reg] || !sameAddress(in.Args[0], load.Args[1]) {
			continue
		}
		found = true
		c.plant(EpochStuck, nothing(in))
		if in.Guard.Reg < 0 {
			value := c.name(in.Args[1].Reg)
			c.plant(EpochDoubled, edit{in, fmt.Sprintf("add.u32 %s,%s,1; %s;", value, value, in.Text)})
		}
	}
	return found
}

func sameAddress(a, b ptx.Operand) bool {
	return a.Offset == b.Offset && len(registers(a)) == 1 && slices.Equal(registers(a), registers(b))
}
