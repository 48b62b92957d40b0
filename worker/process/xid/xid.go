// Package xid reads errors of GPUs in the kernel's log, and knows which of them are the machine's. NVIDIA's driver
// numbers its errors; a number is called an Xid.
package xid

// hardware has the errors that no program causes, and after which the GPU or the machine must be reset before programs
// run there: in NVIDIA's Xid catalog for Ampere and newer GPUs, the immediate action is RESET_GPU, RESTART_VM or
// RESTART_BM, or a workflow for the memory (48) or for NVLink (74). Errors with RESTART_APP or IGNORE are not here: 13,
// 31 and 43 are mostly those of programs, 45 follows another error, after 63 and 94 the GPU remains usable.
var hardware = map[uint64]string{
	46:  "the GPU stopped processing",
	48:  "an uncorrectable error of the memory",
	62:  "the power management unit halted",
	64:  "a row of the memory could not be replaced",
	74:  "an error of NVLink",
	79:  "the GPU has fallen off the bus",
	95:  "an uncontained error of the memory",
	109: "the GPU did not switch contexts in time",
	110: "a security fault",
	119: "the GPU's system processor did not answer",
	120: "an error of the GPU's system processor",
	136: "the training of an NVLink failed",
	140: "an unrecovered error of the memory",
	143: "the GPU could not be initialized",
	151: "an error of key rotation",
	155: "an error of NVLink",
	156: "a part of the GPU was retired",
	158: "a fatal time-out of the GPU",
}

// HardwareFault returns the meaning of an error that no program causes; ok is false for all other errors.
func HardwareFault(code uint64) (meaning string, ok bool) {
	meaning, ok = hardware[code]
	return meaning, ok
}
