package driver

import (
	"encoding/binary"
	"testing"

	"gpurun/cudart"
)

func TestEncodeTensorMap(t *testing.T) {
	f := newFake(t)
	d := f.open()
	matrix := cudart.TensorMap{
		Base: 0x10010, Type: cudart.TensorBFloat16, Sizes: []int64{16384, 4096}, Strides: []int64{32768},
		Box: []int{64, 128}, Swizzle: 128, L2Promotion: 256,
	}
	half, cube, row := matrix, matrix, matrix
	half.Type, half.Box, half.Swizzle, half.L2Promotion = cudart.TensorFloat16, []int{32, 1}, 64, 128
	cube.Type, cube.Sizes, cube.Strides, cube.Box = cudart.TensorUint8, []int64{100, 20, 3}, []int64{112, 2240},
		[]int{32, 2, 1}
	cube.Swizzle, cube.L2Promotion = 32, 64
	row.Type, row.Sizes, row.Strides, row.Box = cudart.TensorFloat32, []int64{1 << 32}, nil, []int{256}
	row.Swizzle, row.L2Promotion = 0, 0
	for _, test := range []struct {
		m    cudart.TensorMap
		want string
	}{
		{matrix, "type 9 at 0x10010 16384/64/1 4096/128/1 stride 32768 interleave 0 swizzle 3 promotion 3 fill 0"},
		{half, "type 6 at 0x10010 16384/32/1 4096/1/1 stride 32768 interleave 0 swizzle 2 promotion 2 fill 0"},
		{cube, "type 0 at 0x10010 100/32/1 20/2/1 3/1/1 stride 112 stride 2240 interleave 0 swizzle 1 promotion 1 fill 0"},
		{row, "type 7 at 0x10010 4294967296/256/1 interleave 0 swizzle 0 promotion 0 fill 0"},
	} {
		got, err := d.EncodeTensorMap(test.m)
		if err != nil {
			t.Error(err)
		}
		wantCalls(t, f, "cuTensorMapEncodeTiled "+test.want)
		for i := range 32 {
			if word := binary.LittleEndian.Uint32(got[4*i:]); word != uint32(1000+i) {
				t.Fatalf("word %d of the encoded map is %d", i, word)
			}
		}
	}
	f.failNext("cuTensorMapEncodeTiled", cudart.ErrInvalidValue)
	_, err := d.EncodeTensorMap(matrix)
	wantCode(t, err, cudart.ErrInvalidValue, "encoding a tensor map of 2 dimensions at 0x10010")
	matrix.Box = nil
	f.calls()
	_, err = d.EncodeTensorMap(matrix)
	wantCode(t, err, cudart.ErrInvalidValue, "2 extents of its box, not 1 and 0")
	wantCalls(t, f)
}

func TestTensorMapsNeedAHopper(t *testing.T) {
	f := newFake(t)
	f.call("fake_compute", 8)
	_, err := f.open().EncodeTensorMap(cudart.TensorMap{Base: 16, Sizes: []int64{16}, Box: []int{16}})
	wantCode(t, err, cudart.ErrNotSupported, "need compute capability 9.0, and NVIDIA Fake has 8.0")
}
