package workload

import (
	"errors"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/tuning"
)

// gpus are so many of a compute capability.
func gpus(world, major int) Capabilities {
	s := Capabilities{}
	for range world {
		s.Devices = append(s.Devices, cudart.Info{Backend: "cuda", Name: "NVIDIA H200", Major: major, SMs: 132})
	}
	return s
}

// withLibraries has both libraries open.
func (s Capabilities) withLibraries() Capabilities {
	s.Libraries = map[string]Library{"nccl": able{}, "nccl_symmetric": able{}, "nvshmem": able{heap: true}}
	return s
}

// onOneGPU has all ranks on a GPU.
func (s Capabilities) onOneGPU() Capabilities {
	for i := range s.Devices {
		s.Devices[i].UUID = "GPU-0"
	}
	return s
}

// able is a library that does everything.
type able struct{ heap bool }

func (a able) HasHeap() bool { return a.heap }

func (able) Supports(string, collective.DType, collective.Op) error { return nil }

func tables(rules ...tuning.Rule) tuning.Tables {
	return tuning.Tables{{GPU: "NVIDIA H200", Compute: "9.0", Measured: "2026-01-01", Rules: rules}}
}

func TestChoose(t *testing.T) {
	sum := collective.Call{Count: 1 << 20, DType: collective.Float, Op: collective.Sum}
	small, prod, f8, norm := sum, sum, sum, sum
	small.Count = 16
	prod.Op = collective.Prod
	f8.DType = collective.F8E4M3
	norm.Epilogue = collective.Epilogue{Kind: collective.RMSNorm, Row: 1024}
	apart, noMulticast, pdl := gpus(4, 9), gpus(4, 9), gpus(4, 9)
	waiting := gpus(4, 9)
	waiting.NoOverlap = "copies wait for kernels"
	copies := tables(tuning.Rule{Collective: "allreduce", World: 4, Algorithm: "copy_engine"})
	apart.NoPeerAccess, noMulticast.NoMulticast, pdl.WantPDL = "GPU 1 cannot reach GPU 2", "multicast is off", true
	apartPDL := apart
	apartPDL.WantPDL = true // which epilogues do not have
	scattered := gpus(4, 9)
	scattered.SpansMachines = true // without libraries
	measured := tables(tuning.Rule{Collective: "allreduce", World: 4, Algorithm: "multimem_twoshot", Blocks: 24})
	for _, tt := range []struct {
		name      string
		algorithm string
		call      collective.Call
		caps      Capabilities
		tables    tuning.Tables
		want      string // the algorithm, or what the error says
		blocks    int
		why       string
	}{
		{"named", "oneshot", sum, gpus(4, 9), measured, "oneshot", 0, "asked for"},
		{"large", Auto, sum, gpus(4, 9), nil, "twoshot_push", 0, "an estimate"},
		{"small", Auto, small, gpus(4, 9), nil, "oneshot_ll", 0, "an estimate"},
		{"measured", Auto, sum, gpus(4, 9), measured, "multimem_twoshot", 24, "measured best on NVIDIA H200"},
		{
			"measured, but it cannot", Auto, prod, gpus(4, 9), measured, "twoshot_push", 0,
			"an estimate; multimem_twoshot, which is for all sizes, cannot do this",
		},
		{
			"measured, but no multicast", Auto, sum, noMulticast, measured, "twoshot_push", 0,
			"an estimate; multimem_twoshot, which is for all sizes, cannot do this",
		},
		{
			"no multicast", "multimem_oneshot", sum, noMulticast, nil,
			"multimem_oneshot cannot run: it needs a multicast address, and multicast is off", 0, "",
		},
		{"measured, and copies overlap", Auto, sum, gpus(4, 9), copies, "copy_engine", 0, "measured best on NVIDIA H200"},
		{
			"measured, but copies do not overlap", Auto, sum, waiting, copies, "twoshot_push", 0,
			"an estimate; copy_engine is slow here: copies wait for kernels",
		},
		{"named, and copies do not overlap", "copy_engine", sum, waiting, nil, "copy_engine", 0, "asked for"},
		{"apart", Auto, sum, apart, measured, "naive", 0, "GPU 1 cannot reach GPU 2"},
		{"apart, and naive cannot", Auto, norm, apart, measured, "oneshot", 0, "GPU 1 cannot reach GPU 2"},
		{
			"apart, named", "twoshot", sum, apart, nil,
			"naive or oneshot or oneshot_ll or oneshot_lamport or twoshot_lamport can", 0, "",
		},
		{"apart, named, can", "oneshot_ll", sum, apart, nil, "oneshot_ll", 0, "asked for"},
		{
			"apart, with a heap", "nvshmem", sum, apart.withLibraries(), nil,
			"allreduce nvshmem cannot run: GPU 1 cannot reach GPU 2; naive or oneshot or oneshot_ll or oneshot_lamport or " +
				"twoshot_lamport can", 0, "",
		},
		{
			"apart, on registered memory", "nccl_symmetric", sum, apart.withLibraries(), nil,
			"allreduce nccl_symmetric cannot run: GPU 1 cannot reach GPU 2; naive or oneshot or oneshot_ll or ", 0, "",
		},
		{
			"on a shared GPU, on registered memory", "nccl_symmetric", sum, gpus(2, 9).withLibraries().onOneGPU(), nil,
			"allreduce nccl_symmetric cannot run: it needs a GPU for every rank, and ranks share a GPU; naive or ", 0, "",
		},
		{
			"on several machines, on registered memory", "nccl_symmetric", sum, scattered.withLibraries(), nil,
			"allreduce nccl_symmetric runs within one machine; across machines use --algo nccl or nvshmem", 0, "",
		},
		{"on registered memory", "nccl_symmetric", sum, gpus(2, 9).withLibraries(), nil, "nccl_symmetric", 0, "asked for"},
		{
			"8-bit floats on registered memory, old", "nccl_symmetric", f8, gpus(2, 8).withLibraries(), nil,
			"and allreduce nccl_symmetric of f8e4m3 needs 9.0", 0, "",
		},
		{"apart, by a library", "nccl", sum, apart.withLibraries(), nil, "nccl", 0, "asked for"},
		{"8-bit floats by a library", "nccl", f8, gpus(2, 9).withLibraries(), nil, "nccl", 0, "asked for"},
		{
			"8-bit floats by a library, old", "nccl", f8, gpus(2, 8).withLibraries(), nil,
			"and allreduce nccl of f8e4m3 needs 9.0", 0, "",
		},
		{"old", "multimem_twoshot", sum, gpus(2, 8), nil, "needs 9.0", 0, ""},
		{"not old enough", "multimem_twoshot", f8, gpus(2, 9), nil, "needs 10.0", 0, ""},
		{"pdl", Auto, sum, pdl, nil, "twoshot_push", 0, "an estimate"},
		{
			"nothing can", Auto, sum, scattered, nil,
			"no algorithm of allreduce can do this here: the ranks are on several machines; ", 0, "",
		},
		{
			"pdl, and nothing can", Auto, norm, apartPDL, nil,
			"auto takes allreduce oneshot for 1048576 elements, which has no kernel for programmatic dependent launch: leave " +
				"--pdl at auto", 0, "",
		},
		{
			"pdl, and the best cannot", Auto, sum, pdl,
			tables(tuning.Rule{Collective: "allreduce", World: 4, Algorithm: "naive"}),
			"auto takes allreduce naive for 1048576 elements, which has no kernel for programmatic dependent launch: leave " +
				"--pdl at auto, or name an algorithm that has one: oneshot or", 0, "",
		},
		{"pdl, named", "naive", sum, pdl, nil, "leave --pdl at auto", 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := kernels.Find("allreduce")
			got, err := chooser{c, tt.caps, tt.tables}.choose(request{algorithm: tt.algorithm, call: tt.call})
			if err != nil {
				usage := tt.algorithm == Auto && tt.caps.WantPDL
				if !strings.Contains(err.Error(), tt.want) || errors.As(err, new(*UsageError)) != usage ||
					isUnavailable(err) == usage {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				return
			}
			if got.algorithm.Name != tt.want || got.call.Blocks != tt.blocks || !strings.Contains(got.why, tt.why) {
				t.Errorf("got %s with %d blocks (%s), want %s with %d (%s)",
					got.algorithm.Name, got.call.Blocks, got.why, tt.want, tt.blocks, tt.why)
			}
		})
	}
}

