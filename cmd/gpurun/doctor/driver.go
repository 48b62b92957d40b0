package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"gpurun/cudart/dl"
	"gpurun/cudart/nvml"
)

// kernelVersion is that of the NVIDIA kernel module, or "" where none is loaded.
func (s Sources) kernelVersion() string {
	if text, err := fs.ReadFile(s.Root, "sys/module/nvidia/version"); err == nil {
		return strings.TrimSpace(string(text))
	}
	text, err := fs.ReadFile(s.Root, "proc/driver/nvidia/version")
	if err != nil {
		return ""
	}
	return regexp.MustCompile(`[0-9]+\.[0-9.]+`).FindString(string(text))
}

// onBus counts NVIDIA's GPUs on the PCI bus, which is seen without a driver.
func (s Sources) onBus() (n int) {
	folders, _ := fs.Glob(s.Root, "sys/bus/pci/devices/*") // the pattern is right
	for _, folder := range folders {
		vendor, _ := fs.ReadFile(s.Root, folder+"/vendor")
		class, _ := fs.ReadFile(s.Root, folder+"/class")
		const nvidia, display = "0x10de", "0x03"
		if strings.HasPrefix(string(vendor), nvidia) && strings.HasPrefix(string(class), display) {
			n++
		}
	}
	return n
}

// noNVML says why NVML does not answer, and what a container was meant to get.
func (s Sources) noNVML(err error) Finding {
	f := s.missing(err)
	if value, set := s.LookupEnv("NVIDIA_VISIBLE_DEVICES"); set {
		f.Details = append(f.Details, "NVIDIA_VISIBLE_DEVICES="+value+
			" is read only by NVIDIA's container runtime: did it start the container?")
	}
	return f
}

// missing says what of driver, kernel module and container is missing.
func (s Sources) missing(err error) Finding {
	const (
		container = "start the container with its GPUs and NVIDIA_DRIVER_CAPABILITIES=compute,utility " +
			"(docker run --gpus all; nvidia.com/gpu in Kubernetes)"
		install = "install the NVIDIA driver, and load it: modprobe nvidia"
	)
	kernel := s.kernelVersion()
	missing := errors.Is(err, dl.ErrNotFound)
	if _, err := s.CUDA(); missing && err == nil {
		return warn("driver", "start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility",
			"libcuda was found, but libnvidia-ml.so.1, which describes the GPUs, was not")
	}
	switch {
	case missing && kernel != "":
		return s.absent("driver", container,
			"the kernel has NVIDIA's driver %s, but its libraries are not here: this is a container without GPUs, "+
				"or the driver is installed in part", kernel)
	case missing && s.onBus() > 0:
		return s.absent("driver", install, "there are %d NVIDIA GPUs on the PCI bus, and no NVIDIA driver", s.onBus())
	case missing:
		return s.absent("driver", "gpurun runs in the simulator; for GPUs, take a machine that has them, or "+container,
			"there is no NVIDIA driver, and no NVIDIA GPU on the PCI bus")
	case errors.Is(err, nvml.ErrDriverNotLoaded) && kernel != "":
		return s.absent("driver", container,
			"NVIDIA's driver %s is loaded, but this process cannot reach it: /dev/nvidiactl is missing or closed to it", kernel)
	case errors.Is(err, nvml.ErrDriverNotLoaded):
		return s.absent("driver", "modprobe nvidia, and see dmesg if that fails; in a container: "+container,
			"NVIDIA's libraries are here, but its kernel module is not loaded")
	case errors.Is(err, nvml.ErrLibRMMismatch):
		return fail("driver", "reboot after an update of the driver, or restart the container with the host's libraries",
			"the kernel module is %s, and the libraries are of another version", orUnknown(kernel))
	}
	return fail("driver", "see whether nvidia-smi works; if not, reinstall the driver", "NVML does not answer: %v", err)
}

func orUnknown(version string) string {
	if version == "" {
		return "of an unknown version"
	}
	return version
}

// driver compares the versions of the kernel module and of NVML.
func (s Sources) driver(gpus GPUs) Finding {
	version, err := gpus.DriverVersion()
	library, libraryErr := gpus.LibraryVersion()
	cuda, cudaErr := gpus.CUDAVersion()
	if err := errors.Join(err, libraryErr, cudaErr); err != nil {
		return fail("driver", "see whether nvidia-smi works; if not, reinstall the driver",
			"the driver does not report its version: %v", err)
	}
	_, sameAs, _ := strings.Cut(library, ".") // the API's version comes first
	if library != "" && sameAs != version {
		return warn("driver", "restart the container with the host's libraries",
			"the kernel module is %s, and libnvidia-ml is of %s", version, sameAs)
	}
	f := ok("driver", "NVIDIA driver %s", version)
	if cuda > 0 {
		f.Summary += ", for CUDA up to " + cudaVersion(cuda)
	}
	return f
}

func cudaVersion(number int) string { return fmt.Sprintf("%d.%d", number/1000, number%1000/10) }

// libcuda opens the library that kernels run by, and compares its version with
// the driver's.
func (s Sources) libcuda(gpus GPUs) Finding {
	cuda, err := s.CUDA()
	if errors.Is(err, dl.ErrNotFound) {
		return fail("libcuda", "start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility",
			"libcuda.so.1 was not found, and nothing can run on a GPU")
	}
	if err != nil {
		return fail("libcuda", "reinstall the driver, or take what shadows its libcuda out of LD_LIBRARY_PATH",
			"libcuda.so.1 does not load: %v", err)
	}
	version, err := gpus.DriverVersion()
	path := s.mapped("libcuda.so")
	_, own, _ := strings.Cut(path, "libcuda.so.")
	var f Finding
	switch known := err == nil && strings.Contains(own, "."); {
	case !known:
		f = ok("libcuda", "libcuda is for CUDA %s", cudaVersion(cuda))
	case own != version:
		f = warn("libcuda", "this is right if it comes from a cuda-compat package; "+
			"else restart the container with the host's libraries",
			"libcuda is %s, and the driver %s", own, version)
	default:
		f = ok("libcuda", "libcuda is of the driver's version, for CUDA %s", cudaVersion(cuda))
	}
	if path != "" {
		f.Details = []string{path}
	}
	return f
}

// mapped is the path of a library that this process has loaded, or "". Symbolic
// links are resolved in it.
func (s Sources) mapped(name string) string {
	text, err := fs.ReadFile(s.Root, "proc/self/maps")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if at := strings.Index(line, "/"); at >= 0 && strings.Contains(line[at:], "/"+name) {
			return strings.TrimSpace(line[at:])
		}
	}
	return ""
}
