package doctor

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cudart/dl"
	"gpurun/cudart/nvml"
)

// ailments are changes of a healthy machine, and the one finding that is then not
// OK. The keys say "check: sentence".
var ailments = map[string]struct {
	status Status
	change func(*machine)
}{
	"driver: the kernel module is 570.86.15, and libnvidia-ml is of 565.57.01": {
		Warn, func(m *machine) { m.gpus.library = "12.565.57.01" },
	},
	"libcuda: libcuda.so.1 was not found":               {Fail, func(m *machine) { m.cuda = dl.ErrNotFound }},
	"libcuda: libcuda.so.1 does not load: it is broken": {Fail, func(m *machine) { m.cuda = errBroken }},
	"libcuda: libcuda is 575.1, and the driver 570.86.15": {Warn, func(m *machine) {
		m.files["proc/self/maps"] = file("7f00-7f01 r--p 00000000 00:01 17   /usr/local/cuda/compat/libcuda.so.575.1\n")
	}},
	"gpus: the driver is there, and shows no GPU": {Warn, func(m *machine) { m.gpus.devices = nil }},
	"visible devices: CUDA_VISIBLE_DEVICES=1,9 shows 1 of 4 GPUs: the entry \"9\" does not name": {Warn, func(m *machine) {
		m.env = map[string]string{"CUDA_VISIBLE_DEVICES": "1,9"}
	}},
	"visible devices: CUDA_VISIBLE_DEVICES=\"\" hides all 4 GPUs": {
		Warn, func(m *machine) { m.env = map[string]string{"CUDA_VISIBLE_DEVICES": ""} },
	},
	"visible devices: CUDA_VISIBLE_DEVICES=MIG-1 names instances of MIG": {Warn, func(m *machine) {
		m.env = map[string]string{"CUDA_VISIBLE_DEVICES": "MIG-1"}
	}},
	"device files: /dev/nvidia-uvm is missing": {
		Fail, func(m *machine) { delete(m.files, "dev/nvidia-uvm") },
	},
	"device files: this process may not open /dev/nvidia2": {
		Fail, func(m *machine) { m.closed = "dev/nvidia2" },
	},
	"memory: GPU 0: 2.0 GiB of 140.4 GiB are in use, by processes that are not visible here": {
		Warn, func(m *machine) { m.gpus.health[0].Memory.Used = 2 << 30 },
	},
	"memory: GPU 3: 4.0 MiB of 140.4 GiB are in use, by python3": {
		Warn, func(m *machine) { m.gpus.health[3].Processes = []nvml.Process{{PID: 4000}} },
	},
	"mig: GPU 1: MIG is on": {
		Warn, func(m *machine) { m.gpus.health[1].MIG.On = true },
	},
	"mig: GPU 1: MIG will be on after": {
		Warn, func(m *machine) { m.gpus.health[1].MIG.Pending = true },
	},
	"ecc: GPU 2: 3 memory errors were not corrected": {
		Fail, func(m *machine) { m.gpus.health[2].ECC.Uncorrected = 3 },
	},
	"ecc: GPU 2: ECC is off": {
		Warn, func(m *machine) { m.gpus.health[2].ECC.On = false },
	},
	"remapped rows: GPU 0: a bad memory row could not": {
		Fail, func(m *machine) { m.gpus.health[0].Remapped.Failed = true },
	},
	"remapped rows: GPU 0: a bad memory row is remapped after": {
		Warn, func(m *machine) { m.gpus.health[0].Remapped.Pending = true },
	},
	"clocks: GPU 0: .* because of heat": {
		Warn, func(m *machine) { m.gpus.health[0].Slowdown.Thermal = true },
	},
	"clocks: GPU 0: .* the power supply": {
		Warn, func(m *machine) { m.gpus.health[0].Slowdown.Power = true },
	},
	"fabric: GPU 0: it has not joined the NVLink fabric .in pro": {
		Fail, func(m *machine) { m.gpus.health[0].Fabric.State = nvml.FabricInProgress },
	},
	"fabric: GPU 0: .*: NVML_ERROR_UNKNOWN": {
		Fail, func(m *machine) { m.gpus.health[0].Fabric.Status = nvml.ErrUnknown },
	},
	"fabric: GPU 0: a route of its NVLinks is not healthy": {
		Warn, func(m *machine) { m.gpus.health[0].Fabric.UnhealthyRoute = true },
	},
	"fabric: GPU 0: the bandwidth of its NVLinks is degraded": {
		Warn, func(m *machine) { m.gpus.health[0].Fabric.DegradedBandwidth = true },
	},
	"shared memory: /dev/shm has 64.0 MiB; NCCL": {Warn, func(m *machine) { m.shm = 64 << 20 }},
	"locked memory: a process may lock 8.0 MiB of memory; .* use mlx5_0": {Warn, func(m *machine) {
		m.files["proc/self/limits"] = file("Max locked memory         8388608              unlimited            bytes\n")
		m.files["sys/class/infiniband/mlx5_0"] = file("")
	}},
	"open files: a process may open 512 files; .* may need 1024": {Warn, func(m *machine) {
		m.files["proc/self/limits"] = file("Max open files            512                  512                  files\n")
	}},
	"cgroup memory: the cgroup allows 4.0 GiB of memory, for 4 GPUs": {Warn, func(m *machine) {
		m.files["sys/fs/cgroup/job/memory.max"] = file("4294967296\n")
		m.files["sys/fs/cgroup/memory.max"] = file("8589934592\n")
	}},
	"cgroup memory: the cgroup allows 1.0 GiB": {Warn, func(m *machine) { // version 1, without the host's path
		m.files["proc/self/cgroup"] = file("4:cpu,cpuacct:/docker/1\n3:memory:/docker/1\n")
		m.files["sys/fs/cgroup/memory/memory.limit_in_bytes"] = file("1073741824\n")
		m.files["sys/fs/cgroup/cpu/cpu.cfs_quota_us"] = file("-1\n")
		m.files["sys/fs/cgroup/cpu/cpu.cfs_period_us"] = file("100000\n")
	}},
	"cgroup cpu: the cgroup allows 1.5 CPUs, for 4 GPUs": {Warn, func(m *machine) {
		m.files["sys/fs/cgroup/job/cpu.max"] = file("150000 100000\n")
		m.files["sys/fs/cgroup/cpu.max"] = file("max 100000\n")
	}},
	"cgroup cpu: the cgroup allows 2.0 CPUs": {Warn, func(m *machine) { // version 1
		m.files["proc/self/cgroup"] = file("4:cpu,cpuacct:/\n")
		m.files["sys/fs/cgroup/cpu/cpu.cfs_quota_us"] = file("200000\n")
		m.files["sys/fs/cgroup/cpu/cpu.cfs_period_us"] = file("100000\n")
	}},
	"nccl: NCCL is not at /opt/libnccl.so.2, where": {Fail, func(m *machine) {
		m.library = []Library{
			{Name: "NCCL", File: "/opt/libnccl.so.2", Open: func() (string, string, error) { return "", "", dl.ErrNotFound }},
		}
	}},
	"nccl: NCCL was found and cannot be used: it is broken": {Warn, func(m *machine) {
		m.library = []Library{
			{Name: "NCCL", Use: "--algo nccl needs it", Open: func() (string, string, error) { return "", "", errBroken }},
		}
	}},
}