// The length of a call's rows reaches the tables, also from a job.
func TestChooseByRows(t *testing.T) {
	job := small()
	job.Algorithms, job.DTypes, job.Ops, job.Epilogue = []string{Auto}, []string{"bfloat16"}, []string{"sum"},
		string(collective.RMSNorm)
	job.Tuning = tables(
		tuning.Rule{Collective: "allreduce", World: 4, Epilogue: collective.RMSNorm, Algorithm: "twoshot", Blocks: 24},
		tuning.Rule{
			Collective: "allreduce", World: 4, Epilogue: collective.RMSNorm, Hidden: 8192, UpTo: 128 << 10, Algorithm: "oneshot",
			Blocks: 8,
		},
	)
	for _, tt := range []struct {
		row, bytes int64
		want       string
		blocks     int
	}{
		{4096, 128 << 10, "twoshot", 24},
		{8192, 128 << 10, "oneshot", 8},
		{8192, 256 << 10, "twoshot", 24},
	} {
		job.Row, job.Sizes = tt.row, []int64{tt.bytes}
		for _, c := range casesOf(t, job, gpus(4, 9)) {
			if c.Algorithm.Name != tt.want || c.Call.Blocks != tt.blocks {
				t.Errorf("%+v: %s with %d blocks", tt, c.Algorithm.Name, c.Call.Blocks)
			}
		}
	}
}

