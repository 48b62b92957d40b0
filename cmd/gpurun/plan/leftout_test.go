package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags/flagtest"
	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels"
	"gpurun/worker/workload"
)

func TestLeaveOut(t *testing.T) {
	what, _ := kernels.Find("allreduce")
	for _, c := range []struct {
		name, flags string
		host        host.Host
		kept        string
		says        string
	}{
		{
			"everything", "-d float",
			host.Host{Backend: "sim", Ranks: 2, SM: 100},
			"naive oneshot oneshot_ll oneshot_lamport twoshot twoshot_lamport twoshot_push copy_engine multimem_oneshot " +
				"multimem_twoshot", "",
		},
		{
			"operation", "-d float -o prod",
			host.Host{Backend: "sim", Ranks: 2, SM: 100},
			"naive oneshot oneshot_ll oneshot_lamport twoshot twoshot_lamport twoshot_push copy_engine",
			"multimem_oneshot (no prod of float), multimem_twoshot (no prod of float)",
		},
		{
			"one of two types", "-d float,int8",
			host.Host{Backend: "sim", Ranks: 2, SM: 100},
			"naive oneshot oneshot_ll twoshot twoshot_push copy_engine", "(no sum of int8)",
		},
		{
			"epilogue", "--epilogue negate",
			host.Host{Backend: "sim", Ranks: 2, SM: 100},
			"oneshot oneshot_ll oneshot_lamport twoshot twoshot_lamport",
			"naive (no epilogue negate for sum of float), twoshot_push (no epilogue negate for sum of float), copy_engine " +
				"(no epilogue negate",
		},
		{
			"long rows", "--epilogue rmsnorm --hidden 8192 -d float",
			host.Host{Backend: "sim", Ranks: 8, SM: 100},
			"oneshot twoshot",
			"oneshot_ll (allreduce oneshot_ll normalizes rows of up to",
		},
		{
			"GPU", "-d float",
			host.Host{Backend: "cuda", Ranks: 2, GPUs: 2, SM: 90},
			"naive oneshot oneshot_ll oneshot_lamport twoshot twoshot_lamport twoshot_push copy_engine",
			"and GPUs get one only with --multicast on",
		},
		{
			"old GPU", "-d float --multicast on",
			host.Host{Backend: "cuda", Ranks: 2, GPUs: 2, SM: 80},
			"naive oneshot oneshot_ll twoshot twoshot_push copy_engine",
			"multimem_oneshot (float needs compute capability 9.0)",
		},
		{
			"no peers", "--p2p off",
			host.Host{Backend: "sim", Ranks: 2, SM: 100},
			"naive oneshot oneshot_ll oneshot_lamport twoshot_lamport", "twoshot (it needs peer access, and --p2p is off)",
		},
		{
			"no multicast", "--multicast off",
			host.Host{Backend: "sim", Ranks: 2, SM: 100},
			"naive oneshot oneshot_ll oneshot_lamport twoshot twoshot_lamport twoshot_push copy_engine",
			"and --multicast is off",
		},
		{
			"named", "-o prod --algo multimem_oneshot,all",
			host.Host{Backend: "sim", Ranks: 2, SM: 100},
			"multimem_oneshot naive oneshot oneshot_ll oneshot_lamport twoshot twoshot_lamport twoshot_push copy_engine",
			"multimem_twoshot (no prod",
		},
	} {
		p := &CollectiveRun{Collective: what, Plan: Plan{Run: session.Run{Host: c.host}}}
		words := strings.Fields(c.flags)
		if !strings.Contains(c.flags, "--algo") {
			words = append(words, "--algo", "all")
		}
		err := p.read(flagtest.Collective(t, what.Name, words...), Options{}, nil, p.job(nil))
		if err == nil {
			err = p.leaveOut(p.unsupported)
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := strings.Join(p.Job.Algorithms, " "); got != c.kept {
			t.Errorf("%s: %s, want %s", c.name, got, c.kept)
		}
		for _, name := range p.Job.Algorithms {
			if named := slices.Contains(p.Config.Algo, name); slices.Contains(p.Job.Optional, name) == named {
				t.Errorf("%s: %s is named: %t, and optional are %q", c.name, name, named, p.Job.Optional)
			}
		}
		if !strings.Contains(p.LeftOut, c.says) || (c.says == "") != (p.LeftOut == "") {
			t.Errorf("%s: %q, want %q", c.name, p.LeftOut, c.says)
		}
	}
}

func TestNothingIsLeft(t *testing.T) {
	what, _ := kernels.Find("allreduce")
	p := &CollectiveRun{Collective: what, Plan: Plan{Run: session.Run{Host: host.Host{Backend: "sim", Ranks: 2, SM: 100}}}}
	err := p.read(flagtest.Collective(t, what.Name, "--algo", "all", "--epilogue", "rmsnorm", "--hidden", "7"), Options{},
		nil, p.job(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err = p.leaveOut(p.unsupported); exit.Code(err) != exit.Usage ||
		!strings.Contains(err.Error(), "a row of 7 elements") {
		t.Errorf("error %v", err)
	}
}

// --algo all leaves out what runs within one machine.
func TestLeaveOutAcrossMachines(t *testing.T) {
	what, _ := kernels.Find("reduce")
	var names []string
	for _, a := range what.Algorithms {
		names = append(names, a.Name)
	}
	p := &CollectiveRun{Collective: what, Plan: Plan{Run: session.Run{
		Config: settings.Config{Algo: []string{settings.All}}, Host: host.Host{Backend: "cuda", Ranks: 2, SM: 90},
		Job: workload.Job{
			Collective: what.Name, Algorithms: names, DTypes: []string{"float"}, Ops: []string{"sum"}, Nodes: 2,
		},
	}}}
	if err := p.leaveOut(p.unsupported); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"nccl"}, p.Job.Algorithms); diff != "" {
		t.Error(diff, p.LeftOut)
	}
}
