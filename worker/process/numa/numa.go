// Package numa finds the CPUs near each GPU, as Linux describes them under /sys: see
// sysfs-bus-pci, sysfs-devices-node and cputopology in the kernel's documentation.
package numa

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Policy is how workers are bound to CPUs. The names are torchrun's.
type Policy string

// The policies. Node: all CPUs of the GPU's NUMA node. Socket: all CPUs of the
// package that the node is in. Exclusive: a share of the node's cores, with all
// their threads, that no other GPU gets. CoreComplex: CPUs of the node that share a
// last-level cache; the GPUs of a node get its complexes in turn.
const (
	Node        Policy = "node"
	Socket      Policy = "socket"
	Exclusive   Policy = "exclusive"
	CoreComplex Policy = "core-complex"
)

// Bind returns the CPUs of each GPU, given by its address on the PCI bus as
// 0000:1b:00.0. sys is the folder /sys.
func Bind(sys fs.FS, policy Policy, gpus []string) ([][]int, error) {
	nodes := make([]int, len(gpus))
	for i, gpu := range gpus {
		node, err := number(sys, path.Join("bus/pci/devices", strings.ToLower(gpu), "numa_node"))
		if err == nil && node < 0 {
			err = fmt.Errorf("the kernel reports no NUMA node for it")
		}
		if err != nil {
			return nil, fmt.Errorf("finding the CPUs near GPU %s: %w", gpu, err)
		}
		nodes[i] = node
	}
	all := make([][]int, len(gpus))
	for i, gpu := range gpus {
		index, sharing := 0, 0 // among the GPUs of the node
		for j, node := range nodes {
			if node == nodes[i] {
				sharing++
				if j < i {
					index++
				}
			}
		}
		var err error
		if all[i], err = choose(sys, policy, nodes[i], index, sharing); err != nil {
			return nil, fmt.Errorf("finding the CPUs near GPU %s: %w", gpu, err)
		}
	}
	return all, nil
}

// choose returns the CPUs for the GPU with that index among those that share a node.
func choose(sys fs.FS, policy Policy, node, index, sharing int) ([]int, error) {
	cpus, err := list(sys, fmt.Sprintf("devices/system/node/node%d/cpulist", node))
	if err != nil || policy == Node {
		return cpus, err
	}
	switch policy {
	case Socket:
		return socket(sys, cpus)
	case Exclusive:
		cores, err := groups(sys, cpus, "topology/thread_siblings_list")
		if err != nil {
			return nil, err
		}
		begin, end := len(cores)*index/sharing, len(cores)*(index+1)/sharing
		if begin == end {
			return nil, fmt.Errorf("node %d has %d cores for %d GPUs", node, len(cores), sharing)
		}
		return slices.Concat(cores[begin:end]...), nil
	case CoreComplex:
		complexes, err := groups(sys, cpus, "cache/index3/shared_cpu_list")
		if err != nil {
			return nil, err
		}
		return complexes[index%len(complexes)], nil
	}
	return nil, fmt.Errorf("there is no policy %q", policy)
}

// socket returns all CPUs in the same package as these.
func socket(sys fs.FS, cpus []int) ([]int, error) {
	own, err := number(sys, attribute(cpus[0], "topology/physical_package_id"))
	if err != nil {
		return nil, err
	}
	online, err := list(sys, "devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	var all []int
	for _, cpu := range online {
		of, err := number(sys, attribute(cpu, "topology/physical_package_id"))
		if err != nil {
			return nil, err
		}
		if of == own {
			all = append(all, cpu)
		}
	}
	return all, nil
}

// groups divides CPUs by an attribute that lists the CPUs which share a resource. The
// groups are in the order of their first CPUs.
func groups(sys fs.FS, cpus []int, name string) ([][]int, error) {
	byFirst := map[int][]int{}
	for _, cpu := range cpus {
		sharing, err := list(sys, attribute(cpu, name))
		if err != nil {
			return nil, err
		}
		byFirst[sharing[0]] = append(byFirst[sharing[0]], cpu)
	}
	var all [][]int
	for _, group := range byFirst {
		all = append(all, group)
	}
	slices.SortFunc(all, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	return all, nil
}

func attribute(cpu int, name string) string {
	return fmt.Sprintf("devices/system/cpu/cpu%d/%s", cpu, name)
}

func number(sys fs.FS, name string) (int, error) {
	data, err := fs.ReadFile(sys, name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}

func list(sys fs.FS, name string) ([]int, error) {
	data, err := fs.ReadFile(sys, name)
	if err != nil {
		return nil, err
	}
	cpus, err := parseList(strings.TrimSpace(string(data)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return cpus, nil
}

// mostCPUs bounds the CPU numbers of a list. Machines have fewer.
const mostCPUs = 1 << 13

// parseList reads a list of at least one CPU, such as "0-3,8-11".
func parseList(text string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err := strconv.Atoi(low)
		last, err2 := strconv.Atoi(high)
		if err != nil || err2 != nil || first < 0 || last < first || last >= mostCPUs {
			return nil, fmt.Errorf("%q is not a list of CPUs", text)
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}
