package conformance

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim/check"
	"gpurun/cudart/sim/check/race"
	"gpurun/kernels/allreduce"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// checkedCalls are calls of an algorithm that follow each other, for the race checker.
type checkedCalls struct {
	algorithm *collective.Algorithm
	source    collective.Source // nil is that of the catalog
	count     int64             // of floats
	calls     int
	blocks    int
}

const checkedRanks = 2

// run runs the calls once under the schedule of a seed.
func (c checkedCalls) run(t testing.TB, checker *check.Checker, seed uint64) *check.Report {
	t.Helper()
	if c.source == nil {
		c.source = ptx.Source
	}
	report, err := checker.Run(seed, c.rank)
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	return report
}

// rank is what a rank does: every element of its input is its number plus 1.
func (c checkedCalls) rank(r *check.Rank) (err error) {
	comm, err := c.join(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, comm.Close()) }()
	s, err := r.Device.NewStream()
	if err != nil {
		return err
	}
	send, recv := c.buffers(r.World)
	if err := s.Upload(comm.Local(send), floats(c.count, float32(r.Number+1))); err != nil {
		return err
	}
	if err := r.Meet(); err != nil {
		return err
	}
	call := collective.Call{Send: send, Recv: recv, Count: c.count, DType: collective.Float, Op: collective.Sum}
	call.Blocks = c.blocks
	for range c.calls {
		if err := c.algorithm.Enqueue(comm, s, call); err != nil {
			return err
		}
	}
	if err := errors.Join(s.Synchronize(context.Background()), comm.Err()); err != nil {
		return err
	}
	return expectFloats(s, comm.Local(recv), c.count, float32(r.World*(r.World+1)/2))
}

// buffers are the offsets of input and output, behind signal pad and scratch.
func (c checkedCalls) buffers(world int) (send, recv int64) {
	send = collective.SignalPadBytes + c.algorithm.ScratchBytes(world, 4*c.count)
	return (send + 255) / 256 * 256, (send+4*c.count+511)/256*256 + 256
}

// join makes the communicator of a rank, and names its memory.
func (c checkedCalls) join(r *check.Rank) (*collective.Comm, error) {
	send, recv := c.buffers(r.World)
	base, err := r.Device.Malloc(recv + 4*c.count)
	if err != nil {
		return nil, err
	}
	r.Name(base, collective.SignalPadBytes, "signal pad")
	r.Name(base+cudart.DevicePtr(collective.SignalPadBytes), send-collective.SignalPadBytes, "scratch")
	r.Name(base+cudart.DevicePtr(send), 4*c.count, "input")
	r.Name(base+cudart.DevicePtr(recv), 4*c.count, "output")
	peers, err := r.Share(base)
	if err != nil {
		return nil, err
	}
	return collective.New(collective.Config{
		Device: r.Device, Source: c.source, Rank: r.Number, Peers: peers, ScratchOffset: collective.SignalPadBytes,
		SMs: r.Device.Info().SMs, Timeout: waitTimeout,
	})
}

// floats are so many of one value, as bytes.
func floats(count int64, value float32) []byte {
	var all []byte
	for range count {
		all = binary.LittleEndian.AppendUint32(all, math.Float32bits(value))
	}
	return all
}

func expectFloats(s cudart.Stream, at cudart.DevicePtr, count int64, want float32) error {
	got := make([]byte, 4*count)
	if err := s.Download(got, at); err != nil {
		return err
	}
	for i := range count {
		if v := math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])); v != want {
			return fmt.Errorf("element %d is %v, want %v", i, v, want)
		}
	}
	return nil
}

