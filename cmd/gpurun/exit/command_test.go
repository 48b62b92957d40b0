package exit

import "testing"

// No code of a launched command is one of those that gpurun reserves for machines.
func TestOfCommand(t *testing.T) {
	for code := range 256 {
		got, reserved := OfCommand(code)
		if machine := code == UnfitMachine || code == NodeLost; reserved != machine || machine && got != 1 ||
			!machine && got != code {
			t.Errorf("%d becomes %d, reserved %v", code, got, reserved)
		}
	}
}

// The reserved codes are neither a signal's nor exit(-1).
func TestReservedCodes(t *testing.T) {
	const lastSignal = 64
	for _, code := range []int{UnfitMachine, NodeLost} {
		if code <= Signaled+lastSignal || code >= 255 {
			t.Errorf("%d can be taken for another program's", code)
		}
	}
}
