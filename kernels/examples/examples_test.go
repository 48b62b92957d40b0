package examples

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gpurun/kernels/kernelfile"
)

// example is a kernel file and the truth of its outputs.
type example struct {
	file     string
	types    []string
	ops      []string
	multiple int64 // of counts
	slow     bool  // fewer elements and seeds
	// want computes a rank's outputs from all ranks' inputs, each by the name of the buffer.
	want func(op string, inputs map[string][]part, rank int) map[string]part
}

func reduction(op string, inputs map[string][]part, _ int) map[string]part {
	return map[string]part{"output": reduce(op, inputs["input"])}
}

func product(_ string, inputs map[string][]part, rank int) map[string]part {
	a := slices.Concat(inputs["a"]...)
	return map[string]part{"gathered": a, "c": multiply(a, inputs["b"][rank], productK)}
}

// productN and productK are the extents of products; M is the count of a call on each rank.
const productN, productK = 43, 136

func nextCells(_ string, inputs map[string][]part, rank int) map[string]part {
	return map[string]part{"next": stencil(inputs["cells"], rank)}
}

var examples = []example{
	{"oneshot", []string{"float"}, []string{"sum"}, 1, false, reduction},
	{"symm_oneshot", []string{"bfloat16"}, []string{"sum"}, 8, false, reduction},
	{"serving_onestage", []string{"float", "int32"}, []string{"sum"}, 4, false, reduction},
	{"serving_twostage", []string{"float", "int32"}, []string{"sum"}, 4, false, reduction},
	{"packets", []string{"float"}, []string{"sum", "max"}, 1, false, reduction},
	{"baked", []string{"int32"}, []string{"max"}, 1, false, reduction},
	{"two_launches", []string{"float"}, []string{"sum"}, 1, false, reduction},
	{"gather_matmul", []string{"bfloat16"}, []string{"none"}, 1, true, product},
	{"halo", []string{"float"}, []string{"none"}, 1, false, nextCells},
}

// Every example computes what it says, call after call without a pause, with inputs and counts that change, small after
// large and large after small. With seeds, memory is as weak as PTX allows.
func TestExamples(t *testing.T) {
	for _, e := range examples {
		for _, world := range []int{2, 4} {
			for seed := range uint64(3) {
				if e.slow && (seed > 1 || seed == 1 && world == 4) {
					continue
				}
				for i, elementType := range e.types {
					op := e.ops[i%len(e.ops)]
					if seed > 0 {
						op = e.ops[len(e.ops)-1]
					}
					t.Run(fmt.Sprintf("%s/%d-%d-%s-%s", e.file, world, seed, elementType, op), func(t *testing.T) {
						newScenario(t, e, world, elementType, op).run(t, seed)
					})
				}
			}
		}
	}
}

// scenario is some calls of an example on some ranks.
type scenario struct {
	example
	file   *kernelfile.File
	bundle *kernelfile.Bundle
	calls  []kernelfile.Call // of rank 0
	// inputs and outputs are the contents of buffers in each call, by name and rank.
	inputs, outputs []map[string][]part
	types           map[string]string // of the elements of inputs and outputs
	sizes           map[string]int64  // of all buffers
}

func newScenario(t *testing.T, e example, world int, elementType, op string) *scenario {
	t.Helper()
	text, err := os.ReadFile(e.file + ".toml")
	if err != nil {
		t.Fatal(err)
	}
	s := &scenario{example: e, types: map[string]string{}, sizes: map[string]int64{}}
	if s.file, err = kernelfile.Parse(e.file+".toml", text); err != nil {
		t.Fatal(err)
	}
	elementBytes := int64(len(part{0}.encode(elementType)))
	counts := []int64{1500, 1, 1100, 7, 1499}
	if e.slow {
		counts = []int64{33, 1, 32}
	}
	for number, n := range counts {
		n *= e.multiple
		call := kernelfile.Call{
			World: world, Type: elementType, Op: op, ElementBytes: elementBytes, Count: n, SMs: 3, Number: int64(number),
			InputBytes: n * elementBytes, OutputBytes: n * elementBytes,
		}
		if s.file.IsProduct() {
			call.M, call.N, call.K = n*int64(world), productN, productK
			call.Matrices = kernelfile.Matrices{
				A: n * call.K * 2, B: call.N * call.K * 2, C: call.M * call.N * 2, Gathered: call.M * call.K * 2,
			}
		}
		s.calls = append(s.calls, call)
	}
	if s.bundle, err = readModules(s.file, s.calls[0]); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, call := range s.calls {
		if err := s.add(r, call); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// add makes the inputs of a call, and the outputs that they must give.
func (s *scenario) add(r *rand.Rand, call kernelfile.Call) error {
	sizes, err := s.file.Sizes(call)
	if err != nil {
		return err
	}
	inputs, outputs := map[string][]part{}, map[string][]part{}
	take := func(name, elementType string, role kernelfile.Role, size int64) {
		s.sizes[name], s.types[name] = max(s.sizes[name], size), elementType
		for range call.World {
			if role == kernelfile.Input {
				inputs[name] = append(inputs[name], random(r, elementType, size/call.ElementBytes))
			}
		}
	}
	for i, b := range s.file.Buffers {
		take(b.Name, b.Type, b.Role, sizes[i])
	}
	switch {
	case s.file.IsProduct():
		take("a", call.Type, kernelfile.Input, call.Matrices.A)
		take("b", call.Type, kernelfile.Input, call.Matrices.B)
		take("c", call.Type, kernelfile.Output, call.Matrices.C)
		take("gathered", call.Type, kernelfile.Output, call.Matrices.Gathered)
	case s.file.Collective != kernelfile.Custom:
		take("input", call.Type, kernelfile.Input, call.InputBytes)
		take("output", call.Type, kernelfile.Output, call.OutputBytes)
	}
	for rank := range call.World {
		for name, p := range s.want(call.Op, inputs, rank) {
			outputs[name] = append(outputs[name], p)
		}
	}
	s.inputs, s.outputs = append(s.inputs, inputs), append(s.outputs, outputs)
	return nil
}

// memory lists what each rank has, a copy of what rotates for each turn.
func (s *scenario) memory() (list []buffer) {
	for name, size := range s.sizes {
		turns, zero := 1, false
		for _, b := range s.file.Buffers {
			if b.Name == name {
				turns, zero = max(b.Rotate, 1), b.Init != nil
			}
		}
		for turn := range turns {
			list = append(list, buffer{copyName(name, turn), size, zero})
		}
	}
	slices.SortFunc(list, func(a, b buffer) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	return list
}

func copyName(name string, turn int) string { return fmt.Sprint(name, "#", turn) }
