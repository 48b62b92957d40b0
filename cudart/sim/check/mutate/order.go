package mutate

import "gpurun/cudart/sim/ptx"

// orders weakens orders and scopes, and removes fences.
func (c *code) orders() {
	for i := range c.body {
		in := &c.body[i]
		switch {
		case in.Op == "fence" || in.Op == "membar":
			c.fence(in)
		case memory(in) && strong(in):
			first := len(c.mutants)
			c.weaken(in)
			c.narrow(in)
			if set := c.timeout(in); set != nil { // before it is written, the word orders nothing
				for _, m := range c.mutants[first:] {
					m.needs = set.Line
				}
			}
		}
	}
}

func (c *code) weaken(in *ptx.Inst) {
	atomic := in.Op != "ld" && in.Op != "st"
	weak := map[string]string{"relaxed": "", "acquire": "", "release": "", "sys": "", "gpu": "", "cta": "", "cluster": ""}
	switch {
	case has(in, "acq_rel"):
		c.plant(ReleaseRelaxed, with(in, map[string]string{"acq_rel": "acquire"}))
		c.plant(AcquireRelaxed, with(in, map[string]string{"acq_rel": "release"}))
	case has(in, "release"):
		c.plant(ReleaseRelaxed, with(in, map[string]string{"release": "relaxed"}))
		if !atomic {
			c.plant(ReleaseWeak, with(in, weak))
		}
	case has(in, "acquire"):
		c.plant(AcquireRelaxed, with(in, map[string]string{"acquire": "relaxed"}))
		if !atomic {
			c.plant(AcquireWeak, with(in, weak))
		}
	case !atomic:
		c.plant(RelaxedWeak, with(in, weak))
	}
}

// narrow makes a scope narrower by one step, and by two.
func (c *code) narrow(in *ptx.Inst) {
	c.plant(ScopeGPU, with(in, map[string]string{"sys": "gpu"}))
	c.plant(ScopeBlock, with(in, map[string]string{"sys": "cta", "gpu": "cta"}))
}

func (c *code) fence(in *ptx.Inst) {
	if has(in, "proxy") {
		c.plant(ProxyRemoved, nothing(in))
		return
	}
	c.plant(FenceRemoved, nothing(in))
	c.narrow(in)
}
