package kernelfile

import (
	"encoding/binary"

	"gpurun/cudart"
)

func (b *binder) tensor(p *packer, a *Arg) error {
	var base packer
	if err := b.pointer(&base, a, b.owner); err != nil {
		return err
	}
	m, err := b.tensorMap(a.Map)
	if err != nil {
		return err
	}
	m.Base = cudart.DevicePtr(binary.LittleEndian.Uint64(base.bytes))
	encoded, err := b.memory.TensorMap(m)
	if err != nil {
		return b.file.errorAt(a.Line, "tensor map of buffer %s: %v", a.Buffer.Text, err)
	}
	copy(p.place(cudart.TensorMapBytes, max(cudart.TensorMapAlign, a.Align)), encoded[:])
	return nil
}

// strideLimit is above all strides of tensor maps.
const strideLimit = 1 << 40

// tensorMap evaluates a tensor map, its address aside. The backend checks it.
func (b *binder) tensorMap(t *TensorMap) (m cudart.TensorMap, err error) {
	name := t.Type
	if name == "" {
		name = b.call.Type
	}
	at, ok := tensorTypeIndex(name)
	if !ok {
		return m, b.file.errorAt(t.Sizes[0].Line, "a tensor map has no elements of type %s: write type, such as u8", name)
	}
	m.Type, m.FillNaN = cudart.TensorType(at), t.FillNaN
	stride := int64(m.Type.Bytes())
	for i, x := range t.Sizes {
		n, err := b.between(x, "a number of elements", 1, 1<<32)
		if err != nil {
			return m, err
		}
		m.Sizes = append(m.Sizes, n)
		if stride > strideLimit/n {
			stride = strideLimit
		} else {
			stride *= n
		}
		if len(t.Strides) == 0 && i < len(t.Sizes)-1 {
			m.Strides = append(m.Strides, stride)
		}
	}
	for _, x := range t.Strides {
		n, err := b.between(x, "a stride in bytes", 0, strideLimit)
		if err != nil {
			return m, err
		}
		m.Strides = append(m.Strides, n)
	}
	if m.Box, err = b.ints(t.Box, "an extent of a box", 256); err != nil {
		return m, err
	}
	if m.Steps, err = b.ints(t.Steps, "a step", 8); err != nil {
		return m, err
	}
	swizzle, err := b.or(t.Swizzle, "a swizzle", 0, 128, 0)
	if err != nil {
		return m, err
	}
	l2, err := b.or(t.L2, "an L2 promotion", 0, 256, 0)
	m.Swizzle, m.L2Promotion = int(swizzle), int(l2)
	return m, err
}

func (b *binder) ints(all []Expr, what string, most int64) ([]int, error) {
	var values []int
	for _, x := range all {
		n, err := b.between(x, what, 1, most)
		if err != nil {
			return nil, err
		}
		values = append(values, int(n))
	}
	return values, nil
}
