package page

import (
	"fmt"
	"slices"
	"strings"
)

// A finding is a sentence with what it rests on. Findings come in the order of what explains most.
type finding struct{ text, evidence string }

const (
	byStacks   = "Python stacks at one moment; PyTorch's flight recorder would also tell sizes and counts"
	byRecorder = "PyTorch's flight recorder"
	byKernel   = "/proc at one moment"
)

// findings says what can be concluded, and nothing else.
func (j job) findings() []finding {
	all := slices.Concat(j.ended(), j.stopped(), j.xids())
	inCollectives, conclusive := j.recorded()
	if !conclusive {
		inCollectives = append(j.byStacks(), inCollectives...)
	}
	all = slices.Concat(all, inCollectives, j.uninterruptible(), j.byRAS())
	if len(all) == 0 {
		all = append(all, j.allAlike()...)
	}
	return all
}

// of is "rank 5 of 8".
func (j job) of(ranks []int) string { return fmt.Sprintf("%s of %d", named(ranks), j.size) }

// living are the ranks that have not ended.
func (j job) living() (all []rank) {
	for _, r := range j.ranks {
		if r.alive() {
			all = append(all, r)
		}
	}
	return all
}

// ended tells which ranks have ended while others run: those that failed come first.
func (j job) ended() (all []finding) {
	var gone []rank
	for _, r := range j.ranks {
		if !r.alive() {
			gone = append(gone, r)
		}
	}
	others := ""
	if places, members := by(waitingIn(j.living()), func(r rank) activity { return r.activity }); len(places) == 1 {
		waiting := members[places[0]]
		others = fmt.Sprintf("; %s %s", named(waiting), places[0].verb(len(waiting) > 1))
	}
	exits, members := by(gone, func(r rank) string { return r.Exit })
	slices.SortStableFunc(exits, func(a, b string) int { return endRank(a) - endRank(b) })
	for _, exit := range exits {
		text := j.of(members[exit]) + " " + exit
		if strings.HasPrefix(exit, "killed") {
			text = fmt.Sprintf("%s %s %s", j.of(members[exit]), plural(members[exit], "was", "were"), exit)
		}
		all = append(all, finding{text + others, ""})
		others = ""
	}
	return all
}

// endRank puts a normal end last.
func endRank(exit string) int {
	if strings.HasSuffix(exit, "code 0") {
		return 1
	}
	return 0
}

// waitingIn are the ranks that wait in a collective.
func waitingIn(ranks []rank) []rank {
	return slices.DeleteFunc(slices.Clone(ranks), func(r rank) bool { return r.kind != collective })
}

func (j job) stopped() (all []finding) {
	stopped := map[string]string{
		"T": "stopped by a signal (state T); kill -CONT lets %s go on: pid %s",
		"t": "stopped by a debugger (state t); detach it and %s will go on: pid %s",
	}
	for _, state := range []string{"T", "t"} {
		in := func(r rank) bool { return r.alive() && r.state() == state }
		ranks := j.numbers(in)
		if len(ranks) == 0 {
			continue
		}
		var pids []string
		for _, r := range j.ranks {
			if in(r) {
				pids = append(pids, fmt.Sprint(r.process.PID))
			}
		}
		why := fmt.Sprintf(stopped[state], plural(ranks, "it", "them"), some(pids, 8))
		all = append(all, finding{fmt.Sprintf("%s %s %s", j.of(ranks), plural(ranks, "is", "are"), why), byKernel})
	}
	return all
}

// uninterruptible tells of ranks that the kernel keeps: a file system or a driver does not answer.
func (j job) uninterruptible() (all []finding) {
	var stuck []rank
	for _, r := range j.living() {
		if r.state() == "D" {
			stuck = append(stuck, r)
		}
	}
	waits, members := by(stuck, kernelWait)
	for _, wait := range waits {
		text := fmt.Sprintf("%s %s uninterruptible in the kernel (state D%s)", j.of(members[wait]),
			plural(members[wait], "is", "are"), wait)
		all = append(all, finding{text, byKernel})
	}
	return all
}

// kernelWait is where the kernel has put a thread to sleep, and the part of the kernel that this belongs to.
func kernelWait(r rank) string {
	if r.thread.Wait == "" {
		return ""
	}
	functions := append([]string{r.thread.Wait}, r.thread.Kernel...)
	for _, part := range kernelParts {
		if slices.ContainsFunc(functions, func(f string) bool { return strings.HasPrefix(f, part.prefix) }) {
			return " in " + r.thread.Wait + ": " + part.name
		}
	}
	return " in " + r.thread.Wait
}

// kernelParts names what a function of the kernel belongs to, by its first letters. File systems come before what they
// all use.
var kernelParts = []struct{ prefix, name string }{
	{"nfs", "NFS"},
	{"rpc_", "NFS"},
	{"fuse_", "FUSE"},
	{"request_wait_answer", "FUSE"},
	{"ceph_", "Ceph"},
	{"ll_", "Lustre"},
	{"cl_", "Lustre"},
	{"ptlrpc", "Lustre"},
	{"ext4_", "ext4"},
	{"jbd2_", "ext4"},
	{"xfs_", "XFS"},
	{"nv_", "NVIDIA's driver"},
	{"os_acquire", "NVIDIA's driver"},
	{"uvm_", "NVIDIA's driver"},
	{"folio_wait", "a file's page"},
	{"io_schedule", "a disk or file system"},
	{"blk_", "a disk"},
}

func (j job) xids() (all []finding) {
	for _, r := range j.ranks {
		if r.GPU != nil && r.GPU.Xid != 0 {
			text := fmt.Sprintf("%s: its GPU %d reported the error Xid %d", j.of([]int{r.number()}), r.GPU.Index, r.GPU.Xid)
			all = append(all, finding{text, "NVML"})
		}
	}
	return all
}
