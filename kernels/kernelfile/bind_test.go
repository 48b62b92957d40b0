package kernelfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gpurun/cudart"
)

// memory places buffer number b of rank r at r+1 terabytes and b gigabytes, and keeps the tables.
type memory struct {
	buffers []string
	tables  [][]byte
}

func newMemory() *memory { return &memory{buffers: []string{"input", "output", "pad", "own"}} }

const (
	rankStep   = 1 << 40
	bufferStep = 1 << 30
	tablesAt   = 0x70_0000_0000
	tableStep  = 1 << 16
)

func (m *memory) Address(buffer string, rank int) (uint64, error) {
	for i, name := range m.buffers {
		if name == buffer {
			return uint64(rank+1)*rankStep + uint64(i)*bufferStep, nil
		}
	}
	return 0, fmt.Errorf("no buffer %s", buffer)
}

func (m *memory) Multicast(buffer string) (uint64, error) {
	if buffer == "pad" {
		return 0x111, nil
	}
	return 0, errors.New("the devices have no multicast")
}

func (m *memory) Table(content []byte) (uint64, error) {
	m.tables = append(m.tables, content)
	return tablesAt + uint64(len(m.tables)-1)*tableStep, nil
}

func (m *memory) TensorMap(t cudart.TensorMap) (encoded [cudart.TensorMapBytes]byte, err error) {
	copy(encoded[:], fmt.Sprintf("%x %d %v %v %v %v %d", t.Base, t.Type, t.Sizes, t.Strides, t.Box, t.Steps, t.Swizzle))
	return encoded, t.Check()
}

// aCall is rank 1 of 3.
func aCall() Call {
	return Call{
		Rank: 1, World: 3, Root: 2, Type: "bfloat16", Op: "sum", ElementBytes: 2, Count: 1001, SMs: 132, Number: 7,
		TimeoutNS: 5e9, M: 256, N: 512, K: 1024, InputBytes: 2002, OutputBytes: 2002,
	}
}

// fileHead is what all files of these tests have. It takes lines 1 to 7.
const fileHead = `collective = "allreduce"
op = "sum"
module = "x.ptx"
entry = "k"
grid = 4
block = 128

`

// fileTail describes the buffers of these tests.
const fileTail = `
[let]
twice = "2 * count"
[buffers.pad]
size = "64 * world"
init = 0
[buffers.own]
size = 100
private = true
`

