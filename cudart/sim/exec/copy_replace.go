package exec

import (
	"encoding/binary"
	"strings"
	"unsafe"

	"gpurun/cudart"
	"gpurun/cudart/sim/ptx"
)

// tensorMapOp compiles the instructions on tensor maps in memory:
//
//	tensormap.replace.tile.field{.global,.shared::cta}.b1024.type [map], {ordinal,} value;
//	tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [dst], [src], 128;
func (c *compiler) tensorMapOp(o *op) {
	if m := c.program.module; m.SM < 90 || !m.AtLeast(8, 3) {
		c.fail("tensormap needs target sm_90 and PTX 8.3")
	}
	switch c.take("replace", "cp_fenceproxy") {
	case "replace":
		c.replaceField(o)
	case "cp_fenceproxy":
		c.copyTensorMap(o)
	default:
		c.fail("this form of tensormap is not implemented")
	}
}

// tensorMapField writes a new value of a field of an encoded map. It returns what is wrong with it.
type tensorMapField struct {
	bits    int  // of the value
	ordinal bool // it is one of several fields
	set     func(m []byte, ordinal int, v uint64) (why string)
}

// typesOfReplace are the numbers that tensormap.replace has for the types of elements, PTX ISA,
// "tensormap.replace"; the driver's are others.
var typesOfReplace = [...]cudart.TensorType{
	cudart.TensorUint8, cudart.TensorUint16, cudart.TensorUint32, cudart.TensorInt32, cudart.TensorUint64,
	cudart.TensorInt64,
	cudart.TensorFloat16, cudart.TensorFloat32, cudart.TensorFloat32FTZ, cudart.TensorFloat64, cudart.TensorBFloat16,
	cudart.TensorTF32, cudart.TensorTF32FTZ,
}

var tensorMapFields = map[string]tensorMapField{
	"global_address": {64, false, func(m []byte, _ int, v uint64) string {
		binary.LittleEndian.PutUint64(m[mapBase:], v)
		return unless(v%16 == 0, "the tensor's address must be a multiple of 16")
	}},
	"rank": {32, false, func(m []byte, _ int, v uint64) string {
		m[mapRank] = byte(v + 1)
		return unless(v < 5, "the rank is given less one, so that it is 0 to 4")
	}},
	"box_dim": {32, true, func(m []byte, i int, v uint64) string {
		binary.LittleEndian.PutUint16(m[mapBox+2*i:], uint16(v))
		return unless(v >= 1 && v <= 256, "a box has 1 to 256 elements in a dimension")
	}},
	"global_dim": {32, true, func(m []byte, i int, v uint64) string {
		binary.LittleEndian.PutUint64(m[mapSizes+8*i:], v)
		return unless(v >= 1, "a tensor has at least 1 element in a dimension")
	}},
	"global_stride": {64, true, func(m []byte, i int, v uint64) string {
		if i > 3 {
			return "a tensor has 4 strides at most"
		}
		binary.LittleEndian.PutUint64(m[mapStrides+8*i:], v)
		return unless(v%16 == 0, "a stride is a multiple of 16 bytes")
	}},
	"element_stride": {32, true, func(m []byte, i int, v uint64) string {
		m[mapSteps+i] = byte(v)
		return unless(v >= 1 && v <= 8, "an element stride is 1 to 8")
	}},
	"elemtype": {32, false, func(m []byte, _ int, v uint64) string {
		if v >= uint64(len(typesOfReplace)) {
			return "there is no such type of elements, or it is not implemented"
		}
		m[mapType] = byte(typesOfReplace[v])
		return ""
	}},
	"interleave_layout": {32, false, func(_ []byte, _ int, v uint64) string {
		return unless(v == 0, "interleaved layouts are not implemented")
	}},
	"swizzle_mode": {32, false, func(m []byte, _ int, v uint64) string {
		m[mapSwizzle] = [...]byte{0, 32, 64, 128}[v&3]
		return unless(v < 4, "this swizzle is not implemented; modes 0 to 3 are")
	}},
	"fill_mode": {32, false, func(m []byte, _ int, v uint64) string {
		m[mapFill] = byte(v)
		return unless(v < 2, "the fill mode is 0 or 1")
	}},
}

func unless(ok bool, why string) string {
	if ok {
		return ""
	}
	return why
}

