package kernelfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"gpurun/cudart"
)

// memory places buffer number b of rank r at (r+1)<<40 + (b+1)<<32, and keeps the tables.
type memory struct {
	buffers []string
	tables  [][]byte
}

const tablesAt = 0x7000_0000_0000

func (m *memory) Address(buffer string, rank int) (uint64, error) {
	for i, name := range m.buffers {
		if name == buffer {
			return uint64(rank+1)<<40 + uint64(i+1)<<32, nil
		}
	}
	return 0, fmt.Errorf("no buffer %s", buffer)
}

func (m *memory) Multicast(string) (uint64, error) { return 0, errors.New("there is no multicast") }

func (m *memory) Table(content []byte) (uint64, error) {
	m.tables = append(m.tables, content)
	return tablesAt + uint64(len(m.tables))<<16, nil
}

func (m *memory) TensorMap(t cudart.TensorMap) (encoded [cudart.TensorMapBytes]byte, err error) {
	binary.LittleEndian.PutUint64(encoded[:], uint64(t.Base))
	return encoded, t.Check()
}

func TestFirst(t *testing.T) {
	f, err := Parse("x.toml", []byte(`
collective = "allreduce"
op = "sum"
type = "bfloat16"
module = "oneshot.{world}.{rank}.ptx"
entry = "k"
grid = "min(24, ceil(count/8192))"
block = 512
args = [
  {table = "input", pad = 16}, {pointer = "output"}, {pointer = "input", offset = "16*rank"}, {i64 = "count"},
  {table = "pad"}, {u32 = "rank"}, {u32 = "world"}, {u32 = "call + 1"}, {pointers = "pad", pad = 8, rank = "(rank + i) % world"},
  {struct = [{pointers = "pad"}, {null = true}, {f32 = 0.5}], align = 16}, {structs = [{pointer = "pad"}, {u64 = "i"}], pad = 8},
  {bytes = "00 01 ff"}, {null = 3}, {u32 = "vectors_per_block"},
]
[let]
vectors_per_block = "ceil(vectors / grid)"
[buffers.pad]
size = "4*24*world"
init = 0
[contract]
max_bytes = "8M"
`))
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{buffers: []string{"input", "output", "pad"}}
	steps, err := f.Bind(Call{Rank: 1, World: 4, Type: "bfloat16", Op: "sum", ElementBytes: 2, Count: 1 << 16}, nil, m)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range steps[0].Fields {
		t.Logf("%3d %3d %s", field.At, field.Bytes, field.What)
	}
	t.Logf("%+v %x", steps[0].Launch, steps[0].Params)
	for _, table := range m.tables {
		t.Logf("%x", table)
	}
	t.Log(f.DependsOnCall(), len(steps[0].Patches))
	if err := steps[0].Patches[0].Write(steps[0].Params, 41); err != nil {
		t.Fatal(err)
	}
	t.Logf("%x", steps[0].Params)
	t.Log(f.Accepts(Call{World: 2, Type: "float"}))
}
