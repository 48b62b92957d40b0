package page

import (
	"fmt"
	"time"

	"gpurun/worker/process/dump"
)

// now is when the ranks of the stories were collected.
var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

const packages = "/usr/lib/python3/dist-packages/"

// The places of the program train.py, as Python 3.11 and PyTorch 1.13 of Debian show them.
var (
	module    = dump.Frame{Function: "<module>", File: "/job/train.py", Line: 240}
	train     = dump.Frame{Function: "train", File: "/job/train.py", Line: 214}
	allReduce = []dump.Frame{
		{Function: "all_reduce", File: packages + "torch/distributed/distributed_c10d.py", Line: 1541},
		train, module,
	}
	barrier = []dump.Frame{
		{Function: "barrier", File: packages + "torch/distributed/distributed_c10d.py", Line: 3152},
		{Function: "save", File: "/job/checkpoint.py", Line: 31},
		module,
	}
	sleeping = []dump.Frame{{Function: "step", File: "/job/train.py", Line: 212}, module}
	loading  = []dump.Frame{
		{Function: "wait", File: "/usr/lib/python3.11/threading.py", Line: 324},
		{Function: "get", File: "/usr/lib/python3.11/queue.py", Line: 180},
		{Function: "_try_get_data", File: packages + "torch/utils/data/dataloader.py", Line: 1120},
		{Function: "__next__", File: packages + "torch/utils/data/dataloader.py", Line: 628},
		{Function: "epoch", File: "/job/train.py", Line: 198},
		module,
	}
)

// job of so many ranks on one host, each with a stack.
func ranks(n int, stack []dump.Frame) (all []dump.Rank) {
	for i := range n {
		all = append(all, dump.Rank{
			Rank: i, LocalRank: i, WorldSize: n, Host: "node-a", PID: 4000 + i,
			Time: now, Output: now.Add(-31 * time.Second),
			Processes: []dump.Process{{PID: 4000 + i, Command: "python3 train.py", Threads: []dump.Thread{
				{TID: 4000 + i, Name: "python3", State: "S", Wait: "futex_do_wait", Python: stack},
				{TID: 5000 + i, Name: "gloo", State: "S", Wait: "do_epoll_wait"},
			}}},
		})
	}
	return all
}

// main is a rank's main thread.
func mainOf(r *dump.Rank) *dump.Thread { return &r.Processes[0].Threads[0] }

// doing has a rank be elsewhere.
func doing(all []dump.Rank, n int, state, wait string, stack []dump.Frame) []dump.Rank {
	t := mainOf(&all[n])
	t.State, t.Wait, t.Python = state, wait, stack
	return all
}

// ended has a rank's process be gone.
func ended(all []dump.Rank, n int, exit string) []dump.Rank {
	all[n].Processes, all[n].Exit = nil, exit
	return all
}

// recorded adds a flight recorder that has seen the collectives up to last, which is not complete.
func recorded(r *dump.Rank, last int64, operation string, sizes []int64, at dump.Frame) {
	group := make([]int, r.WorldSize)
	for i := range group {
		group[i] = i
	}
	for sequence := last - 2; sequence <= last; sequence++ {
		state := "completed"
		if sequence == last {
			state = "started"
		}
		r.Collectives = append(r.Collectives, dump.Collective{
			Group: "default_pg", Ranks: group, Sequence: sequence, Operation: operation,
			Sizes: [][]int64{sizes}, Type: "Float", State: state,
			Created: now.Add(-31*time.Second - time.Duration(last-sequence)*time.Second),
			Python:  []dump.Frame{{Function: "all_reduce", File: packages + "torch/distributed/d.py", Line: 2}, at},
		})
	}
}

// story is a job with the page that tells of it, in testdata.
type story struct {
	name    string
	ranks   []dump.Rank
	missing []string
}