func newChecker(t testing.TB) *check.Checker {
	t.Helper()
	c, err := check.New(check.Config{Ranks: checkedRanks})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The one-shot allreduce has no race, and neither have calls that use the slots of earlier ones again.
func TestOneShotHasNoRace(t *testing.T) {
	t.Parallel()
	checker := newChecker(t)
	for seed := range uint64(4) {
		c := checkedCalls{algorithm: allreduce.OneShot(), count: 1500, calls: 3, blocks: 2}
		r := c.run(t, checker, seed)
		if !r.Clean() {
			t.Errorf("seed %d: %v, incomplete %q", seed, r.Findings, r.Incomplete)
		}
	}
}

// A barrier of the one-shot allreduce that is removed or weakened is found with both lines, the store to the scratch and
// a peer's load from it, though the results are right.
func TestWeakenedBarriersOfOneShotAreFound(t *testing.T) {
	t.Parallel()
	const (
		blockBarrier   = `bar\.red\.and\.pred (%p\d+),0,(%p\d+);`
		store, acquire = `st\.release\.sys\.global`, `ld\.acquire\.sys\.global`
		nothing, scope = race.NoOrder, race.NarrowScope
	)
	for _, m := range []struct {
		pattern     string
		occurrence  int // in the kernel
		replacement string
		cause       race.Cause
	}{
		{blockBarrier, 0, "mov.pred $1,$2;", nothing}, // before the flag
		{blockBarrier, 1, "mov.pred $1,$2;", nothing}, // behind it
		{store, 0, "st.relaxed.sys.global", nothing},
		{store, 0, "st.volatile.global", nothing},
		{store, 0, "st.global", nothing},
		{store, 0, "st.release.gpu.global", scope},
		{store, 0, "st.release.cta.global", scope},
		{acquire, 0, "ld.relaxed.sys.global", nothing},
		{acquire, 0, "ld.volatile.global", nothing},
		{acquire, 0, "ld.global", nothing},
		{acquire, 0, "ld.acquire.gpu.global", scope},
		{acquire, 0, "ld.acquire.cta.global", scope},
	} {
		t.Run(fmt.Sprint(m.replacement, m.occurrence), func(t *testing.T) {
			text := mutant(t, m.pattern, m.occurrence, m.replacement)
			c := checkedCalls{algorithm: allreduce.OneShot(), count: 1500, calls: 3, blocks: 2}
			c.source = func(string) ([]byte, error) { return []byte(text), nil }
			checker := newChecker(t)
			for seed := range uint64(3) {
				r := c.run(t, checker, seed)
				if !findsStaging(r, strings.Split(text, "\n"), m.cause) || len(r.Incomplete) > 0 {
					t.Errorf("seed %d finds %v, incomplete %q", seed, r.Findings, r.Incomplete)
				}
			}
		})
	}
}

// mutant is the text of the module with one change in the kernel for two ranks.
func mutant(t *testing.T, pattern string, occurrence int, replacement string) string {
	t.Helper()
	const module, begin = "allreduce_oneshot_float_sm_90", ".entry oneshot_sum_n2("
	text, err := ptx.Source(module)
	if err != nil {
		t.Fatal(err)
	}
	head, entry, _ := strings.Cut(string(text), begin)
	re := regexp.MustCompile(pattern)
	places := re.FindAllStringSubmatchIndex(entry, occurrence+1)
	if len(places) <= occurrence {
		t.Fatalf("oneshot_sum_n2 of %s has no %s", module, pattern)
	}
	at := places[occurrence]
	changed := re.ExpandString([]byte(entry[:at[0]]), replacement, entry, at)
	return head + begin + string(changed) + entry[at[1]:]
}

// findsStaging reports whether there is a finding with a cause, of a rank's store to its scratch and a peer's load, which
// names the lines of both.
func findsStaging(r *check.Report, lines []string, cause race.Cause) bool {
	names := func(a check.Access, opcode string) bool {
		return strings.HasPrefix(a.Text, opcode) && strings.Contains(lines[a.Line-1], a.Text)
	}
	for _, f := range r.Findings {
		if f.Cause == cause && f.First.Rank != f.Second.Rank && names(f.First, "st.global.v4") &&
			names(f.Second, "ld.global.v4") && strings.Contains(f.Where, fmt.Sprintf("rank %d's scratch", f.First.Rank)) {
			return true
		}
	}
	return false
}
