package exec

import (
	"unsafe"

	"gpurun/cudart"
	"gpurun/cudart/sim/ptx"
)

// boxAlign is what the shared address of a box is a multiple of, with a swizzle or
// without, and cornerAlign, in bytes, its first coordinate. NVIDIA does not document the
// latter: copies from or to elsewhere are an illegal instruction on Hopper.
const (
	boxAlign    = 128
	cornerAlign = 16
)

// tensorInst is a compiled copy of a box. The map is the source's or the
// destination's address.
type tensorInst struct {
	bulkInst
	rank        int
	tensor      *endpoint // the address of the map
	coordinates []int32   // registers
	reduces     string    // the operation of a reduction
}

// tensorCopy compiles, for 1 to 5 dimensions,
//
//	cp.async.bulk.tensor.2d.{shared::cta,shared::cluster}.global{.tile}.mbarrier::complete_tx::bytes{.cta_group}{.multicast::cluster} [dst], [map, {c0, c1}], [mbarrier] {, ranks};
//	cp.async.bulk.tensor.2d.global.shared::cta{.tile}.bulk_group [map, {c0, c1}], [src];
//	cp.reduce.async.bulk.tensor.2d.global.shared::cta.op{.tile}.bulk_group [map, {c0, c1}], [src];
func (c *compiler) tensorCopy(o *op, reduce bool) {
	k := &tensorInst{rank: c.takeTensorShape()}
	to, from := c.takeSpace(), c.takeSpace()
	if group := c.take("cta_group::1", "cta_group::2"); group != "" {
		c.needs(100, 8, 6)
		k.pair = group == "cta_group::2"
	}
	if reduce {
		if k.reduces = c.takeReductionName(); to != ptx.Global {
			c.fail("cp.reduce.async.bulk.tensor goes to .global")
		}
	}
	shared := 0
	if to == ptx.Global {
		shared = 1
		k.dst = &endpoint{space: to}
		k.src = c.endpoint(shared, from)
	} else {
		k.dst = c.endpoint(shared, to)
	}
	c.tensorOperand(k, 1-shared)
	c.args(c.bulkEnd(&k.bulkInst, 2, from))
	o.run = func(w *warp, _ *op, mask uint32) error {
		w.progresses()
		for ; mask != 0; mask &= mask - 1 {
			if err := w.startTensor(k, lowest(mask)); err != nil {
				return err
			}
		}
		return nil
	}
}

// takeTensorShape takes the number of dimensions and the mode.
func (c *compiler) takeTensorShape() (rank int) {
	for i, d := range []string{"1d", "2d", "3d", "4d", "5d"} {
		if c.has(d) {
			rank = i + 1
		}
	}
	c.take("tile")
	modes := []string{"im2col", "im2col_no_offs", "im2col::w", "im2col::w::128", "tile::gather4", "tile::scatter4"}
	if mode := c.take(modes...); mode != "" {
		c.fail("tensor copies of mode .%s are not implemented; .tile is", mode)
	}
	return rank
}

// tensorOperand compiles [map, {c0, c1}]. The map's address is a generic one.
func (c *compiler) tensorOperand(k *tensorInst, i int) {
	arg := c.arg(i)
	if arg.Kind != ptx.Address || len(arg.Elems) != 2 || len(arg.Elems[1].Elems) != k.rank {
		c.fail("operand %d must be the address of a tensor map with %d coordinates", i+1, k.rank)
		return
	}
	k.tensor = &endpoint{space: ptx.Generic}
	k.tensor.mem = &access{bias: uint64(arg.Offset), size: cudart.TensorMapBytes}
	c.srcOperand(&k.tensor.a, arg.Elems[0], u64)
	k.coordinates = make([]int32, k.rank)
	for d, e := range arg.Elems[1].Elems {
		c.srcOperand(&k.coordinates[d], e, s32)
	}
}

// startTensor begins the copy of one lane.
func (w *warp) startTensor(k *tensorInst, lane int) error {
	m, err := w.tensorAt(k, lane)
	if err != nil {
		return err
	}
	parts, err := w.boxParts(&m, k, lane)
	if err != nil {
		return err
	}
	bytes := m.row() * m.rows()
	if k.barrier != nil {
		return w.eachTarget(&k.bulkInst, lane, m.counted(), func(to uint64) (copier, error) {
			shared, err := w.writableAt(to, bytes, boxAlign, lane)
			return &boxLoad{box{tensorMap: m, parts: parts, at: to, shared: shared}}, err
		})
	}
	if m.group > 1 {
		return w.fault(IllegalInstruction, lane, "a tensor of type %d, with elements of less than a byte, can only be loaded", m.typ)
	}
	if err := w.checkCorner(k, lane); err != nil {
		return err
	}
	from, err := k.src.at(w, lane)
	if err != nil {
		return err
	}
	shared, err := w.rangeAt(from, bytes, boxAlign, lane)
	if err != nil {
		return err
	}
	b := &boxStore{box{tensorMap: m, parts: parts, at: from, shared: shared}, nil}
	if k.reduces != "" {
		if b.reduction = tensorReduction(k.reduces, m.typ); b.reduction == nil {
			return w.fault(IllegalInstruction, lane, "a tensor of type %d has no reduction .%s", m.typ, k.reduces)
		}
	}
	w.startInGroup(&transfer{warp: w, lane: lane, copier: b}, bulkGroup)
	return nil
}

// checkCorner refuses a store that begins before the tensor: to an H200 it is an illegal
// instruction. Loads may begin there.
func (w *warp) checkCorner(k *tensorInst, lane int) error {
	for d, reg := range k.coordinates {
		if c := int32(w.regs[reg][lane]); c < 0 {
			return w.fault(IllegalInstruction, lane,
				"coordinate %d of the box is %d, and a store cannot begin before the tensor", d, c)
		}
	}
	return nil
}

// tensorAt reads the tensor map of a copy.
func (w *warp) tensorAt(k *tensorInst, lane int) (m tensorMap, err error) {
	addr := w.regs[k.tensor.a][lane] + k.tensor.mem.bias
	p, err := w.rangeAt(addr, cudart.TensorMapBytes, cudart.TensorMapAlign, lane)
	if err != nil {
		return m, err
	}
	m, ok := decodeTensorMap(unsafe.Slice((*byte)(p), cudart.TensorMapBytes))
	if !ok {
		return m, w.fault(IllegalInstruction, lane, "there is no valid tensor map at address %#x", addr)
	}
	if int(m.rank) != k.rank {
		return m, w.fault(IllegalInstruction, lane, "the tensor has %d dimensions and the copy %d", m.rank, k.rank)
	}
	return m, nil
}
