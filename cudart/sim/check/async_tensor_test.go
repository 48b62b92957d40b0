package check

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
)

const tensorStory = `
.version 8.6
.target sm_90
.address_size 64
.file 1 "tensor.cu"
.visible .entry run(.param .align 64 .b8 tensor[128])
{
	.reg .b64 %map;
	.reg .b32 %tid;
	.reg .pred %first, p;
	.shared .align 1024 .b8 tile[1024];
	.shared .align 8 .b64 bar;
	mov.b64 %map, tensor;
	cvta.param.u64 %map, %map;
	mov.u32 %tid, %tid.x;
	setp.eq.u32 %first, %tid, 0;
	@!%first ret;
	st.shared.u32 [tile], 1;
	mbarrier.init.shared::cta.b64 [bar], 1;
	fence.proxy.async;
	.loc 1 10 0
	COPY
	ret;
}
`

// tensorAt runs a copy of a box of 4 rows of 32 words. The tensor has so many rows of 64 words and lies in an
// allocation of 1500 bytes, the first 960 of which are a buffer: three rows and most of another one.
func tensorAt(t *testing.T, copies string, rows int64) ([]Finding, error) {
	t.Helper()
	c, err := New(Config{Ranks: 1, Major: 9})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(tensorStory, "COPY", copies, 1)
	report, err := c.Run(1, func(r *Rank) error {
		data, err := r.Device.Malloc(1500)
		if err != nil {
			return err
		}
		r.Name(data, 960, "rows")
		tensor, err := r.Device.EncodeTensorMap(cudart.TensorMap{
			Type: cudart.TensorFloat32, Base: data, Sizes: []int64{64, rows}, Strides: []int64{256}, Box: []int{32, 4},
		})
		if err != nil {
			return err
		}
		m, err := r.Device.LoadModule("tensor.ptx", []byte(text))
		if err != nil {
			return err
		}
		k, err := m.Kernel("run")
		if err != nil {
			return err
		}
		s, err := r.Device.NewStream()
		if err != nil {
			return err
		}
		return errors.Join(s.Fill(data, 0, 1500), s.Launch(k, cudart.Launch{Blocks: 1, Threads: 32}, tensor[:]),
			s.Synchronize(context.Background()))
	})
	return report.Findings, err
}

// A copy of a box is held to the bounds of buffers and of shared memory, row by row. What of the box is outside the
// tensor is not accessed; a tensor that is larger than its buffer hides nothing.
func TestTensorCopiesOutOfBounds(t *testing.T) {
	const (
		behind = "out-of-bounds, behind the end of a buffer, 10"
		beyond = "out-of-bounds, beyond the end of an allocation, 10"
		shared = "out-of-bounds, beyond the end of shared memory, 10"
		of128  = "misaligned, the address is no multiple of 128, 10"
		of8    = "misaligned, the address is no multiple of 8, 10"
	)
	const load = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes " +
		"[TILE], [%map, {AT}], [BAR];"
	const ended = " cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
	const store = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {AT}], [TILE];" + ended
	const reduce = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%map, {AT}], [TILE];" + ended
	for _, c := range []struct {
		name, copy, at, tile string
		rows                 int64
		want                 string
	}{
		{"a load", load, "0, 0", "tile", 4, ""},
		{"a load of the last rows", load, "32, 0", "tile", 3, ""},
		{"a load of rows outside the tensor", load, "0, 2", "tile", 4, ""},
		{"a load before the tensor", load, "-4, -2", "tile", 4, ""},
		{"a load over the end of the buffer", load, "32, 0", "tile", 4, behind},
		{"a load of rows outside the allocation", load, "0, 3", "tile", 7, beyond},
		{"a load to a misaligned place", load, "0, 0", "tile+64", 4, of128},
		{"a load beyond shared memory", load, "0, 0", "tile+4096", 4, shared},
		{"a load with a misaligned mbarrier", strings.Replace(load, "BAR", "bar+4", 1), "0, 0", "tile", 4, of8},
		{"a store", store, "0, 0", "tile", 4, ""},
		{"a store of rows outside the tensor", store, "0, 2", "tile", 4, ""},
		{"a store over the end of the buffer", store, "32, 0", "tile", 4, behind},
		{"a store of rows outside the allocation", store, "0, 3", "tile", 7, beyond},
		{"a store from a misaligned place", store, "0, 0", "tile+16", 4, of128},
		{"a store from beyond shared memory", store, "0, 0", "tile+4096", 4, shared},
		{"a reduction", reduce, "0, 0", "tile", 4, ""},
		{"a reduction over the end of the buffer", reduce, "32, 0", "tile", 4, behind},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.NewReplacer("TILE", c.tile, "AT", c.at, "BAR", "bar").Replace(c.copy)
			var got, want []string
			found, err := tensorAt(t, text, c.rows)
			for _, f := range found {
				if f.Kind == OutOfBounds || f.Kind == Misaligned {
					got = append(got, tellAll([]Finding{f})...)
					if f.Advice == "" || f.Where == "" {
						t.Errorf("found %v", f)
					}
				}
			}
			if c.want != "" {
				want = []string{c.want}
			} else if err != nil {
				t.Error(err)
			}
			if got = slices.Compact(got); !slices.Equal(got, want) {
				t.Errorf("found %q, want %q; error %v", got, want, err)
			}
		})
	}
}

// A box that begins between units of 16 bytes, and a store that begins before the tensor, are faults by name.
func TestTensorCopiesThatHardwareRefuses(t *testing.T) {
	const store = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {AT}], [tile];"
	for at, want := range map[string]string{
		"1, 0":  "is 4 bytes from the beginning of a row, which is not a multiple of 16",
		"0, -1": "a store cannot begin before the tensor",
	} {
		if _, err := tensorAt(t, strings.Replace(store, "AT", at, 1), 4); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("at {%s}: error %v, want %q", at, err, want)
		}
	}
}
