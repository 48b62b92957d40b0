package nvml

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

func openFake(t *testing.T, flags ...string) *Library {
	t.Helper()
	l, err := Open(fakeLibrary(t, flags...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func health(t *testing.T, l *Library, index int) Health {
	t.Helper()
	h, err := l.Health(index)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHealth(t *testing.T) {
	l := openFake(t)
	want := []Health{
		{
			Memory:    &MemoryUse{Total: 150 << 30, Reserved: 1 << 30},
			MIG:       &Mode{},
			ECC:       &ECC{Mode: Mode{On: true, Pending: true}, Corrected: 1 << 32, Uncorrected: 2 << 32},
			Remapped:  &RemappedRows{Correctable: 3, Uncorrectable: 4, Pending: true},
			Processes: []Process{{PID: 4000, Bytes: 7 << 30}},
			Slowdown:  &Slowdown{Power: true},
			Fabric: &Fabric{
				State: FabricCompleted, Status: ErrGPUIsLost, Cluster: "c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0", Clique: 77,
				DegradedBandwidth: true,
			},
		},
		{
			Memory:   &MemoryUse{Total: 150 << 30, Reserved: 1 << 30, Used: 1 << 30},
			MIG:      &Mode{Pending: true},
			ECC:      &ECC{Mode: Mode{On: true}, Corrected: 1<<32 + 1, Uncorrected: 2<<32 + 1},
			Remapped: &RemappedRows{Correctable: 3, Uncorrectable: 4, Failed: true},
			Slowdown: &Slowdown{Thermal: true},
		},
	}
	got := []Health{health(t, l, 0), health(t, l, 1)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, newest := range []string{"2", "3"} {
		t.Setenv("FAKE_NVML_FABRIC", newest)
		if diff := cmp.Diff(want[0], health(t, l, 0)); diff != "" {
			t.Errorf("fabric of version %s: %s", newest, diff)
		}
	}
	if _, err := l.Health(2); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("GPU 2 of 2: %v", err)
	}
}

// More processes than there is room for at first are all listed.
func TestManyProcesses(t *testing.T) {
	l := openFake(t)
	t.Setenv("FAKE_NVML_PROCESSES", "100")
	all := health(t, l, 0).Processes
	if len(all) != 100 || all[99] != (Process{PID: 4099, Bytes: -1}) {
		t.Errorf("%d processes, the last %+v", len(all), all[len(all)-1])
	}
}

// What is not supported is absent; a GPU that is lost is an error.
func TestHealthThatCannotBeKnown(t *testing.T) {
	l := openFake(t)
	memory := &MemoryUse{Total: 150 << 30, Used: 75 << 30} // by the function that there always was
	for _, code := range []string{"3", "4"} {
		t.Setenv("FAKE_NVML_HEALTH", code)
		if diff := cmp.Diff(Health{Memory: memory}, health(t, l, 0)); diff != "" {
			t.Errorf("code %s: %s", code, diff)
		}
	}
	t.Setenv("FAKE_NVML_HEALTH", "15")
	if _, err := l.Health(0); !errors.Is(err, ErrGPUIsLost) {
		t.Errorf("got %v", err)
	}
}

// A library without the later functions is no error.
func TestOldLibrary(t *testing.T) {
	l := openFake(t, "-DOLD")
	if diff := cmp.Diff(Health{Memory: &MemoryUse{Total: 150 << 30, Used: 75 << 30}}, health(t, l, 1)); diff != "" {
		t.Error(diff)
	}
	version, err := l.LibraryVersion()
	cuda, cudaErr := l.CUDAVersion()
	if err := errors.Join(err, cudaErr); err != nil || version != "" || cuda != 0 {
		t.Errorf("versions %q and %d, %v", version, cuda, err)
	}
	topology, err := l.Topology(2)
	if err != nil || topology[0][1].String() != "?" {
		t.Errorf("topology %v, %v", topology, err)
	}
}

func TestVersions(t *testing.T) {
	l := openFake(t)
	version, err := l.LibraryVersion()
	cuda, cudaErr := l.CUDAVersion()
	if err := errors.Join(err, cudaErr); err != nil || version != "13.580.95.05" || cuda != 13000 {
		t.Errorf("versions %q and %d, %v", version, cuda, err)
	}
}

func TestTopology(t *testing.T) {
	t.Setenv("FAKE_GPUS", "4")
	l := openFake(t)
	for where, to := range map[string]string{"switch": "1", "GPU": "0"} {
		t.Setenv("FAKE_NVML_SWITCH", to)
		topology, err := l.Topology(4)
		if err != nil {
			t.Fatal(err)
		}
		var words [][]string
		for _, row := range topology {
			var line []string
			for _, c := range row {
				line = append(line, c.String())
			}
			words = append(words, line)
		}
		want := [][]string{ // the own word is that of the zero value
			{"PSB", "NV3", "SYS", "SYS"},
			{"NV3", "PSB", "SYS", "SYS"},
			{"SYS", "SYS", "PSB", "NV3"},
			{"SYS", "SYS", "NV3", "PSB"},
		}
		if diff := cmp.Diff(want, words); diff != "" {
			t.Errorf("links to a %s: %s", where, diff)
		}
	}
}

func TestWordsOfConnections(t *testing.T) {
	for want, c := range map[string]Connection{
		"NV18": {NVLinks: 18, Path: System}, "PIX": {Path: Single}, "PXB": {Path: Multiple}, "PHB": {Path: HostBridge},
		"NODE": {Path: Node}, "SYS": {Path: System}, "PSB": {Path: Internal}, "?": {Path: Unknown},
	} {
		if got := c.String(); got != want {
			t.Errorf("%+v is %q, want %q", c, got, want)
		}
	}
}

// The structs have the layouts of nvml.h, which the versions contain.
func TestLayouts(t *testing.T) {
	var f fabricInfo
	got := map[string]uintptr{
		"nvmlPciInfo_t": unsafe.Sizeof(pciInfo{}), "domain": unsafe.Offsetof(pciInfo{}.Domain),
		"device":       unsafe.Offsetof(pciInfo{}.Device),
		"nvmlMemory_t": unsafe.Sizeof(memory{}), "nvmlMemory_v2_t": unsafe.Sizeof(memory2{}),
		"nvmlProcessInfo_t": unsafe.Sizeof(processInfo{}), "usedGpuMemory": unsafe.Offsetof(processInfo{}.Bytes),
		"nvmlGpuFabricInfo_v3_t": unsafe.Sizeof(f), "clusterUuid": unsafe.Offsetof(f.Cluster),
		"status":   unsafe.Offsetof(f.Status),
		"cliqueId": unsafe.Offsetof(f.Clique), "state": unsafe.Offsetof(f.State), "healthMask": unsafe.Offsetof(f.HealthMask),
		"healthSummary": unsafe.Offsetof(f.Summary),
	}
	want := map[string]uintptr{
		"nvmlPciInfo_t": 68, "domain": 16, "device": 24, "nvmlMemory_t": 24, "nvmlMemory_v2_t": 40,
		"nvmlProcessInfo_t": 24, "usedGpuMemory": 8, "nvmlGpuFabricInfo_v3_t": 40, "clusterUuid": 4, "status": 20,
		"cliqueId": 24, "state": 28, "healthMask": 32, "healthSummary": 36,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
