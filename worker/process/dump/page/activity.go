package page

import (
	"path"
	"slices"
	"strings"

	"gpurun/worker/process/dump"
)

// activity is what a thread does, as far as its stack and the kernel say.
type activity struct {
	kind  kind
	what  string // of a collective its function: all_reduce
	where string // the program's line that called it: train.py:214; may be empty
}

type kind int

const (
	unknown   kind = iota // nothing was collected
	elsewhere             // a Python stack that is none of the following
	collective
	backward // where DistributedDataParallel reduces gradients
	gpuWait
	input
	lock
	socket
	sleep
	noPython // only what the kernel says
)

// collectives are the functions of torch.distributed that wait for other ranks. Those with true cannot end on any rank
// before all ranks of the group have called them.
var collectives = map[string]bool{
	"all_reduce": true, "all_gather": true, "all_gather_into_tensor": true, "all_gather_object": true,
	"all_gather_coalesced": true, "_all_gather_base": true, "all_reduce_coalesced": true, "all_to_all": true,
	"all_to_all_single": true, "barrier": true, "monitored_barrier": true, "reduce_scatter": true,
	"reduce_scatter_tensor": true, "_reduce_scatter_base": true, "init_process_group": true, "_store_based_barrier": true,
	"new_group": false, "broadcast": false, "broadcast_object_list": false, "reduce": false, "gather": false,
	"gather_object": false, "scatter": false, "scatter_object_list": false, "send": false, "recv": false,
	"send_object_list": false, "recv_object_list": false, "batch_isend_irecv": false, "destroy_process_group": false,
}

// inCollective finds the collective that the program called: all_gather_object, and not the all_gather in it.
func inCollective(stack []dump.Frame) (activity, bool) {
	for i, f := range slices.Backward(stack) {
		if _, ok := collectives[f.Function]; ok && isTorch(f.File, "torch/distributed/") {
			return activity{collective, f.Function, caller(stack, min(i+1, len(stack)-1))}, true
		}
	}
	return activity{}, false
}

// activityOf says what a thread does.
func activityOf(t dump.Thread) activity {
	if len(t.Python) == 0 {
		if t.State == "" {
			return activity{}
		}
		return activity{kind: noPython}
	}
	if a, ok := inCollective(t.Python); ok {
		return a
	}
	a := activity{kind: elsewhere, where: caller(t.Python, 0)}
	inner := t.Python[0]
	switch base := path.Base(inner.File); {
	case slices.ContainsFunc(t.Python, isDataLoader):
		a.kind = input
	case isTorch(inner.File, "torch/autograd/"), isTorch(inner.File, "torch/_tensor.py"):
		a.kind = backward
	case isTorch(inner.File, "torch/cuda/") && strings.Contains(inner.Function, "synchronize"):
		a.kind = gpuWait
	case base == "threading.py" && slices.Contains(lockFunctions, inner.Function),
		strings.HasSuffix(inner.File, "multiprocessing/synchronize.py"):
		a.kind = lock
	case base == "socket.py", base == "ssl.py", base == "selectors.py", strings.HasSuffix(inner.File, "http/client.py"),
		strings.HasSuffix(inner.File, "multiprocessing/connection.py"):
		a.kind = socket
	case strings.Contains(t.Wait, "nanosleep"):
		a.kind = sleep
	}
	return a
}

var lockFunctions = []string{"wait", "acquire", "join", "_wait_for_tstate_lock", "__enter__"}

func isDataLoader(f dump.Frame) bool {
	return isTorch(f.File, "torch/utils/data/dataloader.py") && f.Function != "_worker_loop"
}

// verb says what one rank does, or several.
func (a activity) verb(several bool) string {
	s := "s"
	if several {
		s = ""
	}
	text := ""
	switch a.kind {
	case unknown, noPython:
		return "told no Python stack"
	case collective:
		text = "wait" + s + " in " + a.what
	case backward:
		text = "compute" + s + " gradients (backward)"
	case gpuWait:
		text = "wait" + s + " for the GPU"
	case input:
		text = "wait" + s + " for data in a DataLoader"
	case lock:
		text = "wait" + s + " for a lock or thread"
	case socket:
		text = "wait" + s + " for a socket or pipe"
	case sleep:
		text = "sleep" + s
	case elsewhere:
		if several {
			return "are at " + a.where
		}
		return "is at " + a.where
	}
	if a.where != "" {
		text += " (" + a.where + ")"
	}
	return text
}
