package faults

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ClockVariable has how far the clock may jump, as 1h. The clock is the whole machine's: only a machine that nobody
// else uses should have the variable.
const ClockVariable = "GPURUN_FAULTS_CLOCK"

func clockFaults() []Fault {
	return []Fault{{
		Name:  "clock jump",
		Does:  "The clock of the machine jumps.",
		Alone: true,
		Job:   surviving,
		Strike: func(s *Scene) error {
			by, err := time.ParseDuration(os.Getenv(ClockVariable))
			if err != nil {
				return err
			}
			if err := jump(by); err != nil {
				return err
			}
			time.Sleep(pause)
			if err := jump(-by); err != nil {
				return err
			}
			if s.Cell.Victim == Agent {
				return s.End()
			}
			return s.finish()
		},
		Missing: func(*Room) string {
			if os.Getenv(ClockVariable) == "" {
				return "the clock is the whole machine's; scripts/fault-clock.sh sets that of an emulated machine"
			}
			if err := jump(0); err != nil {
				return err.Error()
			}
			return ""
		},
	}}
}

// jump sets the clock forward, or back.
func jump(by time.Duration) error {
	at := unix.NsecToTimespec(time.Now().Add(by).UnixNano())
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &at); err != nil {
		return fmt.Errorf("setting the clock: %w", err)
	}
	return nil
}
