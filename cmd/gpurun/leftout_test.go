package main

import (
	"slices"
	"strings"
	"testing"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/machine"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels"
)

func TestLeaveOut(t *testing.T) {
	what, _ := kernels.Find("allreduce")
	for _, c := range []struct {
		name, flags string
		machine     machine.Machine
		kept        string
		says        string
	}{
		{"everything", "-d float", machine.Machine{Backend: "sim", Ranks: 2, SM: 100}, "naive oneshot oneshot_ll twoshot multimem_oneshot multimem_twoshot", ""},
		{
			"operation", "-d float -o prod",
			machine.Machine{Backend: "sim", Ranks: 2, SM: 100},
			"naive oneshot oneshot_ll twoshot",
			"multimem_oneshot (no prod of float), multimem_twoshot (no prod of float)",
		},
		{"one of two types", "-d float,int8", machine.Machine{Backend: "sim", Ranks: 2, SM: 100}, "naive oneshot oneshot_ll twoshot", "(no sum of int8)"},
		{
			"epilogue", "--epilogue negate",
			machine.Machine{Backend: "sim", Ranks: 2, SM: 100},
			"oneshot oneshot_ll twoshot",
			"naive (no epilogue negate for sum of float)",
		},
		{
			"long rows", "--epilogue rmsnorm --hidden 8192 -d float",
			machine.Machine{Backend: "sim", Ranks: 8, SM: 100},
			"oneshot twoshot",
			"oneshot_ll (allreduce oneshot_ll normalises rows of up to",
		},
		{"GPU", "-d float", machine.Machine{Backend: "cuda", Ranks: 2, GPUs: 2, SM: 90}, "naive oneshot oneshot_ll twoshot", "which GPUs use only with --multicast on"},
		{
			"old GPU", "-d float --multicast on",
			machine.Machine{Backend: "cuda", Ranks: 2, GPUs: 2, SM: 80},
			"naive oneshot oneshot_ll twoshot",
			"multimem_oneshot (float needs compute capability 9.0)",
		},
		{"no peers", "--p2p off", machine.Machine{Backend: "sim", Ranks: 2, SM: 100}, "naive oneshot oneshot_ll", "twoshot (it needs peer access, and --p2p is off)"},
		{"no multicast", "--multicast off", machine.Machine{Backend: "sim", Ranks: 2, SM: 100}, "naive oneshot oneshot_ll twoshot", "and --multicast is off"},
		{"named", "-o prod --algo multimem_oneshot,all", machine.Machine{Backend: "sim", Ranks: 2, SM: 100}, "multimem_oneshot naive oneshot oneshot_ll twoshot", "multimem_twoshot (no prod"},
	} {
		p := &collectiveRun{what: what, machine: c.machine}
		flags := strings.Fields(c.flags)
		if !strings.Contains(c.flags, "--algo") {
			flags = append(flags, "--algo", "all")
		}
		s, err := settings.Load(parsed(t, flags...).Flags())
		if err == nil {
			p.config, err = s.Config()
		}
		if err == nil {
			p.job, err = s.Job(p.config, what, nil)
		}
		if err == nil {
			err = p.leaveOut()
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := strings.Join(p.job.Algorithms, " "); got != c.kept {
			t.Errorf("%s: %s, want %s", c.name, got, c.kept)
		}
		for _, name := range p.job.Algorithms {
			if named := slices.Contains(p.config.Algo, name); slices.Contains(p.job.Optional, name) == named {
				t.Errorf("%s: %s is named: %t, and optional are %q", c.name, name, named, p.job.Optional)
			}
		}
		if !strings.Contains(p.leftOut, c.says) || (c.says == "") != (p.leftOut == "") {
			t.Errorf("%s: %q, want %q", c.name, p.leftOut, c.says)
		}
	}
}

func TestNothingIsLeft(t *testing.T) {
	what, _ := kernels.Find("allreduce")
	s, err := settings.Load(parsed(t, "--algo", "all", "--epilogue", "rmsnorm", "--hidden", "7").Flags())
	if err != nil {
		t.Fatal(err)
	}
	p := &collectiveRun{what: what, machine: machine.Machine{Backend: "sim", Ranks: 2, SM: 100}}
	if p.config, err = s.Config(); err != nil {
		t.Fatal(err)
	}
	if p.job, err = s.Job(p.config, what, nil); err != nil {
		t.Fatal(err)
	}
	if err = p.leaveOut(); exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), "a row of 7 elements") {
		t.Errorf("error %v", err)
	}
}
