package sim

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// quantum is how many instructions a warp executes in one turn: enough to keep
// its registers in the cache, and few enough to look at d.stop often.
const quantum = 4096

// launch is an enqueued kernel.
type launch struct {
	device *Device
	kernel *kernel
	shape  cudart.Launch
	params []byte
}

func (l *launch) config() exec.Config {
	d := l.device
	cfg := exec.Config{
		Blocks: l.shape.Blocks, Threads: l.shape.Threads, SharedBytes: l.shape.SharedBytes,
		Params: l.params, SMs: d.info.SMs, Memory: d.memory, Clock: d,
		Stop: func() bool { return d.stop.Err() != nil },
	}
	if l.kernel.module.image != nil {
		cfg.Image = l.kernel.module.image.base
	}
	return cfg
}

func (l *launch) check() error {
	if info := l.device.info; l.shape.PDL && info.Major < 9 {
		return failure("launching "+l.kernel.Name(), cudart.ErrNotSupported,
			"programmatic dependent launch needs compute capability 9.0, and the device has %d.%d", info.Major, info.Minor)
	}
	cfg := l.config()
	if err := cfg.Check(l.kernel.code); err != nil {
		return failure("launching "+l.kernel.Name(), cudart.ErrInvalidValue, "%v", err)
	}
	return nil
}

// pause gives the CPU to whoever this kernel waits for, first to another
// stream of this process and then to other processes. At first it only yields,
// because the answer is often on its way; then it sleeps, a small part of the time
// waited so far, so that ranks that have something to do find a core, however
// many wait. A sleep of Go's own would last a millisecond at least where nothing
// else runs, which is too long at first.
func pause(rounds int) {
	const yields, step, longest = 64, 5 * time.Microsecond, 500 * time.Microsecond
	runtime.Gosched()
	if rounds <= yields {
		unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		return
	}
	nap := time.Duration(rounds-yields) * step
	if nap > longest {
		time.Sleep(time.Millisecond)
		return
	}
	short := unix.NsecToTimespec(int64(nap))
	unix.Nanosleep(&short, nil)
}

// failed gives a fault the code that the driver would report.
func (l *launch) failed(err error) error {
	var fault *exec.Fault
	if !errors.As(err, &fault) {
		return fmt.Errorf("running %s: %w", l.kernel.Name(), err)
	}
	code := cudart.ErrLaunchFailed
	switch fault.Kind {
	case exec.IllegalAddress:
		code = cudart.ErrIllegalAddress
	case exec.MisalignedAddress:
		code = cudart.ErrMisaligned
	case exec.IllegalInstruction:
		code = cudart.ErrIllegalInstr
	}
	return failure("running "+l.kernel.Name(), code, "%v", fault)
}