func (c *compiler) replaceField(o *op) {
	if m := c.program.module; !strings.HasSuffix(m.Target, "a") && !strings.HasSuffix(m.Target, "f") {
		c.fail("tensormap.replace needs a target such as sm_90a")
	}
	if !c.has("tile") {
		c.fail("tensormap.replace needs .tile")
	}
	var field tensorMapField
	for name, f := range tensorMapFields {
		if c.has(name) {
			field = f
		}
	}
	space := c.takeSpace()
	if t := (ptx.Type{Class: ptx.Bits, Bits: field.bits, Lanes: 1}); !c.has("b1024") || field.set == nil ||
		c.takeType() != t {
		c.fail("this form of tensormap.replace is not implemented")
		return
	}
	n, ordinal := 1, 0
	if field.ordinal {
		if a := c.arg(1); a.Kind != ptx.Immediate || a.Bits > 4 {
			c.fail("the ordinal of the field must be a literal from 0 to 4")
			return
		}
		n, ordinal = 2, int(c.arg(1).Bits)
	}
	c.args(n + 1)
	c.memory(o, 0, space, b64)
	c.src(&o.b, n, ptx.Type{Class: ptx.Bits, Bits: field.bits, Lanes: 1})
	o.run = func(w *warp, o *op, mask uint32) error {
		w.progresses()
		for ; mask != 0; mask &= mask - 1 {
			lane := lowest(mask)
			if err := w.replaceField(o, field, ordinal, lane); err != nil {
				return err
			}
		}
		return nil
	}
	o.kind = opRun
}

func (w *warp) replaceField(o *op, field tensorMapField, ordinal, lane int) error {
	addr := w.regs[o.a][lane] + o.mem.bias
	if o.mem.own && !w.owns(addr) {
		return w.notOwnShared(addr, lane)
	}
	p, err := w.writableAt(addr, cudart.TensorMapBytes, cudart.TensorMapAlign, lane)
	if err != nil {
		return err
	}
	w.flushTensorMap(p)
	data := unsafe.Slice((*byte)(p), cudart.TensorMapBytes)
	if binary.LittleEndian.Uint64(data[mapMagic:]) != tensorMagic {
		return w.fault(IllegalInstruction, lane, "there is no tensor map at address %#x", addr)
	}
	if why := field.set(data, ordinal, w.regs[o.b][lane]); why != "" {
		return w.fault(IllegalInstruction, lane, "%s", why)
	}
	return nil
}

// flushTensorMap lets stores to a map reach memory.
func (w *warp) flushTensorMap(p unsafe.Pointer) {
	for at := uintptr(0); at < cudart.TensorMapBytes; at += 8 {
		w.flushAt(unsafe.Add(p, at), 8)
	}
}

// copyTensorMap compiles tensormap.cp_fenceproxy: a copy of a map, which is released to the readers of maps.
func (c *compiler) copyTensorMap(o *op) {
	to, from := c.takeSpace(), c.takeSpace()
	proxy, release, scope := c.has("tensormap::generic"), c.has("release"), c.take("cta", "cluster", "gpu", "sys")
	if to != ptx.Global || from != ptx.Shared || !proxy || !release || scope == "" {
		c.fail("this form of tensormap.cp_fenceproxy is not implemented")
	}
	c.args(3)
	c.mapSize(2)
	dst, src := c.endpoint(0, to), c.endpoint(1, from)
	c.alignedRun(o, func(w *warp, _ *op) error {
		w.progresses()
		l := &linear{bytes: cudart.TensorMapBytes, alignment: cudart.TensorMapBytes}
		if err := w.resolve(l, dst, src, 0); err != nil {
			return err
		}
		w.flushTensorMap(l.dst)
		copy(unsafe.Slice((*byte)(l.dst), l.bytes), unsafe.Slice((*byte)(l.src), l.bytes))
		w.release(scope, fullMask)
		return nil
	})
}

// mapSize checks operand i, the size of a tensor map.
func (c *compiler) mapSize(i int) {
	if size := c.arg(i); size.Kind != ptx.Immediate || size.Bits != cudart.TensorMapBytes {
		c.fail("the size of a tensor map must be the literal 128")
	}
}

// tensorMapFence compiles fence.proxy.tensormap::generic.{acquire.scope [map], 128, release.scope}.
func (c *compiler) tensorMapFence(o *op) {
	kind, scope := c.take("acquire", "release"), c.take("cta", "cluster", "gpu", "sys")
	if kind == "" || scope == "" {
		c.fail("fence.proxy.tensormap::generic needs .acquire or .release, and a scope")
	}
	o.kind = opRun
	if kind == "release" {
		c.args(0)
		o.run = func(w *warp, _ *op, mask uint32) error { w.release(scope, mask); return nil }
		return
	}
	c.args(2)
	c.mapSize(1)
	at := c.endpoint(0, ptx.Generic)
	o.run = func(w *warp, _ *op, mask uint32) error {
		w.block.view.acquire(scope)
		for ; mask != 0; mask &= mask - 1 {
			lane := lowest(mask)
			addr, err := at.at(w, lane)
			if err != nil {
				return err
			}
			p, err := w.rangeAt(addr, cudart.TensorMapBytes, cudart.TensorMapBytes, lane)
			if err != nil {
				return err
			}
			w.acquireTensorMap(p)
		}
		return nil
	}
}

// acquireTensorMap lets the stores to a map that were released on the device reach memory, where copies
// read it.
func (w *warp) acquireTensorMap(p unsafe.Pointer) {
	if w.stores == nil {
		return
	}
	for at := uintptr(0); at < cudart.TensorMapBytes; at += 8 {
		w.grid.flushAt(unsafe.Add(p, at), 8)
	}
}