// A job that has some of a machine's GPUs may not open the files of the others.
func TestFilesOfOtherJobsGPUs(t *testing.T) {
	m := healthy()
	m.files["dev/nvidia4"], m.closed = file(""), "dev/nvidia1"
	for _, f := range Examine(m.sources()).Findings {
		if f.Check == "device files" && (f.Status != OK || !strings.Contains(f.Summary, " 4 GPUs")) {
			t.Errorf("got %+v", f)
		}
	}
}

func TestEveryAilmentHasItsFinding(t *testing.T) {
	for want, ailment := range ailments {
		m := healthy()
		ailment.change(m)
		checkOnly(t, Examine(m.sources()), want, ailment.status)
	}
}

// checkOnly wants one finding that is not OK, with what to do about it.
func checkOnly(t *testing.T, d Diagnosis, want string, status Status) {
	t.Helper()
	found := 0
	for _, f := range d.Findings {
		if f.Status == OK && f.Advice == "" {
			continue
		}
		if found++; !regexp.MustCompile(want).MatchString(f.Check + ": " + f.Summary) {
			t.Errorf("got %s: %s, want %s", f.Check, f.Summary, want)
		}
		if f.Status != status || f.Advice == "" {
			t.Errorf("%s: status %s, want %s; advice %q", want, f.Status, status, f.Advice)
		}
	}
	if found != 1 {
		t.Errorf("%s: %d findings have something to complain of", want, found)
	}
}