func stories() []story {
	return []story{
		{name: "sleeps", ranks: doing(ranks(4, allReduce), 2, "S", "hrtimer_nanosleep", sleeping)},
		{name: "left-out", ranks: leftOut()},
		{name: "left-out-by-stacks", ranks: doing(ranks(4, allReduce), 2, "S", "futex_do_wait", barrier)},
		{name: "other-shape", ranks: otherShape()},
		{name: "other-operation", ranks: otherOperation()},
		{name: "died", ranks: ended(ranks(4, allReduce), 2, "killed by SIGKILL")},
		{name: "died-others-unknown", ranks: ended(doing(ranks(4, allReduce), 0, "R", "", nil), 2, "exited with code 7")},
		{name: "several-ended", ranks: ended(ended(ranks(4, allReduce), 1, "exited with code 0"), 3, "exited with code 2")},
		{name: "ended-normally", ranks: ended(ranks(4, barrier), 3, "exited with code 0")},
		{name: "stopped", ranks: doing(ranks(4, allReduce), 1, "T", "do_signal_stop", sleeping)},
		{name: "d-state", ranks: dState()},
		{name: "64-ranks", ranks: sixtyFour(), missing: []string{"node node-h: no answer within 4 s"}},
		{name: "input", ranks: ranks(8, loading)},
		{name: "all-in-the-same", ranks: ranks(4, allReduce)},
		{name: "no-python", ranks: withoutPython()},
		{name: "one-without-stack", ranks: oneWithoutStack()},
		{name: "two-groups", ranks: twoGroups()},
		{name: "no-conclusion", ranks: doing(ranks(2, sleeping), 1, "R", "", []dump.Frame{train, module})},
		{name: "ras", ranks: counted()},
		{name: "hostile-names", ranks: hostile()},
		{name: "many-places", ranks: manyPlaces()},
		{name: "busy", ranks: busy()},
		{name: "nothing", missing: []string{"node node-b: connection refused"}},
	}
}

// leftOut: rank 5 of 8 went on without the collective; flight recorders and GPUs were seen.
func leftOut() []dump.Rank {
	all := doing(ranks(8, []dump.Frame{{Function: "step", File: "/job/train.py", Line: 215}, module}), 5, "S",
		"hrtimer_nanosleep", sleeping)
	for i := range all {
		last := int64(812)
		if i == 5 {
			last = 811
		}
		recorded(&all[i], last, "ALLREDUCE", []int64{1024, 1024}, train)
		all[i].GPU = &dump.GPU{Index: i, Utilisation: 100}
	}
	all[5].Collectives[2].State = "completed"
	all[0].Collectives[0].State = "scheduled" // a part of a coalesced collective, whose end nobody notices
	all[5].GPU.Utilisation = 0
	return all
}

func otherShape() []dump.Rank {
	all := ranks(4, allReduce)
	for i := range all {
		size := int64(4)
		if i == 2 {
			size = 7
		}
		recorded(&all[i], 6, "ALLREDUCE", []int64{size}, train)
	}
	return all
}

func otherOperation() []dump.Rank {
	all := doing(ranks(4, allReduce), 0, "S", "futex_do_wait", barrier)
	for i := range all {
		if i == 0 {
			recorded(&all[i], 6, "BROADCAST", []int64{4}, barrier[1])
		} else {
			recorded(&all[i], 6, "ALLREDUCE", []int64{4}, train)
		}
	}
	return all
}

// dState: rank 3 reads a file over NFS, whose server does not answer.
func dState() []dump.Rank {
	all := doing(ranks(4, allReduce), 3, "D", "folio_wait_bit_common",
		[]dump.Frame{{Function: "read", File: "/job/data.py", Line: 77}, module})
	mainOf(&all[3]).Kernel = []string{"folio_wait_bit_common", "filemap_read", "nfs_file_read", "vfs_read"}
	return all
}

// sixtyFour: 8 hosts of 8 ranks, two ranks are late.
func sixtyFour() []dump.Rank {
	all := ranks(64, allReduce)
	for i := range all {
		all[i].Host, all[i].LocalRank = fmt.Sprintf("node-%c", 'a'+i/8), i%8
	}
	doing(all, 17, "R", "", []dump.Frame{{Function: "augment", File: "/job/data.py", Line: 50}, module})
	return doing(all, 40, "S", "hrtimer_nanosleep", sleeping)[:56]
}

