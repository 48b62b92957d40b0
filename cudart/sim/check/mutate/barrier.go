package mutate

import (
	"fmt"

	"gpurun/cudart/sim/ptx"
)

// isBarrier reports whether an instruction is a barrier of a block at which its warps wait.
func isBarrier(in *ptx.Inst) bool {
	return (in.Op == "bar" || in.Op == "barrier") && !has(in, "warp", "cluster", "arrive")
}

// barriers removes barriers of warps, blocks and clusters.
func (c *code) barriers() {
	for i := range c.body {
		in := &c.body[i]
		switch {
		case isBarrier(in) && has(in, "red") && has(in, "pred") && in.Guard.Reg < 0:
			result, own := c.name(registers(in.Args[0])[0]), in.Args[len(in.Args)-1]
			op := "mov"
			if own.Negate {
				op = "not"
			}
			c.plant(BarrierRemoved, edit{in, fmt.Sprintf("%s.pred %s,%s;", op, result, c.name(own.Reg))})
		case isBarrier(in) && !has(in, "red"):
			c.plant(BarrierRemoved, nothing(in))
		case in.Op == "bar" && has(in, "warp"):
			c.plant(WarpSyncRemoved, nothing(in))
		case in.Op == "barrier" && has(in, "cluster"):
			c.cluster(i)
		}
	}
}

// cluster removes a barrier of the cluster: the arrival, and the wait that follows it.
func (c *code) cluster(arrive int) {
	if in := &c.body[arrive]; has(in, "arrive") {
		for i := arrive + 1; i < len(c.body); i++ {
			if next := &c.body[i]; next.Op == "barrier" && has(next, "wait") {
				c.plant(ClusterRemoved, nothing(in), nothing(next))
				return
			}
		}
	}
}
