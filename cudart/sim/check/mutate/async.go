package mutate

import (
	"fmt"
	"strings"

	"gpurun/cudart/sim/ptx"
)

// async spoils waits for asynchronous copies, matrix products and earlier grids.
func (c *code) async() {
	for i := range c.body {
		in := &c.body[i]
		switch {
		case in.Op == "griddepcontrol" && has(in, "wait"):
			c.plant(DependencyLost, nothing(in))
		case in.Op == "cp" && has(in, "wait_group", "wait_all"):
			if has(in, "bulk") && !has(in, "read") {
				c.plant(BulkWaitRead, with(in, map[string]string{"wait_group": "wait_group.read"}))
			}
			c.plant(AsyncWaitRemoved, nothing(in))
			c.late(AsyncWaitLate, in)
		case in.Op == "wgmma" && has(in, "wait_group", "fence"):
			c.plant(MatrixWait, nothing(in))
			c.late(MatrixWait, in)
		case in.Op == "mbarrier" && has(in, "try_wait", "test_wait") && len(in.Args) > 2:
			c.mbarrier(in)
		}
	}
}

// late lets one group more be pending.
func (c *code) late(class Class, in *ptx.Inst) {
	if len(in.Args) != 1 || in.Args[0].Kind != ptx.Immediate {
		return
	}
	head, _, _ := strings.Cut(in.Text, opcode(in))
	c.plant(class, edit{in, fmt.Sprintf("%s%s %d;", head, opcode(in), in.Args[0].Bits+1)})
}

// mbarrier skips a wait for a phase, and waits for the other phase.
func (c *code) mbarrier(in *ptx.Inst) {
	result := registers(in.Args[0])
	if in.Guard.Reg >= 0 || len(result) != 1 {
		return
	}
	c.plant(WaitSkipped, edit{in, fmt.Sprintf("mov.pred %s,-1;", c.name(result[0]))})
	phase := in.Args[2]
	head := in.Text[:strings.LastIndex(in.Text, "]")+1]
	tail := in.Text[len(head):]
	switch phase.Kind {
	case ptx.Register:
		name := c.name(phase.Reg)
		c.plant(PhaseFlipped, edit{in, fmt.Sprintf("{ .reg .b32 %%mutant_r; xor.b32 %%mutant_r,%s,1; %s%s; }", name, head,
			strings.Replace(tail, name, "%mutant_r", 1))})
	case ptx.Immediate:
		old := fmt.Sprint(phase.Bits)
		c.plant(PhaseFlipped, edit{in, head + strings.Replace(tail, old, fmt.Sprint(phase.Bits^1), 1) + ";"})
	}
}
