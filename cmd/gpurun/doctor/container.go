package doctor

import (
	"io/fs"
	"strconv"
	"strings"

	"gpurun/cudart/symm"
)

// container looks at what containers are short of, for so many GPUs.
func (s Sources) container(gpus int) []Finding {
	return []Finding{
		s.sharedMemory(), s.lockedMemory(), s.openFiles(gpus), s.cgroupMemory(gpus), s.cgroupCPU(gpus), s.pidNamespace(),
	}
}

// sharedMemory checks the size of /dev/shm, which is 64 MiB in a container by default.
func (s Sources) sharedMemory() Finding {
	const (
		check  = "shared memory"
		advice = "give the container more: docker run --shm-size=8g or --ipc=host; " +
			"in Kubernetes an emptyDir of medium Memory on /dev/shm"
	)
	bytes, err := s.FileSystemBytes("/dev/shm")
	switch {
	case err != nil:
		return warn(check, advice, "the size of /dev/shm is unknown: %v", err)
	case bytes < gib:
		return warn(check, advice, "/dev/shm has %s; NCCL and PyTorch's data loaders fail when it is full "+
			"(gpurun needs none of it)", size(bytes))
	}
	return ok(check, "/dev/shm has %s", size(bytes))
}

// unlimited is a limit that is none.
const unlimited = int64(1) << 60

// limit is a soft and a hard limit of this process, of /proc/self/limits.
func (s Sources) limit(name string) (soft, hard int64, ok bool) {
	text, err := fs.ReadFile(s.Root, "proc/self/limits")
	if err != nil {
		return 0, 0, false
	}
	for line := range strings.Lines(string(text)) {
		rest, found := strings.CutPrefix(line, name)
		words := strings.Fields(rest)
		if !found || len(words) < 2 {
			continue
		}
		soft, softOK := parseLimit(words[0])
		hard, hardOK := parseLimit(words[1])
		return soft, hard, softOK && hardOK
	}
	return 0, 0, false
}

func parseLimit(word string) (int64, bool) {
	if word == "unlimited" || word == "max" || word == "-1" {
		return unlimited, true
	}
	n, err := strconv.ParseInt(word, 10, 64)
	return min(n, unlimited), err == nil && n >= 0
}

func (s Sources) lockedMemory() Finding {
	const check = "locked memory"
	soft, _, known := s.limit("Max locked memory")
	adapters, _ := fs.Glob(s.Root, "sys/class/infiniband/*") // the pattern is right
	switch {
	case !known:
		return Finding{}
	case soft == unlimited:
		return ok(check, "a process may lock any amount of memory")
	case len(adapters) > 0:
		return warn(check, "docker run --ulimit memlock=-1, or LimitMEMLOCK=infinity of the service that starts the job",
			"a process may lock %s of memory; NCCL and NVSHMEM need more to use %s", size(soft),
			strings.TrimPrefix(adapters[0], "sys/class/infiniband/"))
	}
	return ok(check, "a process may lock %s of memory, and no RDMA adapter asks for more", size(soft))
}

func (s Sources) openFiles(gpus int) Finding {
	const check = "open files"
	least := int64(max(1024, 256*gpus))
	_, hard, known := s.limit("Max open files")
	switch {
	case !known:
		return Finding{}
	case hard < least:
		return warn(check, "raise it: ulimit -Hn, or docker run --ulimit nofile=65536",
			"a process may open %d files; a driver with %d GPUs and libraries on top may need %d", hard, gpus, least)
	}
	return ok(check, "a process may open %s files", amount(hard))
}

func amount(n int64) string {
	if n >= unlimited {
		return "any number of"
	}
	return strconv.FormatInt(n, 10)
}

// pidNamespace tells a namespace of processes from the machine's own.
func (s Sources) pidNamespace() Finding {
	const (
		check = "pid namespace"
		first = "pid:[4026531836]" // PROC_PID_INIT_INO of the kernel
	)
	link, err := fs.ReadLink(s.Root, "proc/self/ns/pid")
	switch {
	case err != nil:
		return Finding{}
	case link != first:
		return ok(check, "a PID namespace of its own, as in containers: other processes on the GPUs are not visible, "+
			"or have other numbers")
	}
	return ok(check, "the machine's own PID namespace")
}

// multicast says whether the environment forbids multicast objects.
func (s Sources) multicast() Finding {
	const check = "multicast"
	if assignment := symm.MulticastForbidden(s.env); assignment != "" {
		return ok(check, "%s forbids NVLink multicast, and gpurun does not use it", assignment)
	}
	return ok(check, "no variable forbids NVLink multicast; gpurun uses it on GPUs only with --multicast on")
}
