package sim

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"gpurun/cudart"
)

// awaitPTX is a kernel that polls the word at data until it is not 0 or so many nanoseconds have passed, and stores the
// time that it took to data+8.
const awaitPTX = `
.version 8.0
.target sm_80
.address_size 64
.visible .entry await(.param .u64 at, .param .u64 bound)
{
	.reg .pred p;
	.reg .u32 word;
	.reg .u64 data, most, began, took;
	ld.param.u64 data, [at];
	ld.param.u64 most, [bound];
	mov.u64 began, %globaltimer;
loop:
	ld.relaxed.sys.global.u32 word, [data];
	mov.u64 took, %globaltimer;
	sub.u64 took, took, began;
	setp.ne.u32 p, word, 0;
	@p bra done;
	setp.lt.u64 p, took, most;
	@p bra loop;
done:
	st.global.u64 [data+8], took;
	exit;
}
`

// awaitWord runs awaitPTX on a device with a clock, while another host thread runs `beside`, and returns the time that
// the kernel took. The kernel begins before.
func awaitWord(t *testing.T, most time.Duration, beside func(c *Clock, set func() error) error) time.Duration {
	t.Helper()
	c := NewClock(2)
	d := openWith(t, Options{Clock: c})
	m, err := d.LoadModule("await", []byte(awaitPTX))
	if err != nil {
		t.Fatal(err)
	}
	kernel := mustKernelOf(t, m, "await")
	data, stream, other := mustMalloc(t, d, 16), mustStream(t, d), mustStream(t, d)
	if err := stream.Launch(kernel, cudart.Launch{Blocks: 1, Threads: 1}, params(uint64(data), uint64(most))); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		defer c.Pause()
		ended <- beside(c, func() error { return other.WriteValue(data, 1) })
	}()
	took := make([]byte, 8)
	if err := errors.Join(stream.Download(took, data+8), <-ended); err != nil {
		t.Fatal(err)
	}
	return time.Duration(binary.LittleEndian.Uint64(took))
}

func mustKernelOf(t *testing.T, m cudart.Module, entry string) cudart.Kernel {
	t.Helper()
	k, err := m.Kernel(entry)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A minute passes at once if nothing else can happen.
func TestTimePassesWhileAllWait(t *testing.T) {
	took := awaitWord(t, time.Minute, func(*Clock, func() error) error { return nil })
	if took < time.Minute || took > time.Minute+10*clockStep {
		t.Errorf("a wait of a minute took %v of simulated time", took)
	}
}

// Hardly any time passes while a host thread runs, however long that takes: the kernel only reads the clock.
func TestNoTimePassesWhileAThreadRuns(t *testing.T) {
	const most = 20 * clockStep
	took := awaitWord(t, most, func(_ *Clock, set func() error) error {
		time.Sleep(2 * most) // of real time, in which the kernel polls
		return set()
	})
	if took >= most {
		t.Errorf("the kernel's wait expired after %v of simulated time", took)
	}
}

// A thread sleeps for simulated time, during which the others wait.
func TestSleepTakesSimulatedTime(t *testing.T) {
	const late = 10 * time.Second
	took := awaitWord(t, time.Minute, func(c *Clock, set func() error) error {
		began := c.Now()
		c.Sleep(late)
		if slept := c.Now() - began; slept < late || slept > late+10*clockStep {
			t.Errorf("a thread slept for %v, want %v", slept, late)
		}
		return set()
	})
	if took < late-10*clockStep || took > late+10*clockStep {
		t.Errorf("the kernel waited for %v, and the thread slept for %v", took, late)
	}
}