// withoutPython: a program in C, behind a shell.
func withoutPython() []dump.Rank {
	all := ranks(2, nil)
	for i := range all {
		worker := all[i].Processes[0]
		worker.PID, worker.Parent, worker.Command = 6000+i, worker.PID, "/opt/bin/solver --steps 10"
		kernel := []string{"do_poll", "do_sys_poll"}
		worker.Threads = []dump.Thread{{TID: 6000 + i, State: "S", Wait: "do_poll", Kernel: kernel}}
		waiting := []dump.Thread{{State: "S", Wait: "do_wait"}}
		shell := dump.Process{PID: 4000 + i, Command: "/bin/sh run.sh", Threads: waiting}
		all[i].Processes = []dump.Process{shell, worker}
	}
	all[1].Output = time.Time{}
	return all
}

// counted: NCCL's RAS counts one collective less of rank 1.
func counted() []dump.Rank {
	all := ranks(3, []dump.Frame{{Function: "step", File: "/job/train.py", Line: 215}, module})
	for i := range all {
		all[i].Missing = []string{"PyTorch's flight recorder: it is off; TORCH_FR_BUFFER_SIZE=2000 turns it on"}
	}
	all[2].Communicators = []dump.Communicator{{ID: "0xab", Size: 3, Ranks: []dump.CommunicatorRank{
		{Rank: 0, PID: 4000, Counts: map[string]uint64{"AllReduce": 812, "Send": 3}},
		{Rank: 1, PID: 4001, Counts: map[string]uint64{"AllReduce": 811}},
		{Rank: 2, PID: -1, Missing: true, Dead: true},
	}}}
	return all
}

// hostile: names that would act on a terminal, and long ones.
func hostile() []dump.Rank {
	long := "f"
	for range 9 {
		long += long
	}
	all := ranks(1, []dump.Frame{
		{Function: "\x1b[2J\x1b]0;title\a", File: "/job/\x9b31m\u202egnp.py", Line: 3},
		{Function: "two\nlines", File: "/job/a\rb.py", Line: 4},
		{Function: long, File: "/" + long + ".py", Line: 5},
	})
	all[0].Host, all[0].Missing = "node\x1b[31m", []string{"py-spy: \x1b[1mPermission denied\x1b[0m"}
	return all
}

// manyPlaces: every rank is somewhere else.
func manyPlaces() []dump.Rank {
	all := ranks(20, nil)
	for i := range all {
		file := fmt.Sprintf("/job/part%d.py", i)
		mainOf(&all[i]).Python = []dump.Frame{{Function: "work", File: file, Line: i + 1}, train, module}
		for depth := range 20 {
			deep := dump.Frame{Function: fmt.Sprint("forward", depth), File: "/job/model.py", Line: depth + 1}
			mainOf(&all[i]).Python = append(mainOf(&all[i]).Python, deep)
		}
		all[i].Missing = []string{fmt.Sprintf("NVML: %d is no GPU", i)}
	}
	return all
}

// busy: 12 ranks run in the same functions, each at another line.
func busy() []dump.Rank {
	all := ranks(12, nil)
	for i := range all {
		at := dump.Frame{Function: "tokenize", File: "/job/data.py", Line: 70 + i%9}
		doing(all, i, "SR"[i%2:i%2+1], "", []dump.Frame{at, module})
	}
	return all
}

// oneWithoutStack: rank 1 runs python -I, which ignores the variables that make it show its stacks.
func oneWithoutStack() []dump.Rank {
	all := doing(ranks(4, allReduce), 1, "S", "hrtimer_nanosleep", nil)
	all[1].Missing = []string{"Python stacks: it has not read gpurun's sitecustomize (python -S, -I or -E)"}
	return all
}

// twoGroups: ranks 0 and 1 wait for rank 2 in one group, and rank 2 for rank 3 in another.
func twoGroups() []dump.Rank {
	all := ranks(4, sleeping)
	enter := func(rank int, group string, sequence int64, members ...int) {
		all[rank].Collectives = append(all[rank].Collectives, dump.Collective{
			Group: group, Ranks: members, Sequence: sequence, Operation: "ALLGATHER", State: "scheduled",
			Created: now.Add(-time.Duration(10+rank) * time.Minute),
		})
	}
	enter(0, "dp (1)", 40, 0, 1, 2)
	enter(1, "dp (1)", 40, 0, 1, 2)
	enter(2, "tp (2)", 9, 2, 3)
	all[3].Collectives = []dump.Collective{
		{Group: "pp (3)", P2P: true, Sequence: 70, Operation: "SEND 3->2", State: "scheduled"},
	}
	return all
}
