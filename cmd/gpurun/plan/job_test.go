package plan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"pgregory.net/rapid"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags/flagtest"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels"
	"gpurun/worker/workload"
)

// jobFrom is what the workers would be told to do.
func jobFrom(t testing.TB, words ...string) (workload.Job, error) {
	t.Helper()
	return jobBy("allreduce", flagtest.Collective(t, "allreduce", words...))
}

func jobBy(name string, f *pflag.FlagSet) (workload.Job, error) {
	s, err := settings.Load(f)
	if err != nil {
		return workload.Job{}, err
	}
	c, err := settings.Read(s)
	if err != nil {
		return workload.Job{}, err
	}
	what, _ := kernels.Find(name)
	return collectiveJob(s, c, what, nil)
}

// TestJobOfEveryCollective checks what depends on the collective.
func TestJobOfEveryCollective(t *testing.T) {
	t.Setenv("GPURUN_ROOT", "1")
	t.Setenv("GPURUN_EPILOGUE", "scale")
	for _, c := range []struct {
		line string
		want workload.Job
	}{
		{
			"allreduce -o max", workload.Job{
				Ops: []string{"max"}, DTypes: []string{"float"}, Sizes: []int64{8}, Epilogue: "scale", Scale: 0.5,
			},
		},
		{"allreduce --epilogue rmsnorm --hidden 64 --epsilon 0", workload.Job{
			Ops: []string{"sum"}, DTypes: []string{"float"}, Sizes: []int64{8}, Epilogue: "rmsnorm", Row: 64,
		}},
		{
			"reduce -u", workload.Job{
				Ops: []string{"sum"}, DTypes: []string{"float"}, Sizes: []int64{8}, Root: 1, Unaligned: true,
			},
		},
		{"broadcast -r 2 --blocks 7 --max-blocks 5", workload.Job{
			Ops: []string{"none"}, DTypes: []string{"float"}, Sizes: []int64{8}, Root: 2, Blocks: []int{7}, MaxBlocks: 5,
		}},
		{"allgather -d half", workload.Job{Ops: []string{"none"}, DTypes: []string{"half"}, Sizes: []int64{8}}},
		{"barrier", workload.Job{Ops: []string{"none"}, DTypes: []string{"int8"}, Sizes: []int64{0}}},
	} {
		words := strings.Fields(c.line)
		if words[0] != "barrier" {
			words = append(words, "-b", "8", "-e", "8")
		}
		job, err := jobBy(words[0], flagtest.Collective(t, words[0], words[1:]...))
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
		}
		got := workload.Job{
			Ops: job.Ops, DTypes: job.DTypes, Sizes: job.Sizes, Root: job.Root, Unaligned: job.Unaligned,
			Blocks: job.Blocks, MaxBlocks: job.MaxBlocks, Epilogue: job.Epilogue, Row: job.Row, Scale: job.Scale,
			Epsilon: job.Epsilon,
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.line, diff)
		}
	}
}

// TestAllOperations checks what "all" stands for where algorithms differ.
func TestAllOperations(t *testing.T) {
	for _, c := range []struct {
		flags     string
		types, op int // how many
	}{
		{"-d all -o all", 12, 5},
		{"-d all -o all --algo all", 12, 5},
		{"-d all -o all --algo multimem_oneshot", 10, 1},
		{"-d half,bfloat16 -o all --algo multimem_oneshot", 2, 3},
		{"-d half,bfloat16 -o all --algo multimem_oneshot,auto", 2, 5},
		{"-d all --epilogue rmsnorm", 3, 1},
	} {
		got, err := jobFrom(t, strings.Fields(c.flags)...)
		if err != nil {
			t.Errorf("%s: %v", c.flags, err)
		}
		if len(got.DTypes) != c.types || len(got.Ops) != c.op {
			t.Errorf("%s: %v, %v; want %d and %d", c.flags, got.DTypes, got.Ops, c.types, c.op)
		}
	}
}

