package nvshmem

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart/dl"
	"gpurun/cudart/dl/dltest"
)

func TestOpenSearches(t *testing.T) {
	home := t.TempDir()
	t.Setenv("NVSHMEM_HOME", home)
	moved := dltest.Install(t, filepath.Join(home, "lib"), compile(t))
	l, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	if l.Path() != moved {
		t.Errorf("found %s, want %s", l.Path(), moved)
	}
	if diff := cmp.Diff("3.4.5", l.Version().String()); diff != "" {
		t.Error(diff)
	}
}

// Each way of being unusable has its own sentence, and all are a LoadError.
func TestUnusableLibraries(t *testing.T) {
	text := filepath.Join(t.TempDir(), "libnvshmem_host.so.3")
	if err := os.WriteFile(text, []byte("this is no library, whatever its name"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		path string
		want []string
	}{
		"missing": {
			"/nowhere/libnvshmem_host.so.3",
			[]string{"NVSHMEM: library not found: tried /nowhere/", "give --nvshmem-lib another FILE"},
		},
		"too old": {
			compile(t, "-DVERSION=2,11,0"),
			[]string{"is version 2.11.0, older than 3.0.0", "pip install -U nvidia-nvshmem-cu13"},
		},
		"no ELF": {text, []string{"it is not a shared library", "install it anew"}},
		"foreign": {
			"libc.so.6", []string{"libc.so.6 has no function nvshmemx_vendor_get_version_info", "--nvshmem-lib FILE"},
		},
	} {
		_, err := Open(test.path)
		dltest.Refused[*dl.LoadError](t, name, err, test.want...)
	}
}

func TestSupports(t *testing.T) {
	l := open(t, "-DNO_BFLOAT16")
	l.fns.reduce[Int32][Sum], l.fns.reduceScatter[Int32][Prod] = dl.Func{}, dl.Func{} // one of two is not enough
	for _, test := range []struct {
		t    DataType
		op   RedOp
		want string
	}{
		{Int8, Sum, ""},
		{Float16, Prod, ""},
		{Uint64, Min, ""},
		{Float64, Max, ""},
		{Float32, Avg, "NVSHMEM 3.4.5 has no function that reduces float by avg"},
		{BFloat16, Sum, "no function that reduces bfloat16 by sum"},
		{Float8e4m3, Sum, "no function that reduces float8e4m3 by sum"},
		{Float8e5m2, Max, "no function that reduces float8e5m2 by max"},
		{Int32, Sum, "reduces int32 by sum"},
		{Int32, Prod, "reduces int32 by prod"},
		{types, Sum, "DataType(12)"},
		{Int8, -1, "RedOp(-1)"},
	} {
		err := l.Supports(test.t, test.op)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s, %s: got %v, want %q", test.t, test.op, err, test.want)
		}
	}
	for name, err := range map[string]error{
		"reduces float by avg":   l.AllReduce(512, 512, 1, Float32, Avg, 0),
		"reduces int8 by avg":    l.ReduceScatter(512, 512, 1, Int8, Avg, 0),
		"fcollect of bfloat16":   l.AllGather(512, 512, 1, BFloat16, 0),
		"alltoall of bfloat16":   l.AllToAll(512, 512, 1, BFloat16, 0),
		"broadcast of bfloat16":  l.Broadcast(512, 512, 1, BFloat16, 0, 0),
		"broadcast of DataType(": l.Broadcast(512, 512, 1, types, 0, 0),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	folder := t.TempDir()
	plugin := filepath.Join(folder, "nvshmem_bootstrap_uid.so.3")
	if err := os.WriteFile(plugin, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	beside, elsewhere := &Library{path: filepath.Join(folder, "libnvshmem_host.so.3")},
		&Library{path: "/nowhere/libnvshmem_host.so.3"}
	for name, test := range map[string]struct {
		lib        *Library
		set        map[string]string
		oneMachine bool
		want       []string
	}{
		"one machine": {
			lib: beside, oneMachine: true,
			want: []string{
				"NVSHMEM_SYMMETRIC_SIZE=1073745920", "NVSHMEM_DISABLE_NCCL=1", "NVSHMEM_BOOTSTRAP_UID_PLUGIN=" + plugin,
				"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo", "NVSHMEM_REMOTE_TRANSPORT=none",
			},
		},
		"several": {
			lib:  elsewhere,
			want: []string{"NVSHMEM_SYMMETRIC_SIZE=1073745920", "NVSHMEM_DISABLE_NCCL=1"},
		},
		"the user's": {
			lib: beside, oneMachine: true,
			set: map[string]string{
				"NVSHMEM_SYMMETRIC_SIZE": "2G", "NVSHMEM_DISABLE_NCCL": "0", "NVSHMEM_BOOTSTRAP_UID_PLUGIN": "mine.so",
				"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME": "eth0", "NVSHMEM_REMOTE_TRANSPORT": "ibrc",
			},
		},
	} {
		getenv := func(key string) string { return test.set[key] }
		if diff := cmp.Diff(test.want, test.lib.Environment(getenv, 4096, test.oneMachine)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
