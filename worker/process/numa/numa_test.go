package numa

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// twoSockets is a machine of two sockets. The first has the nodes 0 and 1, the
// second node 2. A node has 4 cores of 2 threads, CPU n and n+12, and two caches.
// The GPUs 01, 02 and 03 are near node 0, and 04 is near node 2.
func twoSockets() fstest.MapFS {
	sys := fstest.MapFS{"devices/system/cpu/online": file("0-23")}
	for gpu, node := range map[int]int{1: 0, 2: 0, 3: 0, 4: 2, 5: -1} {
		sys[fmt.Sprintf("bus/pci/devices/0000:%02x:00.0/numa_node", gpu)] = file(fmt.Sprint(node))
	}
	for node := range 3 {
		low := 4 * node
		sys[fmt.Sprintf("devices/system/node/node%d/cpulist", node)] = file(fmt.Sprintf("%d-%d,%d-%d", low, low+3, low+12,
			low+15))
		for core := low; core < low+4; core++ {
			half := core / 2 * 2
			for _, cpu := range []int{core, core + 12} {
				sys[attribute(cpu, "topology/physical_package_id")] = file(fmt.Sprint(node / 2))
				sys[attribute(cpu, "topology/thread_siblings_list")] = file(fmt.Sprintf("%d,%d", core, core+12))
				sys[attribute(cpu, "cache/index3/shared_cpu_list")] = file(fmt.Sprintf("%d-%d,%d-%d", half, half+1, half+12,
					half+13))
			}
		}
	}
	return sys
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }

func TestBind(t *testing.T) {
	near0, near2 := []int{0, 1, 2, 3, 12, 13, 14, 15}, []int{8, 9, 10, 11, 20, 21, 22, 23}
	tests := map[Policy][][]int{
		Node:        {near0, near0, near0, near2},
		Socket:      {{0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15, 16, 17, 18, 19}, nil, nil, near2},
		Exclusive:   {{0, 12}, {1, 13}, {2, 14, 3, 15}, {8, 20, 9, 21, 10, 22, 11, 23}},
		CoreComplex: {{0, 1, 12, 13}, {2, 3, 14, 15}, {0, 1, 12, 13}, {8, 9, 20, 21}},
	}
	tests[Socket][1], tests[Socket][2] = tests[Socket][0], tests[Socket][0]
	for policy, want := range tests {
		got, err := Bind(twoSockets(), policy, []string{"0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"})
		if err != nil {
			t.Errorf("%s: %v", policy, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(policy, diff)
		}
	}
}

func TestBindRefuses(t *testing.T) {
	five := strings.Split(strings.Repeat("0000:01:00.0,", 5), ",")[:5]
	tests := map[string]struct {
		policy Policy
		gpus   []string
	}{
		"reports no NUMA node":   {Node, []string{"0000:05:00.0"}},
		"file does not exist":    {Node, []string{"0000:06:00.0"}},
		"4 cores for 5 GPUs":     {Exclusive, five},
		`there is no policy "x"`: {"x", five},
	}
	for want, test := range tests {
		if got, err := Bind(twoSockets(), test.policy, test.gpus); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", got, err, want)
		}
	}
}

func FuzzParseList(f *testing.F) {
	f.Add("0-3,8-11")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if cpus, err := parseList(text); err == nil && len(cpus) == 0 {
			t.Errorf("%q has none", text)
		}
	})
}