// Without GPUs it is said what is missing, which fails only if they are required.
func TestWhatIsMissing(t *testing.T) {
	notLoaded := &nvml.Error{Op: "nvmlInit_v2", Code: nvml.ErrDriverNotLoaded}
	for want, change := range map[string]func(*machine){
		"driver: there is no NVIDIA driver, and no NVIDIA GPU": func(*machine) {},
		"driver: there are 1 NVIDIA GPUs on the PCI bus, and no NVIDIA driver": func(m *machine) {
			m.files["sys/bus/pci/devices/0000:18:00.0/vendor"] = file("0x10de\n")
			m.files["sys/bus/pci/devices/0000:18:00.0/class"] = file("0x030200\n")
			m.files["sys/bus/pci/devices/0000:19:00.0/vendor"] = file("0x10de\n") // a bridge
			m.files["sys/bus/pci/devices/0000:19:00.0/class"] = file("0x068000\n")
		},
		"driver: the kernel has NVIDIA's driver 570.86.15, but its libraries": func(m *machine) {
			m.files["proc/driver/nvidia/version"] = file(
				"NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 1\n")
		},
		"driver: NVIDIA's driver 570.86.15 is loaded, but this process cannot reach": func(m *machine) {
			m.nvml = notLoaded
			m.files["sys/module/nvidia/version"] = file("570.86.15\n")
		},
		"driver: NVIDIA's libraries are here, but its kernel module is not": func(m *machine) { m.nvml = notLoaded },
	} {
		for required, status := range map[bool]Status{false: Warn, true: Fail} {
			m := bare()
			m.require = required
			change(m)
			checkOnly(t, Examine(m.sources()), want, status)
		}
	}
}

// A container that was meant to have GPUs is told so.
func TestVariableOfTheContainerRuntime(t *testing.T) {
	m := bare()
	m.env = map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"}
	if f := Examine(m.sources()).Findings[0]; len(f.Details) != 1 ||
		!strings.Contains(f.Details[0], "NVIDIA_VISIBLE_DEVICES=all") {
		t.Errorf("got %+v", f)
	}
}

// A driver that is there and does not work fails, required or not.
func TestBrokenDriver(t *testing.T) {
	for want, code := range map[string]error{
		"driver: the kernel module is of an unknown version, and the libraries": &nvml.Error{
			Op: "nvmlInit_v2", Code: nvml.ErrLibRMMismatch,
		},
		"driver: NVML does not answer: it is broken": errBroken,
	} {
		m := bare()
		m.nvml = code
		checkOnly(t, Examine(m.sources()), want, Fail)
	}
	m := bare()
	m.cuda = nil
	checkOnly(t, Examine(m.sources()),
		"driver: libcuda was found, but libnvidia-ml.so.1, which describes the GPUs, was not", Warn)
}

// Questions that the driver cannot answer are findings, and the rest is examined.
func TestGPUThatDoesNotAnswer(t *testing.T) {
	for status, err := range map[Status]error{
		Warn: errBroken, Fail: fmt.Errorf("asking: %w", nvml.ErrGPUIsLost),
	} {
		m := healthy()
		m.gpus.err = err
		d := Examine(m.sources())
		var complaints []string
		for _, f := range d.Findings {
			if f.Status != OK {
				complaints = append(complaints, string(f.Status)+" "+f.Check)
			}
		}
		silent := string(status) + " gpu health"
		want := []string{silent, silent, silent, silent, "WARN topology"}
		if diff := cmp.Diff(want, complaints); diff != "" || len(d.Devices) != 4 {
			t.Errorf("%d devices; %s", len(d.Devices), diff)
		}
	}
}

// A GPU that has failed gives another exit code than what is wrong with the machine around it: the one is replaced, the
// other may be gone at the next try.
func TestFailedGPUHasACodeOfItsOwn(t *testing.T) {
	for name, test := range map[string]struct {
		code   int
		change func(*machine)
	}{
		"nothing failed": {exit.OK, func(*machine) {}},
		"errors":         {exit.UnfitMachine, func(m *machine) { m.gpus.health[2].ECC.Uncorrected = 3 }},
		"bad row":        {exit.UnfitMachine, func(m *machine) { m.gpus.health[0].Remapped.Failed = true }},
		"lost":           {exit.UnfitMachine, func(m *machine) { m.gpus.err = nvml.ErrGPUIsLost }},
		"silent":         {exit.OK, func(m *machine) { m.gpus.err = errBroken }},
		"driver":         {exit.Environment, func(m *machine) { m.nvml = &nvml.Error{Code: nvml.ErrLibRMMismatch} }},
	} {
		m := healthy()
		test.change(m)
		if code := exit.Code(Verdict(Examine(m.sources()))); code != test.code {
			t.Errorf("%s: code %d, want %d", name, code, test.code)
		}
	}
}

// An old driver that tells nothing is no ailment.
func TestGPUsThatTellNothing(t *testing.T) {
	m := healthy()
	for i := range m.gpus.health {
		m.gpus.health[i] = nvml.Health{}
	}
	d := Examine(m.sources())
	for _, f := range d.Findings {
		if f.Status != OK || f.Check == "ecc" {
			t.Errorf("got %+v", f)
		}
	}
}

func TestMixedModels(t *testing.T) {
	m := healthy()
	m.gpus.devices[2].Name = "NVIDIA L40S"
	d := Examine(m.sources())
	for _, f := range d.Findings {
		if wrong := f.Check == "gpus" || f.Check == "visible devices"; wrong != (f.Status == Warn) {
			t.Errorf("got %+v", f)
		}
	}
}
