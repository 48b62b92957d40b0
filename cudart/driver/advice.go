package driver

import "gpurun/cudart"

// Codes that only this package names.
const (
	errDeviceUnavailable cudart.Result = 46
	errUnknown           cudart.Result = 999
)

// advice says what a user can do about a code, where that is known better than
// the driver's wording says it.
func advice(code cudart.Result) string {
	switch code {
	case cudart.ErrOutOfMemory:
		return "the GPU has too little free memory; try smaller sizes, or see with nvidia-smi who else uses it"
	case cudart.ErrStubLibrary:
		return "this libcuda is the toolkit's stub for linking; take its folder (.../stubs) out of LD_LIBRARY_PATH"
	case errDeviceUnavailable:
		return "another process holds the GPU in exclusive mode, or the GPU is out of order; see nvidia-smi -q"
	case cudart.ErrNoDevice:
		return "the driver sees no GPU; check nvidia-smi, CUDA_VISIBLE_DEVICES, and the container's devices"
	case cudart.ErrNoBinaryForGPU:
		return "the module has no code for this GPU's architecture"
	case cudart.ErrUnsupportedPTX:
		return "the PTX is newer than this driver understands; update the NVIDIA driver"
	case cudart.ErrSystemNotReady:
		return "the GPUs' fabric is not up; on machines with NVSwitch nvidia-fabricmanager has to run, " +
			"in the version of the driver"
	case cudart.ErrSystemMismatch:
		return "libcuda and the loaded kernel driver have different versions; reboot after a driver update, " +
			"or start the container with the host's libraries"
	case cudart.ErrIllegalAddress, cudart.ErrIllegalInstr, cudart.ErrMisaligned, cudart.ErrLaunchFailed:
		return "an earlier kernel crashed; nothing more can run in this process"
	case cudart.ErrCoopTooLarge:
		return "the blocks of a cooperative launch must all be resident at once; launch fewer or smaller blocks"
	case cudart.ErrCaptureUnjoined:
		return "a stream that joined the capture was not joined back: record an event at its end, " +
			"and let the capturing stream wait for it"
	case errUnknown:
		return "the driver does not say why; often the kernel module nvidia_uvm is not loaded, or /dev/nvidia-uvm is missing"
	}
	return ""
}
