package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"testing/fstest"

	"gpurun/cudart"
	"gpurun/cudart/dl"
	"gpurun/cudart/nvml"
	"gpurun/worker/result"
)

// fakeGPUs is the driver of a machine that a test makes up.
type fakeGPUs struct {
	driver, library string
	cuda            int
	devices         []nvml.Device
	health          []nvml.Health
	connection      func(a, b int) nvml.Connection
	err             error // of every question about a GPU
}

func (f *fakeGPUs) DriverVersion() (string, error)            { return f.driver, nil }
func (f *fakeGPUs) LibraryVersion() (string, error)           { return f.library, nil }
func (f *fakeGPUs) CUDAVersion() (int, error)                 { return f.cuda, nil }
func (f *fakeGPUs) Devices() ([]nvml.Device, error)           { return f.devices, nil }
func (f *fakeGPUs) Health(index int) (h nvml.Health, _ error) { return f.health[index], f.err }
func (f *fakeGPUs) Close() error                              { return nil }

func (f *fakeGPUs) Topology(gpus int) ([][]nvml.Connection, error) {
	all := make([][]nvml.Connection, gpus)
	for a := range all {
		for b := range gpus {
			all[a] = append(all[a], f.connection(a, b))
		}
	}
	return all, f.err
}

// machine is what an examination of a test looks at.
type machine struct {
	gpus    *fakeGPUs
	nvml    error
	cuda    error
	files   fstest.MapFS
	closed  string // a file that may not be opened
	env     map[string]string
	shm     int64
	library []Library
	require bool
}

func (m *machine) sources() Sources {
	return Sources{
		Root:            closedFS{m.files, m.closed},
		LookupEnv:       func(name string) (string, bool) { value, ok := m.env[name]; return value, ok },
		FileSystemBytes: func(string) (int64, error) { return m.shm, nil },
		NVML: func() (GPUs, error) {
			if m.nvml != nil {
				return nil, m.nvml
			}
			return m.gpus, nil
		},
		CUDA:      func() (int, error) { return 12080, m.cuda },
		Libraries: m.library, RequireGPU: m.require,
	}
}

// closedFS is a file system with a file that may not be opened.
type closedFS struct {
	fstest.MapFS
	closed string
}

func (f closedFS) Open(name string) (fs.File, error) {
	if name == f.closed {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.MapFS.Open(name)
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

// healthy is a machine with four GPUs on switches, and nothing to complain of.
func healthy() *machine {
	const version = "570.86.15"
	m := &machine{
		gpus: &fakeGPUs{
			driver: version, library: "12." + version, cuda: 12080,
			connection: func(int, int) nvml.Connection { return nvml.Connection{NVLinks: 18, Path: nvml.System} },
		},
		files: fstest.MapFS{
			"sys/module/nvidia/version": file(version + "\n"),
			"proc/self/maps": file("7f00-7f01 r--p 00000000 00:01 17   /usr/lib/x86_64-linux-gnu/libcuda.so." +
				version + "\n"),
			"proc/self/limits": file("Limit                     Soft Limit           Hard Limit           Units\n" +
				"Max open files            1024                 1048576              files\n" +
				"Max locked memory         unlimited            unlimited            bytes\n"),
			"proc/self/cgroup":     file("0::/job\n"),
			"sys/fs/cgroup/job/x":  file(""),
			"proc/self/ns/pid":     {Data: []byte("pid:[4026531836]"), Mode: fs.ModeSymlink},
			"dev/nvidiactl":        file(""),
			"dev/nvidia-uvm":       file(""),
			"proc/4000/comm":       file("python3\n"),
			"sys/class/infiniband": {Mode: fs.ModeDir},
		},
		shm: 64 << 30,
	}
	for i := range 4 {
		m.files[fmt.Sprintf("dev/nvidia%d", i)] = file("")
		m.gpus.devices = append(m.gpus.devices, nvml.Device{
			Index: i, Name: "NVIDIA H200", UUID: fmt.Sprintf("GPU-%08d-0000-0000-0000-000000000000", i),
			PCIBusID: fmt.Sprintf("0000:%02x:00.0", 0x18+i), Major: 9, TotalMemory: 150754820096,
		})
		m.gpus.health = append(m.gpus.health, nvml.Health{
			Memory: &nvml.MemoryUse{Total: 150754820096, Reserved: 600 << 20, Used: 4 << 20}, MIG: &nvml.Mode{},
			ECC: &nvml.ECC{Mode: nvml.Mode{On: true, Pending: true}}, Remapped: &nvml.RemappedRows{},
			Slowdown: &nvml.Slowdown{}, Fabric: &nvml.Fabric{State: nvml.FabricCompleted},
		})
	}
	return m
}

// bare is a machine without GPUs and driver.
func bare() *machine {
	m := healthy()
	m.gpus, m.nvml, m.cuda = nil, fmt.Errorf("opening NVML: %w", dl.ErrNotFound),
		fmt.Errorf("opening the CUDA driver: %w", dl.ErrNotFound)
	delete(m.files, "sys/module/nvidia/version")
	return m
}

// pairs is a report of a check of four GPUs, in another order than NVML's, whose
// links all do about the same.
func pairs() result.Report {
	r := result.Report{Schema: result.Schema}
	for rank := range 4 {
		gpu := 3 - rank
		r.Devices = append(r.Devices, cudart.Info{Backend: "cuda", Ordinal: rank, UUID: healthy().gpus.devices[gpu].UUID})
		for to := range 4 {
			if to == rank {
				continue
			}
			fine := result.Compared{Words: 8 << 20, First: -1}
			r.Pairs = append(r.Pairs, result.Pair{
				From: rank, To: to, Written: fine, ReadBack: fine,
				CopyGBs: 390 + float64(rank+to)/8, LoadedGBs: 371.4 - float64(to)/4, LatencyNS: 1102.4 + float64(3*rank-to),
			})
		}
	}
	return r
}

var errBroken = errors.New("it is broken")
