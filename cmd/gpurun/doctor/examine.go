package doctor

import (
	"io/fs"

	"gpurun/cudart/nvml"
)

// GPUs describes the GPUs; *nvml.Library implements it.
type GPUs interface {
	DriverVersion() (string, error)
	LibraryVersion() (string, error)
	CUDAVersion() (int, error)
	Devices() ([]nvml.Device, error)
	Health(index int) (nvml.Health, error)
	Topology(gpus int) ([][]nvml.Connection, error)
	Close() error
}

// Library is a shared library that gpurun can use.
type Library struct {
	Name string // such as "NCCL"
	// Use says what it is for: "--algo nccl needs it".
	Use string
	// File is where the user says that it is; empty is wherever it is found.
	File string
	// Open loads the library and says where it was and which version it is. Where
	// there is none, the error wraps dl.ErrNotFound.
	Open func() (path, version string, err error)
}

// Sources are what an examination looks at.
type Sources struct {
	Root fs.FS // the file system from "/" on
	// LookupEnv finds a variable of the environment.
	LookupEnv func(name string) (value string, ok bool)
	// FileSystemBytes is the size of the file system that a path is on.
	FileSystemBytes func(path string) (int64, error)
	// NVML opens the library, and CUDA libcuda, of which it returns the CUDA version
	// that it implements, 1000*major+10*minor.
	NVML func() (GPUs, error)
	CUDA func() (int, error)
	// Libraries are those that gpurun can do without.
	Libraries []Library
	// RequireGPU makes a failure of there being no GPU.
	RequireGPU bool
}

func (s Sources) env(name string) string {
	value, _ := s.LookupEnv(name)
	return value
}

// Examine looks at everything but the links between GPUs, for which see
// [Diagnosis.AddPairs].
func Examine(s Sources) Diagnosis {
	d := Diagnosis{Schema: Schema, Devices: []Device{}}
	s.examineGPUs(&d)
	d.add(s.container(len(d.Devices))...)
	d.add(s.multicast())
	d.add(s.libraries()...)
	return d
}

// examineGPUs looks at the driver and what it shows.
func (s Sources) examineGPUs(d *Diagnosis) {
	gpus, err := s.NVML()
	if err != nil {
		d.add(s.noNVML(err))
		return
	}
	defer gpus.Close() // an error here changes no finding
	devices, err := gpus.Devices()
	if err != nil {
		d.add(fail("gpus", "see nvidia-smi and the kernel log (dmesg) for the GPU that does not answer",
			"the driver cannot list its GPUs: %v", err))
		return
	}
	d.add(s.driver(gpus), s.libcuda(gpus))
	if len(devices) == 0 {
		d.add(s.absent("gpus", "give the container its GPUs (docker run --gpus all; "+
			"nvidia.com/gpu in Kubernetes), or see in lspci whether there are any",
			"the driver is there, and shows no GPU"))
		return
	}
	d.add(d.addDevices(gpus, devices)...)
	d.add(s.visible(d.Devices), s.deviceFiles(len(devices)))
	d.add(s.health(d.Devices)...)
	d.add(d.addTopology(gpus))
}

// absent is what is found where there is no GPU.
func (s Sources) absent(check, advice, format string, args ...any) Finding {
	if s.RequireGPU {
		return fail(check, advice, format, args...)
	}
	return warn(check, advice, format, args...)
}
