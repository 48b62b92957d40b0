package doctor

import (
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
)

// cgroupFolders are those of the control group of this process and of the groups
// above it: of version 2, or of a controller of version 1. Some may not be there: a
// container with a path of the host's sees its own group as the root.
func (s Sources) cgroupFolders(controller string) []string {
	text, err := fs.ReadFile(s.Root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		words := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(words) != 3 {
			continue
		}
		root := "sys/fs/cgroup"
		if words[1] != "" {
			if !slices.Contains(strings.Split(words[1], ","), controller) {
				continue
			}
			root = path.Join(root, controller)
		}
		for folder := path.Clean("/" + words[2]); ; folder = path.Dir(folder) {
			all = append(all, path.Join(root, folder))
			if folder == "/" {
				break
			}
		}
	}
	return all
}

// word is the text of a file, or "".
func (s Sources) word(file string) string {
	text, err := fs.ReadFile(s.Root, file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// cgroupMemory looks at how much memory the process's group may have.
func (s Sources) cgroupMemory(gpus int) Finding {
	const (
		check  = "cgroup memory"
		perGPU = 2 * gib // a CUDA context takes a good part of it
	)
	least := unlimited
	for _, folder := range s.cgroupFolders("memory") {
		for _, file := range []string{"memory.max", "memory.limit_in_bytes"} {
			if n, ok := parseLimit(s.word(path.Join(folder, file))); ok {
				least = min(least, n)
			}
		}
	}
	switch {
	case least == unlimited:
		return ok(check, "no cgroup limits the memory")
	case least < int64(gpus)*perGPU:
		return warn(check, "give the container more memory (docker run --memory; "+
			"resources.limits.memory in Kubernetes), or a process may be killed",
			"the cgroup allows %s of memory, for %d GPUs", size(least), gpus)
	}
	return ok(check, "the cgroup allows %s of memory", size(least))
}

// cgroupCPU looks at how many CPUs the process's group may use.
func (s Sources) cgroupCPU(gpus int) Finding {
	const check = "cgroup cpu"
	least := math.Inf(1)
	for _, folder := range s.cgroupFolders("cpu") {
		quota, period, version2 := strings.Cut(s.word(path.Join(folder, "cpu.max")), " ")
		if !version2 {
			quota, period = s.word(path.Join(folder, "cpu.cfs_quota_us")), s.word(path.Join(folder, "cpu.cfs_period_us"))
		}
		q, ok := parseLimit(quota)
		p, periodOK := parseLimit(period)
		if ok && periodOK && q != unlimited && p > 0 {
			least = min(least, float64(q)/float64(p))
		}
	}
	switch {
	case math.IsInf(least, 1):
		return ok(check, "no cgroup limits the CPU time")
	case least < float64(gpus):
		return warn(check, "give the container at least one CPU for each GPU: the process of every rank polls",
			"the cgroup allows %.1f CPUs, for %d GPUs", least, gpus)
	}
	return ok(check, "the cgroup allows %.1f CPUs", least)
}