func mustParse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("x.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// bindArgs binds a launch with these arguments.
func bindArgs(t *testing.T, args string) (BoundStep, *memory, error) {
	t.Helper()
	f := mustParse(t, fileHead+"args = ["+args+"]\n"+fileTail)
	m := newMemory()
	steps, err := f.Bind(aCall(), nil, m)
	if err != nil {
		return BoundStep{}, m, err
	}
	return steps[0], m, nil
}

// words writes parameters as numbers of 8 bytes, addresses by name, and what is left as bytes.
func words(bytes []byte) string {
	var all []string
	for len(bytes) >= 8 {
		n := binary.LittleEndian.Uint64(bytes)
		all = append(all, nameAddress(n))
		bytes = bytes[8:]
	}
	if len(bytes) > 0 {
		all = append(all, fmt.Sprintf("%x", bytes))
	}
	return strings.Join(all, " ")
}

// nameAddress writes an address of the tests' memory as rank:buffer+offset.
func nameAddress(n uint64) string {
	switch {
	case n >= rankStep && n < 100*rankStep:
		names := newMemory().buffers
		if b := n % rankStep / bufferStep; b < uint64(len(names)) {
			return fmt.Sprintf("%d:%s+%d", n/rankStep-1, names[b], n%bufferStep)
		}
	case n >= tablesAt && n < tablesAt+100*tableStep:
		return fmt.Sprintf("table%d", (n-tablesAt)/tableStep)
	}
	return fmt.Sprintf("%x", n)
}

func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		`{i8 = -1}, {u8 = 255}, {i16 = -2}, {u16 = 65535}`: "fffffeffffff",
		`{i32 = "-count"}, {u32 = "call + 1"}`:             "8fffffc17",
		`{i64 = "-2**63"}`:                                 "8000000000000000",
		`{u64 = "(2**63 - 1) * 2 + 1"}`:                    "ffffffffffffffff",
		`{u64 = "vectors"}`:                                "7e",
		`{f64 = 0.5}`:                                      "3fe0000000000000",
		`{f32 = "1/3"}, {f32 = -2}`:                        "c00000003eaaaaab",
		`{bf16 = 1.00390625}, {bf16 = "1 + 3/256"}, {bf16 = "1 + 3/512"}, {bf16 = -0.1}`: "bdcd3f813f823f80",
		`{u64 = "2.0**53"}`: "20000000000000",
		`{f16 = 65504}, {f16 = 1.0}, {bf16 = 1}, {bf16 = 0}`:    "3f803c007bff",
		`{pointer = "output"}`:                                  "1:output+0",
		`{pointer = "output", rank = "(rank + 1) % world"}`:     "2:output+0",
		`{pointer = "output", offset = "size * twice"}`:         "1:output+4004",
		`{pointers = "pad"}`:                                    "0:pad+0 1:pad+0 2:pad+0",
		`{pointers = "pad", pad = 4, offset = "8 * i"}`:         "0:pad+0 1:pad+8 2:pad+16 0",
		`{pointers = "pad", rank = "(rank + i) % world"}`:       "1:pad+0 2:pad+0 0:pad+0",
		`{table = "input"}`:                                     "table0 | 0:input+0 1:input+0 2:input+0",
		`{table = "input", pad = 5, offset = "rank"}`:           "table0 | 0:input+1 1:input+1 2:input+1 0 0",
		`{struct = [{pointers = "pad"}, {u8 = 1}], align = 16}`: "0:pad+0 1:pad+0 2:pad+0 1",
		`{u8 = 1}, {struct = [{u8 = 2}, {u64 = 3}]}`:            "1 2 3",

		`{pointers = "pad", entries = 2, rank = "2 * i"}`:             "0:pad+0 2:pad+0",
		`{table = "pad", entries = "world", rank = "i % 2", pad = 4}`: "table0 | 0:pad+0 1:pad+0 0:pad+0 0",
		`{structs = [{u32 = "i"}, {pointer = "pad", rank = "1 - i % 2"}], entries = "world + 1"}`: "table0 | " +
			"0 1:pad+0 1 0:pad+0 2 1:pad+0 3 0:pad+0",
		`{struct = [{pointer = "pad"}, {u32 = "i"}], pad = 4}, {u64 = 5}`:    "0:pad+0 0 1:pad+0 1 2:pad+0 2 0 0 5",
		`{struct = [{u32 = 9}, {struct = [{u64 = "10 * i"}], entries = 2}]}`: "9 0 a",

		`{structs = [{u32 = "i"}, {pointer = "pad"}], pad = 4}`: "table0 | 0 0:pad+0 1 1:pad+0 2 2:pad+0 0 0",
		`{structs = [{pointer = "own", rank = "rank"}, {struct = [{pointer = "pad"}]}]}, {pointer = "pad"}`: "table0 " +
			"1:pad+0 | 1:own+0 0:pad+0 1:own+0 1:pad+0 1:own+0 2:pad+0",
		`{structs = [{table = "pad"}]}`: "table3" +
			strings.Repeat(" | 0:pad+0 1:pad+0 2:pad+0", 3) + " | table0 table1 table2",
		`{multicast = "pad", offset = 1}`:                                   "112",
		`{bytes = "00 01 fF"}, {bytes = "02", align = 4}`:                   "0001ff0002",
		`{null = true}, {null = 2}`:                                         "0 0 0",
		`{i64 = 'offset("output")'}`:                                        "ffffffffc0000000",
		`{i64 = 'offset("output", "input")'}`:                               "40000000",
		`{u64 = 'length("pad")'}, {u64 = 'length("input")'}`:                "c0 7d2",
		`{u64 = "grid * block"}`:                                            "200",
		`{u64 = "type == 'bf16' and op != 'max' and not in_place ? 1 : 0"}`: "1",
	} {
		t.Run(args, func(t *testing.T) {
			step, m, err := bindArgs(t, args)
			if err != nil {
				t.Fatal(err)
			}
			got := words(step.Params)
			for _, table := range m.tables {
				got += " | " + words(table)
			}
			if got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		})
	}
}

// length() counts as one step of an expression, and so the size of a buffer is evaluated once. Here each evaluation has
// 4000 steps, and 900 numbers in each of 64 structs have the size.
func TestSizesAreEvaluatedOnce(t *testing.T) {
	text := fileHead
	structs := "{structs = [" + strings.Repeat("{u64 = 'all'}, ", 149) + "{u64 = 'all'}]}"
	text += "args = [" + strings.Repeat(structs+", ", 5) + structs + "]\n[let]\nall = 'length(\"pad\")'\n"
	for i := range 10 {
		text += fmt.Sprintf("b%d = '1%s'\n", i, strings.Repeat(" + 1", 199))
	}
	f := mustParse(t, text+"[buffers.pad]\nsize = 'b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7 + b8 + b9'\n")
	call := aCall()
	call.World = 64
	start := time.Now()
	steps, err := f.Bind(call, nil, newMemory())
	if err != nil || len(steps) != 1 {
		t.Fatal(err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("it took %v", took)
	}
}
