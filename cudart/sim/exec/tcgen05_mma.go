package exec

import (
	"slices"
	"strings"

	"gpurun/cudart/sim/ptx"
)

// tensorMma is a compiled tcgen05.mma.
type tensorMma struct {
	kind   *tensorKind
	group  int
	ws     bool
	ashift bool
	scales int // scale factors of a row; 0 without

	d, a, b, idesc int32
	dOffset        uint32
	aOffset        uint32
	aInTensor      bool
	disabled       []int32
	enable         int32
	flip           uint32
	scaleD         int // the exponent by which D is divided
	sf             [2]int32
	sfOffset       [2]uint32
	mask           int32 // the register of the zero-column mask; -1 without
}

// multiplyTensor compiles
//
//	tcgen05.mma.cta_group.kind{.ashift}{.collector} [d], a, b-desc, idesc{, {lanes}}, enable{, scale};
//	tcgen05.mma.cta_group.kind.block_scale{.vector}{.collector} [d], a, b-desc, idesc, [scale-a], [scale-b], enable;
//	tcgen05.mma.ws.cta_group::1.kind{.collector} [d], a, b-desc, idesc, enable{, mask};
//
// where a is a descriptor, or [a] an address in tensor memory. The collector is a cache, and has no effect.
func (c *compiler) multiplyTensor(o *op) {
	m := &tensorMma{mask: -1}
	if c.has("sp") {
		c.fail("tcgen05.mma.sp is not implemented: multiply dense matrices")
	}
	m.ws, m.group = c.has("ws"), c.takeGroup()
	c.takeTensorKind(m)
	m.ashift = c.has("ashift")
	c.mods = slices.DeleteFunc(c.mods, func(mod string) bool { return strings.HasPrefix(mod, "collector::") })
	m.dOffset = c.tensorAddress(&m.d, 0)
	if m.aInTensor = c.arg(1).Kind == ptx.Address; m.aInTensor {
		m.aOffset = c.tensorAddress(&m.a, 1)
	} else {
		c.src(&m.a, 1, b64)
	}
	if m.ashift && !m.aInTensor || m.ws && m.group == 2 {
		c.fail("tcgen05.mma has .ashift for A in tensor memory alone, and .ws with .cta_group::1 alone")
	}
	c.src(&m.b, 2, b64)
	c.src(&m.idesc, 3, b32)
	c.tensorMmaEnd(m)
	c.kernel.usesTensorCores = true
	o.kind = opRun
	o.run = func(w *warp, _ *op, mask uint32) error {
		for ; mask != 0; mask &= mask - 1 {
			if err := w.startTensorMma(m, lowest(mask)); err != nil {
				return err
			}
		}
		return nil
	}
}

// takeTensorKind takes the kind, and how its rows are scaled.
func (c *compiler) takeTensorKind(m *tensorMma) {
	for i := range tensorKinds {
		if c.has("kind::" + tensorKinds[i].name) {
			m.kind = &tensorKinds[i]
		}
	}
	if m.kind == nil {
		c.fail("tcgen05.mma needs a .kind")
		m.kind = &tensorKinds[0]
	}
	if scaled := c.has("block_scale"); scaled != (m.kind.scales != nil) {
		c.fail(".block_scale is for .kind::mxf8f6f4, mxf4 and mxf4nvf4, which need it")
	}
	if m.kind.scales == nil {
		return
	}
	m.scales = m.kind.scales[0]
	switch vector := c.take("scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32"); vector {
	case "":
		if len(m.kind.scales) > 1 {
			c.fail(".kind::mxf4nvf4 needs .scale_vec::2X, .scale_vec::4X, .block16 or .block32")
		}
	case "block16":
		m.scales = 4
	case "scale_vec::1X", "scale_vec::2X", "scale_vec::4X":
		m.scales = int(vector[len("scale_vec::")] - '0')
	}
	if !slices.Contains(m.kind.scales, m.scales) {
		c.fail(".kind::%s has other scale vectors", m.kind.name)
	}
}

// tensorMmaEnd compiles the operands behind the instruction descriptor.
func (c *compiler) tensorMmaEnd(m *tensorMma) {
	n := 4
	switch {
	case m.kind.scales != nil:
		m.sfOffset[0], m.sfOffset[1] = c.tensorAddress(&m.sf[0], 4), c.tensorAddress(&m.sf[1], 5)
		n = 6
	case c.arg(4).Kind == ptx.Vector && !m.ws:
		m.disabled = c.sources(4, 4*m.group, b32)
		n = 5
	}
	m.enable, m.flip = c.srcPred(c.arg(n))
	n++
	if len(c.in.Args) > n {
		switch last := c.arg(n); {
		case m.ws:
			c.src(&m.mask, n, b64)
		case last.Kind == ptx.Immediate && last.Bits < 16 && (m.kind.name == "f16" || m.kind.name == "tf32"):
			m.scaleD = int(last.Bits)
		default:
			c.fail("scale-input-d must be a literal from 0 to 15, of .kind::f16 and .kind::tf32")
		}
		n++
	}
	c.args(n)
}

// startTensorMma issues the multiplication of one lane.
func (w *warp) startTensorMma(m *tensorMma, lane int) error {
	if err := w.useGroup(m.group, lane); err != nil {
		return err
	}
	p := &tensorProduct{tensorMma: m, blocks: w.block.tensorGroup(m.group), grid: w.grid}
	var why string
	if p.tensorDescriptor, why = m.kind.decode(uint32(w.regs[m.idesc][lane]), m.group, m.ws); why != "" {
		return w.fault(IllegalInstruction, lane, "%s", why)
	}
	p.dAddress = uint32(w.regs[m.d][lane]) + m.dOffset
	p.accumulate = (w.preds[m.enable]^m.flip)>>lane&1 != 0
	for i, slot := range m.disabled {
		p.keep[i] = uint32(w.regs[slot][lane])
	}
	if m.aInTensor {
		p.aAddress = uint32(w.regs[m.a][lane]) + m.aOffset
	} else if p.aTile, why = newTensorTile(w.regs[m.a][lane], p.mnMajor[0]); why != "" {
		return w.fault(IllegalInstruction, lane, "matrix A: %s", why)
	}
	if p.bTile, why = newTensorTile(w.regs[m.b][lane], p.mnMajor[1]); why != "" {
		return w.fault(IllegalInstruction, lane, "matrix B: %s", why)
	}
	if m.mask >= 0 {
		p.columnMask = w.regs[m.mask][lane]
	}
	for i := range p.sfAddress {
		if m.kind.scales != nil {
			p.sfAddress[i] = uint32(w.regs[m.sf[i]][lane]) + m.sfOffset[i]
		}
	}
	if why := p.check(); why != "" {
		return w.fault(IllegalInstruction, lane, "%s", why)
	}
	t := w.issueTensor(lane, p.perform)
	p.observe(t)
	t.issued()
	return nil
}
