package nccl

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"gpurun/cudart"
)

// stream stands for a CUstream; the stand-in checks that it arrives whole.
const stream = 0x7fedcba987654321

func expectStream(t testing.TB) { t.Setenv("FAKE_NCCL_STREAM", fmt.Sprintf("%#x", uint64(stream))) }

// More ranks than cores, a root that is not the default, and a count that is a
// multiple of nothing and takes the stand-in several pieces.
const (
	world = 3
	root  = 2
	count = 300007
)

// value is element i of what a rank sends.
func value(rank, i int) int32 { return int32(i%7 + 1000*rank) }

// sum is element i of the sum of all ranks' sends.
func sum(i int) int32 {
	var s int32
	for r := range world {
		s += value(r, i)
	}
	return s
}

func TestCollectives(t *testing.T) {
	for name, flag := range eras {
		t.Run(name, func(t *testing.T) {
			expectStream(t)
			together(t, open(t, flag), world, collectives)
		})
	}
}

// collectives runs all of them as one rank, and checks every element.
func collectives(c *Comm, rank int) error {
	send, recv := make([]int32, world*count), make([]int32, world*count)
	for i := range send {
		send[i] = value(rank, i)
	}
	var pins runtime.Pinner
	defer pins.Unpin()
	from, to := pinned(&pins, send), pinned(&pins, recv)
	untouched := func(int) int32 { return 0 }
	for _, step := range []struct {
		name    string
		enqueue func() error
		parts   int // that are received
		want    func(i int) int32
	}{
		{
			"allreduce", func() error { return c.AllReduce(from, to, count, Int32, Sum, stream) },
			1, sum,
		},
		{
			"reducescatter", func() error { return c.ReduceScatter(from, to, count, Int32, Sum, stream) },
			1, func(i int) int32 { return sum(rank*count + i) },
		},
		{
			"allgather", func() error { return c.AllGather(from, to, count, Int32, stream) },
			world, func(i int) int32 { return value(i/count, i%count) },
		},
		{
			"broadcast", func() error { return c.Broadcast(from, to, count, Int32, root, stream) },
			1, func(i int) int32 { return value(root, i) },
		},
		{
			"reduce", func() error { return c.Reduce(from, to, count, Int32, Sum, root, stream) },
			1, map[bool]func(int) int32{true: sum, false: untouched}[rank == root],
		},
		{
			"alltoall", func() error { return c.AllToAll(from, to, count, Int32, stream) },
			world, func(i int) int32 { return value(i/count, rank*count+i%count) },
		},
		{
			"gather", func() error { return c.Gather(from, to, count, Int32, root, stream) },
			world, map[bool]func(int) int32{
				true: func(i int) int32 { return value(i/count, i%count) }, false: untouched,
			}[rank == root],
		},
		{
			"scatter", func() error { return c.Scatter(from, to, count, Int32, root, stream) },
			1, func(i int) int32 { return value(root, rank*count+i) },
		},
	} {
		clear(recv)
		if err := step.enqueue(); err != nil {
			return err
		}
		if err := errors.Join(
			each(recv[:step.parts*count], step.want),
			each(recv[step.parts*count:], untouched),
		); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

func each(got []int32, want func(i int) int32) error {
	for i, g := range got {
		if g != want(i) {
			return fmt.Errorf("element %d is %d, not %d", i, g, want(i))
		}
	}
	return nil
}

// The stand-in reduces every type and operation as the library would: what the
// whole program is tested with has to be right itself. Bits of two ranks' 1.5
// and 2, and of the results.
func TestStandInReduces(t *testing.T) {
	l := open(t)
	for _, test := range []struct {
		t                        DataType
		a, b                     uint64
		sum, prod, max, min, avg uint64
	}{
		{Int8, 0x80, 0x80, 0, 0, 0x80, 0x80, 0}, // -128: the sum is one of the type
		{Uint8, 200, 100, 44, 32, 200, 100, 22},
		{Int32, 0xffffffff, 2, 1, 0xfffffffe, 2, 0xffffffff, 0},
		{Uint32, 0xffffffff, 2, 1, 0xfffffffe, 0xffffffff, 2, 0},
		{Int64, 1<<64 - 3, 1, 1<<64 - 2, 1<<64 - 3, 1, 1<<64 - 3, 1<<64 - 1},
		{Uint64, 1<<64 - 3, 1, 1<<64 - 2, 1<<64 - 3, 1<<64 - 3, 1, 1<<63 - 1},
		{Float16, 0x3e00, 0x4000, 0x4300, 0x4200, 0x4000, 0x3e00, 0x3f00},
		{BFloat16, 0x3fc0, 0x4000, 0x4060, 0x4040, 0x4000, 0x3fc0, 0x3fe0},
		{Float8e4m3, 0x3c, 0x40, 0x46, 0x44, 0x40, 0x3c, 0x3e},
		{Float8e5m2, 0x3e, 0x40, 0x43, 0x42, 0x40, 0x3e, 0x3f},
		{Float32, 0x3fc00000, 0x40000000, 0x40600000, 0x40400000, 0x40000000, 0x3fc00000, 0x3fe00000},
		{Float64, 0x3ff8 << 48, 0x4000 << 48, 0x400c << 48, 0x4008 << 48, 0x4000 << 48, 0x3ff8 << 48, 0x3ffc << 48},
		{Float16, 0x6800, 0x3c00, 0x6800, 0x6800, 0x6800, 0x3c00, 0x6400}, // 2048 + 1: ties to even
		{Float16, 0x7bff, 0x7bff, 0x7c00, 0x7c00, 0x7bff, 0x7bff, 0x7bff}, // to infinity
		{Float16, 0x0001, 0x8003, 0x8002, 0x8000, 0x0001, 0x8003, 0x8001}, // subnormal
		{Float8e4m3, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e},            // saturates
	} {
		want := [...]uint64{Sum: test.sum, Prod: test.prod, Max: test.max, Min: test.min, Avg: test.avg}
		together(t, l, 2, func(c *Comm, rank int) error {
			for op, bits := range want {
				got, err := reduceBits(c, []uint64{test.a, test.b}[rank], test.t, RedOp(op))
				if err == nil && got != bits {
					err = fmt.Errorf("type %d, op %d of %#x and %#x: got %#x, want %#x", test.t, op, test.a, test.b, got, bits)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// Three ranks' floats are added in the order of the ranks.
func TestStandInAddsInOrder(t *testing.T) {
	bits := []uint64{0x4cbebc20, 0x3f800000, 0xccbebc20} // 1e8, 1, -1e8
	together(t, open(t), 3, func(c *Comm, rank int) error {
		got, err := reduceBits(c, bits[rank], Float32, Sum)
		if err == nil && got != 0 {
			err = fmt.Errorf("got %#x", got)
		}
		return err
	})
}

// reduceBits reduces one element, in place, and checks what is beside it.
func reduceBits(c *Comm, bits uint64, t DataType, op RedOp) (uint64, error) {
	const guard = 0x5a5a5a5a5a5a5a5a
	memory := []uint64{bits, guard}
	if size := 8 * t.Size(); size < 64 {
		memory[0] |= guard << size
	}
	var pins runtime.Pinner
	defer pins.Unpin()
	p := pinned(&pins, memory)
	err := c.AllReduce(p, p, 1, t, op, 0)
	if rest := memory[0] >> (8*t.Size() - 1) >> 1; rest != guard<<(8*t.Size()-1)<<1>>(8*t.Size()-1)>>1 ||
		memory[1] != guard {
		err = errors.Join(err, fmt.Errorf("more than one element was written: %x", memory))
	}
	return memory[0] & (1<<(8*t.Size()-1)<<1 - 1), err
}

func TestDifferentArguments(t *testing.T) {
	l := open(t)
	together(t, l, 2, func(c *Comm, rank int) error {
		memory := make([]int32, 2)
		var pins runtime.Pinner
		defer pins.Unpin()
		p := pinned(&pins, memory)
		if err := c.AllReduce(p, p, int64(1+rank), Int32, Sum, 0); !errors.Is(err, ErrInternal) {
			return fmt.Errorf("counts that differ: %w", err)
		}
		return nil
	})
}

// A group that fails halfway is ended: the next one is not within it.
func TestFailedGroupIsEnded(t *testing.T) {
	l := open(t, "-DVERSION=21003")
	together(t, l, 1, func(c *Comm, rank int) error {
		runtime.LockOSThread() // groups belong to threads
		defer runtime.UnlockOSThread()
		var pins runtime.Pinner
		defer pins.Unpin()
		p := pinned(&pins, []int32{1, 0})
		if err := c.AllToAll(p, p+4, 1, Float8e4m3, 0); !errors.Is(err, ErrInvalidArgument) {
			return fmt.Errorf("a type that is unknown: %w", err)
		}
		aborted := &Comm{lib: l, world: 1}
		if err := aborted.AllToAll(p, p+4, 1, Int32, 0); !errors.Is(err, ErrInvalidArgument) {
			return fmt.Errorf("an aborted communicator: %w", err)
		}
		return c.AllToAll(p, p+4, 1, Int32, 0)
	})
}

// A group belongs to a thread, and a goroutine that has none of its own moves
// whenever others want to run: it does not within a group.
func TestGroupStaysOnItsThread(t *testing.T) {
	l := open(t, "-DVERSION=22304", "-DSLOW_GROUPS")
	stop := make(chan struct{})
	defer close(stop)
	for range 2 * runtime.GOMAXPROCS(0) {
		go crowd(stop)
	}
	together(t, l, 1, func(c *Comm, rank int) error {
		var pins runtime.Pinner
		defer pins.Unpin()
		p := pinned(&pins, []int32{1, 0})
		for range 20 {
			if err := c.AllToAll(p, p+4, 1, Int32, 0); err != nil {
				return err
			}
		}
		return nil
	})
}

// crowd wants to run until stop is closed.
func crowd(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
			runtime.Gosched()
		}
	}
}

func BenchmarkAllReduce(b *testing.B) {
	l := open(b)
	b.ReportAllocs()
	together(b, l, 1, func(c *Comm, rank int) error {
		var pins runtime.Pinner
		defer pins.Unpin()
		p := pinned(&pins, []int32{1})
		for b.Loop() {
			if err := c.AllReduce(p, p, 1, Int32, Sum, 0); err != nil {
				return err
			}
		}
		return nil
	})
}

// Enqueuing is what benchmarks of the collectives measure: it makes no garbage.
func TestEnqueuingAllocatesNothing(t *testing.T) {
	for _, flag := range []string{eras["by value"], eras["with alltoall"]} {
		l := open(t, flag)
		together(t, l, 1, func(c *Comm, rank int) error {
			var pins runtime.Pinner
			defer pins.Unpin()
			p := pinned(&pins, []int32{1, 0})
			var err error
			allocs := testing.AllocsPerRun(100, func() { err = errors.Join(err, enqueueAll(c, p)) })
			if err == nil && allocs > 0 {
				err = fmt.Errorf("%v allocations", allocs)
			}
			return err
		})
	}
}

func enqueueAll(c *Comm, p cudart.DevicePtr) error {
	for _, err := range [...]error{
		c.AllReduce(p, p, 1, Int32, Sum, 0),
		c.ReduceScatter(p, p, 1, Int32, Sum, 0),
		c.AllGather(p, p, 1, Int32, 0),
		c.Broadcast(p, p, 1, Int32, 0, 0),
		c.Reduce(p, p, 1, Int32, Sum, 0, 0),
		c.AllToAll(p, p+4, 1, Int32, 0),
		c.Gather(p, p+4, 1, Int32, 0, 0),
		c.Scatter(p, p+4, 1, Int32, 0, 0),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}
