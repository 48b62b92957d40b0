package rendezvous

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gpurun/rendezvous/clock"
)

// A call of a process that was stopped waits for as long as the server, also if the process went on before the
// deadline.
func TestCallsWaitAsLongAsTheServer(t *testing.T) {
	t.Parallel()
	const timeout, pause = 60 * time.Second, 50 * time.Second
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		running, end := context.WithCancel(context.Background())
		defer end()
		awake, resumed := clock.New(), make(chan struct{})
		go awake.Run(running, func() (time.Duration, bool) {
			<-resumed // as long as the process is stopped, nothing reads the clock
			return 0, false
		}, nil)
		synctest.Wait()
		begun, canceled := time.Now(), make(chan struct{})
		defer cancelAfter(ctx, func() { close(canceled) }, func() bool { return false }, awake)()
		time.Sleep(pause)
		close(resumed)
		<-canceled
		if took, most := time.Since(begun), timeout+pause+answerGrace; took < most-3*time.Second || took > most {
			t.Errorf("canceled after %v, want %v", took, most)
		}
	})
}