// Requested blocks take precedence over measured ones.
func TestBlocksAskedFor(t *testing.T) {
	job := small()
	job.Algorithms, job.Blocks = []string{Auto}, []int{3, 5}
	job.Tuning = tables(tuning.Rule{Collective: "allreduce", World: 4, Algorithm: "twoshot", Blocks: 24})
	seen := map[int]int{}
	for _, c := range casesOf(t, job, gpus(4, 9)) {
		seen[c.Call.Blocks]++
	}
	if seen[3] == 0 || seen[3] != seen[5] || len(seen) != 2 {
		t.Errorf("blocks: %v", seen)
	}
}

func TestNoMulticast(t *testing.T) {
	gpu, simulator := cudart.Info{Backend: "cuda"}, cudart.Info{Backend: "sim"}
	for _, tt := range []struct {
		word   string
		device cudart.Info
		forbid bool
		want   string
	}{
		{"auto", simulator, false, ""},
		{"on", simulator, true, ""},
		{"off", simulator, false, "multicast is off"},
		{"", gpu, false, "--multicast on"},
		{"auto", gpu, true, "NCCL_NVLS_ENABLE=0 forbids it"},
		{"on", gpu, true, "NCCL_NVLS_ENABLE=0 forbids it"},
		{"on", gpu, false, ""},
		{"off", gpu, false, "multicast is off"},
	} {
		getenv := func(name string) string {
			if tt.forbid && name == "NCCL_NVLS_ENABLE" {
				return "0"
			}
			return ""
		}
		got := Job{Multicast: tt.word}.NoMulticast(tt.device.Backend, getenv)
		if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

func TestPDL(t *testing.T) {
	mixed := append(gpus(1, 9).Devices, gpus(1, 8).Devices...)
	for _, tt := range []struct {
		word    string
		devices []cudart.Info
		want    bool
		refused bool
	}{
		{"", gpus(2, 9).Devices, true, false},
		{"auto", mixed, false, false},
		{"off", gpus(2, 9).Devices, false, false},
		{"on", gpus(2, 9).Devices, true, false},
		{"on", mixed, false, true},
	} {
		got, err := Job{PDL: tt.word}.UsesPDL(tt.devices)
		if got != tt.want || errors.As(err, new(*UnsupportedDevice)) != tt.refused {
			t.Errorf("%q: %t, %v", tt.word, got, err)
		}
	}
}
