package doctor

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart/dl"
	"gpurun/cudart/nvml"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// diagnoses are machines whose whole text is kept.
func diagnoses() map[string]Diagnosis {
	well := Examine(healthy().sources())
	well.AddPairs(pairs(), 64<<20, false)
	none := Examine(bare().sources())
	return map[string]Diagnosis{"healthy": well, "sick": sick(), "bare": none}
}

// sick is a machine with something of everything.
func sick() Diagnosis {
	m := healthy()
	m.gpus.health[1].Memory.Used = 70 << 30
	m.gpus.health[1].Processes = []nvml.Process{{PID: 4000}, {PID: 4001}}
	m.gpus.health[2].ECC.Uncorrected = 3
	m.gpus.health[0].ECC.On = false
	m.gpus.connection = func(a, b int) nvml.Connection {
		if a/2 == b/2 {
			return nvml.Connection{NVLinks: 4, Path: nvml.Node}
		}
		return nvml.Connection{Path: nvml.System}
	}
	m.env = map[string]string{"CUDA_VISIBLE_DEVICES": "3,2,1,0,7", "NCCL_NVLS_ENABLE": "0"}
	m.shm = 64 << 20
	m.library = []Library{
		{
			Name: "NCCL", Use: "--algo nccl needs it",
			Open: func() (string, string, error) { return "/usr/lib/libnccl.so.2", "2.27.3", nil },
		},
		{
			Name: "NVSHMEM", Use: "--algo nvshmem needs it",
			Open: func() (string, string, error) { return "", "", fmt.Errorf("opening: %w", dl.ErrNotFound) },
		},
	}
	d := Examine(m.sources())
	r := pairs()
	for i, p := range r.Pairs {
		if p.From == 1 || p.To == 1 {
			r.Pairs[i].CopyGBs /= 2
		}
	}
	r.Pairs[0].Written.Wrong, r.Pairs[0].Written.First = 2, 17
	r.Pairs[0].ReadBack.Wrong, r.Pairs[0].ReadBack.First = 1, 18
	d.AddPairs(r, 64<<20, false)
	return d
}

func TestTextGolden(t *testing.T) {
	for name, d := range diagnoses() {
		var out bytes.Buffer
		if err := d.Write(&out); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("%s differs (-want +got); rewrite it with -update if that is meant:\n%s", path, diff)
		}
	}
}

func TestJSONIsTheWholeDiagnosis(t *testing.T) {
	for name, d := range diagnoses() {
		var out bytes.Buffer
		if err := d.JSON(&out); err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(&out)
		decoder.DisallowUnknownFields()
		var back Diagnosis
		if err := decoder.Decode(&back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d, back); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestVerdicts(t *testing.T) {
	all := diagnoses()
	for name, want := range map[string]struct {
		worst Status
		wrong bool
	}{"healthy": {OK, false}, "sick": {Fail, true}, "bare": {Warn, false}} {
		if d := all[name]; d.Worst() != want.worst || d.WrongData() != want.wrong {
			t.Errorf("%s: worst %s, wrong data %v", name, d.Worst(), d.WrongData())
		}
	}
}

// Whatever the files say, looking at them comes to an end, and a file that makes
// no sense is no failure.
func FuzzContainer(f *testing.F) {
	f.Add("Max locked memory  1 2 bytes\nMax open files", "0::/a/../b\n4:cpu,memory:/x", "max 0", "-1")
	f.Add("Max open files unlimited", "0::", "5", "9223372036854771712")
	f.Fuzz(func(t *testing.T, limits, group, cpu, memory string) {
		m := healthy()
		m.files["proc/self/limits"], m.files["proc/self/cgroup"] = file(limits), file(group)
		m.files["sys/fs/cgroup/cpu.max"], m.files["sys/fs/cgroup/memory.max"] = file(cpu), file(memory)
		m.files["proc/self/maps"] = file(limits)
		if d := Examine(m.sources()); d.Worst() == Fail {
			t.Errorf("%+v", d.Findings)
		}
	})
}
