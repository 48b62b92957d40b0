package exit

// OfCommand is gpurun's exit code for that of a launched command. It is the same, but for the codes that gpurun
// reserves for machines: a command that exits with one of these counts as failed with 1, so that the code always comes
// from gpurun.
//
// The reserved codes lie above 128+64, the last that a shell makes of a signal, and below 255, which is exit(-1). The
// codes of sysexits.h (64 to 78), timeout (124) and Python (1, 2, 120) are lower.
func OfCommand(code int) (_ int, reserved bool) {
	if code == UnfitMachine || code == NodeLost {
		return 1, true
	}
	return code, false
}