func TestDefaultJob(t *testing.T) {
	got, err := jobFrom(t)
	if err != nil {
		t.Fatal(err)
	}
	s, err := settings.Load(flagtest.Collective(t, "allreduce"))
	if err != nil {
		t.Fatal(err)
	}
	measured, err := tuningTables(s, settings.Config{})
	if err != nil {
		t.Fatal(err)
	}
	want := workload.Job{
		Collective: "allreduce", Algorithms: []string{"auto"}, DTypes: []string{"float"}, Ops: []string{"sum"},
		Sizes:  []int64{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20},
		Cycles: 1, Iterations: 20, Warmup: 5, Verify: true, Seed: 1, Timeout: 30 * time.Second,
		Tuning: measured.Only("allreduce"), Epilogue: "none", PDL: "auto", P2P: "auto", Multicast: "auto", Symm: "auto",
		LibraryPaths: map[string]string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestJobWords(t *testing.T) {
	got, err := jobFrom(t, "-d", "fp16,half,all", "-o", "all", "--algo", "twoshot,all", "-G", "3", "-c", "0", "-T", "0.5")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"half", "int8", "uint8", "int32", "uint32", "int64", "uint64", "float", "double", "bfloat16", "f8e4m3", "f8e5m2",
	}, got.DTypes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"sum", "prod", "min", "max", "avg"}, got.Ops); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"twoshot", "naive", "oneshot", "oneshot_ll", "oneshot_lamport", "twoshot_lamport", "twoshot_push", "copy_engine",
		"multimem_oneshot", "multimem_twoshot",
	}, got.Algorithms); diff != "" {
		t.Error(diff)
	}
	if got.GraphReplays != 3 || got.Verify || got.Timeout != 500*time.Millisecond {
		t.Errorf("got %+v", got)
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		flags string
		want  []int64
	}{
		{"-b 28 -e 28", []int64{28}},
		{"-b 0 -e 4", []int64{0, 1, 4}},
		{"-b 0 -e 28 -i 14", []int64{0, 14, 28}},
		{"-b 8 -e 100 -f 3", []int64{8, 24, 72}},
		{"-b 128M", []int64{128 << 20}},
		{"-e 512", []int64{512}},
		{"-b 8589934591G -e 9223372036854775807", []int64{8589934591 << 30}},
	} {
		got, err := jobFrom(t, strings.Fields(c.flags)...)
		if err != nil {
			t.Errorf("%s: %v", c.flags, err)
		}
		if diff := cmp.Diff(c.want, got.Sizes); diff != "" {
			t.Errorf("%s: %s", c.flags, diff)
		}
	}
}

// A flag wins over what a file says of the same thing by another name.
func TestStepOfFlagWinsOverStepOfFile(t *testing.T) {
	for _, c := range []struct {
		file, flags string
		want        []int64 // nil: refused
	}{
		{"stepbytes = '4'", "", []int64{4, 8, 12, 16}},
		{"stepbytes = '4'", "-f 2", []int64{4, 8, 16}},
		{"stepfactor = 2", "-i 4", []int64{4, 8, 12, 16}},
		{"stepbytes = '4'\nstepfactor = 2", "", nil},
		{"stepbytes = '4'\nstepfactor = 2", "-i 6", []int64{4, 10, 16}},
		{"", "-i 4 -f 2", nil},
	} {
		file := filepath.Join(t.TempDir(), "settings.toml")
		if err := os.WriteFile(file, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := jobFrom(t, append(strings.Fields(c.flags), "-b", "4", "-e", "16", "--config", file)...)
		switch {
		case c.want == nil && exit.Code(err) != exit.Usage:
			t.Errorf("%q, %s: %v", c.file, c.flags, err)
		case c.want != nil && (err != nil || !slices.Equal(got.Sizes, c.want)):
			t.Errorf("%q, %s: %v, %v", c.file, c.flags, got.Sizes, err)
		}
	}
}

func TestSizesClimbFromFirstToLast(t *testing.T) {
	s, err := settings.Load(flagtest.Collective(t, "allreduce", "-b", "1", "-e", "1"))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		c := settings.Config{
			MinBytes:   settings.ByteSize(rapid.Int64Min(0).Draw(t, "first")),
			MaxBytes:   settings.ByteSize(rapid.Int64Min(0).Draw(t, "last")),
			StepBytes:  settings.ByteSize(rapid.Int64Min(0).Draw(t, "step")),
			StepFactor: rapid.Int64Range(2, 1<<30).Draw(t, "factor"),
		}
		swept, err := sizes(s, c)
		if err != nil {
			return
		}
		if len(swept) == 0 || swept[0] != int64(c.MinBytes) || swept[len(swept)-1] > int64(c.MaxBytes) ||
			!slices.IsSorted(swept) {
			t.Fatalf("%+v gives %v", c, swept)
		}
	})
}

// FuzzConfigFile checks that a file is read or refused, whatever is in it.
func FuzzConfigFile(f *testing.F) {
	f.Add("toml", `iters = 3`)
	f.Add("toml", "[sweep]\niters = 3")
	f.Add("yaml", "iters: [1, 2]\nop: {a: b}")
	f.Add("json", `{"minbytes": 1e300, "timeout": {}, "seed": -1}`)
	f.Add("json", `{"nproc-per-node": null}`)
	path := filepath.Join(f.TempDir(), "config.")
	f.Fuzz(func(t *testing.T, extension, text string) {
		if !slices.Contains([]string{"toml", "yaml", "json"}, extension) {
			return
		}
		if err := os.WriteFile(path+extension, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := jobFrom(t, "--config", path+extension)
		if err != nil && exit.Code(err) != exit.Usage {
			t.Fatalf("it is no usage error: %v", err)
		}
	})
}
