package mutate

import (
	"fmt"
	"strings"

	"gpurun/cudart/sim/ptx"
)

// packets stores packets in parts, and flags before data.
func (c *code) packets() {
	for i := range c.body {
		in := &c.body[i]
		if in.Op != "st" || !strong(in) || in.Guard.Reg >= 0 || has(in, "shared", "shared::cta") {
			continue
		}
		if text := c.torn(in); text != "" {
			c.plant(PacketTorn, edit{in, text})
		}
		c.flagFirst(i)
	}
}

// torn is a store in parts, the last word first; "" if it has one word.
func (c *code) torn(in *ptx.Inst) string {
	base := in.Args[0].Elems[0]
	if base.Kind != ptx.Register {
		return ""
	}
	var order []string
	for _, m := range in.Mods {
		if m != "v2" && m != "v4" && m != "v8" {
			order = append(order, m)
		}
	}
	store := "st." + strings.Join(order[:len(order)-1], ".")
	values := registers(in.Args[1])
	element := c.bytes(in)
	var parts strings.Builder
	for k := len(values) - 1; k >= 0; k-- {
		at := in.Args[0].Offset + int64(k)*element
		switch {
		case element == 8:
			fmt.Fprintf(&parts, "mov.b64 {%%mutant_a,%%mutant_b},%s; %s.b32 [%s%+d],%%mutant_b; %s.b32 [%s%+d],%%mutant_a; ",
				c.name(values[k]), store, c.name(base.Reg), at+4, store, c.name(base.Reg), at)
		case len(values) > 1:
			fmt.Fprintf(&parts, "%s.b32 [%s%+d],%s; ", store, c.name(base.Reg), at, c.name(values[k]))
		}
	}
	if parts.Len() == 0 {
		return ""
	}
	return "{ .reg .b32 %mutant_a,%mutant_b; " + parts.String() + "}"
}
