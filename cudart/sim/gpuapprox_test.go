package sim

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim/approx"
)

// On GPUs of compute capability 9.0 the approximations on singles are those of package approx in all
// bits, for all operands. Those of other GPUs are logged.
func TestGPUApproximations(t *testing.T) {
	gpus := gpuBackend(t, 8)
	modeled := gpuCapability(t, gpus) == 90
	for _, in := range approx.Instructions {
		t.Run(in.String(), func(t *testing.T) {
			result := sweep(t, openFor(t, gpus), in, 1<<32, 1)
			t.Logf("| `%s` | %s |", in, result)
			if result.different == 0 {
				return
			}
			if t.Logf("%d results differ, the first of %#x", result.different, result.firstOperand); modeled {
				t.Fail()
			}
		})
	}
}

// openFor opens a device for one test: a device belongs to the goroutine that opens it.
func openFor(t *testing.T, b cudart.Backend) cudart.Device {
	t.Helper()
	d, err := b.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// Likewise in the simulator, for some operands of each exponent.
func TestSimulatedApproximationsAreThoseOfThePackage(t *testing.T) {
	d, err := New(1, Options{}).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, in := range approx.Instructions {
		if result := sweep(t, d, in, 1<<13, 1<<19+13); result.different != 0 {
			t.Errorf("%s: %d results differ, the first of %#x", in, result.different, result.firstOperand)
		}
	}
}

// sweep computes an instruction for operands 0, stride, 2*stride and so on, on a device. It compares
// each chunk of results with package approx, on all processors, while the device computes the next.
func sweep(t *testing.T, d cudart.Device, in approx.Instruction, count, stride uint64) *differences {
	t.Helper()
	const block = 256
	m, err := d.LoadModule("sweep", []byte(sweepModule(in)))
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Kernel("sweep")
	if err != nil {
		t.Fatal(err)
	}
	s, chunk := mustStream(t, d), min(count, 1<<26)
	results := mustMalloc(t, d, int64(4*chunk))
	total := &differences{operands: count}
	buffers := [2][]byte{make([]byte, 4*chunk), make([]byte, 4*chunk)}
	var comparison sync.WaitGroup
	for i := range count / chunk {
		first := i * chunk * stride
		shape := cudart.Launch{Blocks: int(chunk / block), Threads: block}
		if err := s.Launch(k, shape, params(uint64(results), first, stride)); err != nil {
			t.Fatal(err)
		}
		if err := s.Download(buffers[i%2], results); err != nil {
			t.Fatal(err)
		}
		if stride == 1 {
			recordSweep(t, in, buffers[i%2], first)
		}
		comparison.Wait()
		comparison.Go(func() { total.compareAll(in, buffers[i%2], first, stride) })
	}
	comparison.Wait()
	if err := d.Free(results); err != nil {
		t.Fatal(err)
	}
	return total
}

// sweepModule has a kernel whose threads compute one result each.
func sweepModule(in approx.Instruction) string {
	return fmt.Sprintf(`.version 7.8
.target sm_80
.address_size 64
.visible .entry sweep(.param .u64 results, .param .u64 first, .param .u64 stride)
{
	.reg .b64 %%at, %%first, %%stride;
	.reg .b32 %%i, %%block, %%size, %%x;
	.reg .f32 %%d;
	ld.param.u64 %%at, [results];
	ld.param.u64 %%first, [first];
	ld.param.u64 %%stride, [stride];
	mov.u32 %%i, %%tid.x;
	mov.u32 %%block, %%ctaid.x;
	mov.u32 %%size, %%ntid.x;
	mad.lo.u32 %%i, %%block, %%size, %%i;
	mad.wide.u32 %%at, %%i, 4, %%at;
	cvt.u32.u64 %%x, %%first;
	cvt.u32.u64 %%size, %%stride;
	mad.lo.u32 %%x, %%i, %%size, %%x;
	mov.b32 %%d, %%x;
	%s %%d, %%d;
	st.global.f32 [%%at], %%d;
	ret;
}
`, in)
}

// differences between a device and package approx.
type differences struct {
	sync.Mutex
	operands, different uint64
	largest             int64  // in units in the last place
	firstOperand        uint64 // where different is not 0
}

// String is two cells of a table.
func (d *differences) String() string {
	equal := float64(d.operands-d.different) / float64(d.operands)
	return fmt.Sprintf("%.7f %% | %d", 100*equal, d.largest)
}

// compareAll compares the results for operands from first on, on all processors.
func (d *differences) compareAll(in approx.Instruction, results []byte, first, stride uint64) {
	var workers sync.WaitGroup
	n, processors := len(results)/4, runtime.GOMAXPROCS(0)
	for i := range processors {
		from, to := i*n/processors, (i+1)*n/processors
		workers.Go(func() { d.compare(in, results[4*from:4*to], first+uint64(from)*stride, stride) })
	}
	workers.Wait()
}

func (d *differences) compare(in approx.Instruction, results []byte, first, stride uint64) {
	for i := range len(results) / 4 {
		operand := first + uint64(i)*stride
		got, want := binary.LittleEndian.Uint32(results[4*i:]), in.Compute(uint32(operand))
		if got == want {
			continue
		}
		d.Lock()
		if d.different++; d.different == 1 || operand < d.firstOperand {
			d.firstOperand = operand
		}
		d.largest = max(d.largest, distance(got, want))
		d.Unlock()
	}
}

// distance counts the singles from a to b.
func distance(a, b uint32) int64 {
	ordered := func(x uint32) int64 {
		if x>>31 != 0 {
			return -int64(x &^ (1 << 31))
		}
		return int64(x)
	}
	return max(ordered(a)-ordered(b), ordered(b)-ordered(a))
}
