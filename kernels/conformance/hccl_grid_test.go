package conformance

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hcclCount is how many floats a part has in the examples of HCCL.
const hcclCount = 64

// hcclCase is an example of HCCL: the input of a rank, and its expected output, for parts of hcclCount elements. want
// is nil on a rank without an output.
type hcclCase struct {
	collective string
	root       int
	send, want func(rank, world int) []float32
}

// hcclElements lists count elements.
func hcclElements(count int, element func(i int) float32) []float32 {
	all := make([]float32, count)
	for i := range all {
		all[i] = element(i)
	}
	return all
}

// ownPart is an input of 64 floats: rank*100 + i.
func ownPart(rank, _ int) []float32 {
	return hcclElements(hcclCount, func(i int) float32 { return float32(rank*100 + i) })
}

// partForEach is an input of 64 floats for each rank: rank*100 + i.
func partForEach(rank, world int) []float32 {
	return hcclElements(world*hcclCount, func(i int) float32 { return float32(rank*100 + i) })
}

// sumOfParts is the sum of all ranks' elements i: n·i + 100·(0 + 1 + ... + n-1).
func sumOfParts(n, i int) float32 { return float32(n*i + 100*n*(n-1)/2) }

func hcclCases() []hcclCase {
	const root = 1
	sums := func(_, n int) []float32 {
		return hcclElements(hcclCount, func(i int) float32 { return sumOfParts(n, i) })
	}
	return []hcclCase{
		{collective: "allreduce", send: ownPart, want: sums},
		{collective: "allgather", send: ownPart, want: func(_, n int) []float32 {
			return hcclElements(n*hcclCount, func(i int) float32 { return float32(i/hcclCount*100 + i%hcclCount) })
		}},
		{collective: "reducescatter", send: partForEach, want: func(rank, n int) []float32 {
			return hcclElements(hcclCount, func(i int) float32 { return sumOfParts(n, rank*hcclCount+i) })
		}},
		{collective: "broadcast", root: root, send: ownPart, want: func(_, _ int) []float32 {
			return hcclElements(hcclCount, func(i int) float32 { return float32(root*100 + i) })
		}},
		{collective: "reduce", root: root, send: ownPart, want: func(rank, n int) []float32 {
			if rank != root {
				return nil
			}
			return sums(rank, n)
		}},
		{collective: "gather", root: root, send: ownPart, want: func(rank, n int) []float32 {
			if rank != root {
				return nil
			}
			return hcclElements(n*hcclCount, func(i int) float32 { return float32(i/hcclCount*100 + i%hcclCount) })
		}},
		{collective: "scatter", root: root, send: partForEach, want: func(rank, _ int) []float32 {
			return hcclElements(hcclCount, func(i int) float32 { return float32(root*100 + rank*hcclCount + i) })
		}},
		{collective: "alltoall", send: partForEach, want: func(rank, n int) []float32 {
			return hcclElements(n*hcclCount, func(i int) float32 {
				from, at := i/hcclCount, i%hcclCount
				return float32(from*100 + rank*hcclCount + at)
			})
		}},
	}
}

// The examples of HCCL, with the inputs and results of its documentation.
func TestHCCLGrid(t *testing.T) {
	parallelInSimulator(t)
	for _, world := range sample([]int{2, 4}, 1) {
		pool := newRankPool(t, gridGroup(t, world))
		for _, example := range hcclCases() {
			for _, c := range gridCalls(t, world, example.collective) {
				c.count, c.root = hcclCount, example.root
				for _, inPlace := range []bool{false, true} {
					if c.inPlace = inPlace; inPlace && !c.canRunInPlace() {
						continue
					}
					name := fmt.Sprintf("%d_ranks/%s/%s/in_place=%t", world, example.collective, c.algorithm.Name, inPlace)
					t.Run(name, func(t *testing.T) {
						pool.run(t, func(m *member) error { return example.run(m, c) })
					})
				}
			}
		}
	}
}

func (x hcclCase) run(m *member, c testCall) error {
	call := c.call(m)
	if err := m.stream.Fill(m.comm.Local(m.recv), guardByte, m.bytes); err != nil {
		return err
	}
	if err := m.stream.Upload(m.comm.Local(call.Send), floatBytes(x.send(m.rank, m.world))); err != nil {
		return err
	}
	if err := c.algorithm.Enqueue(m.comm, m.stream, call); err != nil {
		return err
	}
	if err := m.synchronize(); err != nil {
		return err
	}
	want := x.want(m.rank, m.world)
	got := make([]byte, 4*len(want))
	if len(want) == 0 {
		return nil
	}
	if err := m.stream.Download(got, m.comm.Local(call.Recv)); err != nil {
		return err
	}
	if diff := cmp.Diff(want, bytesFloat(got)); diff != "" {
		return fmt.Errorf("%s (-want +got):\n%s", c, diff)
	}
	return nil
}

func floatBytes(all []float32) []byte {
	var b []byte
	for _, x := range all {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func bytesFloat(b []byte) []float32 {
	return hcclElements(len(b)/4, func(i int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	})
}
