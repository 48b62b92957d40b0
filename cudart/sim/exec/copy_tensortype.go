package exec

import (
	"unsafe"

	"gpurun/cudart"
	"gpurun/cudart/sim/ptx"
)

// What the type of a tensor's elements means for copies.

// valueTypes are the PTX types of elements, by cudart.TensorType.
var valueTypes = map[cudart.TensorType]ptx.Type{
	cudart.TensorUint32: u32, cudart.TensorInt32: s32, cudart.TensorUint64: u64, cudart.TensorInt64: s64,
	cudart.TensorFloat16: typeF16, cudart.TensorBFloat16: typeBF16,
	cudart.TensorFloat32: typeF32, cudart.TensorFloat32FTZ: typeF32,
}

// tensorReduction returns the reduction of elements of a tensor, or nil.
func tensorReduction(name string, typ cudart.TensorType) *bulkReduction {
	t, ok := valueTypes[typ]
	if !ok {
		return nil
	}
	if (name == "and" || name == "or" || name == "xor") && !t.IsFloat() && t != s64 { // which an H100 refuses
		t.Class = ptx.Bits
	}
	return newBulkReduction(name, t)
}

// fill writes NaN to the box, where the map fills with them: an H100 has 0x7ff7, again and again.
func (b *boxLoad) fill() {
	if !b.fillNaN {
		return
	}
	for at := 0; at < len(b.data); at += 2 {
		writePlain(unsafe.Pointer(&b.data[at]), 2, 0x7ff7)
	}
}

// nanOfTF32 is the NaN of tf32: all ones but for the sign, and for what tf32 does not have.
const nanOfTF32 = 0x7fffe000

// round rounds elements of the types TF32 to tf32, to nearest even, as an H100 does.
func (b *boxLoad) round(data []byte) {
	if b.typ != cudart.TensorTF32 && b.typ != cudart.TensorTF32FTZ {
		return
	}
	for at := 0; at+4 <= len(data); at += 4 {
		p := unsafe.Pointer(&data[at])
		switch v := readPlain(p, 4); {
		case binary32.isNaN(v):
			writePlain(p, 4, nanOfTF32)
		case v&0x7f800000 != 0x7f800000:
			writePlain(p, 4, (v+1<<12-1+v>>13&1)&^(1<<13-1))
		}
	}
}

// prefetchTensor compiles cp.async.bulk.prefetch.tensor, which checks its operands here.
func (c *compiler) prefetchTensor(o *op, hinted int) {
	k := &tensorInst{rank: c.takeTensorShape()}
	if c.takeSpace() != ptx.Global {
		c.fail("cp.async.bulk.prefetch.tensor is for global memory")
	}
	k.barrier = &endpoint{} // a prefetch may begin where a load may
	c.tensorOperand(k, 0)
	c.args(1 + hinted)
	o.run = func(w *warp, _ *op, mask uint32) error {
		for ; mask != 0; mask &= mask - 1 {
			lane := lowest(mask)
			m, err := w.tensorAt(k, lane)
			if err == nil {
				_, err = w.boxParts(&m, k, lane)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}
