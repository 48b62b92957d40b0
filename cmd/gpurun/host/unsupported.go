package host

import (
	"fmt"
	"os"

	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/kernels/collective"
	"gpurun/worker/workload"
)

// Unsupported says why an algorithm cannot do a job on this machine, or returns "".
func (h Host) Unsupported(a *collective.Algorithm, job workload.Job) string {
	epilogue, _ := collective.ParseEpilogue(job.Epilogue)
	world := h.Ranks * max(job.Nodes, 1)
	for _, name := range job.DTypes {
		d, _ := collective.ParseDType(name)
		for _, op := range job.Ops {
			call := collective.Call{
				DType: d, Op: collective.Op(op), Count: job.Row,
				Epilogue: collective.Epilogue{Kind: epilogue, Row: job.Row},
			}
			if err := a.Check(call, world); err != nil {
				return notImplemented(a, call, err)
			}
			k, ok := a.Find(d, call.Op, epilogue, world, h.SM)
			if ok && job.PDL == settings.On && !k.Module.Arch.PDL() {
				return "no kernel for programmatic dependent launch"
			}
			if !ok {
				least := a.MinSM(d, call.Op, epilogue)
				return fmt.Sprintf("%s needs compute capability %d.%d", d.Name, least/10, least%10)
			}
		}
	}
	return h.memoryLacking(a, job)
}

// notImplemented names what is missing, without the list of what exists.
func notImplemented(a *collective.Algorithm, call collective.Call, err error) string {
	switch {
	case a.Supports(call.DType, call.Op, call.Epilogue.Kind):
		return err.Error()
	case call.Epilogue.Kind != collective.NoEpilogue:
		return fmt.Sprintf("no epilogue %s for %s of %s", call.Epilogue.Kind, call.Op, call.DType.Name)
	}
	return fmt.Sprintf("no %s of %s", call.Op, call.DType.Name)
}

// memoryLacking names the memory that an algorithm needs and that is not available here.
func (h Host) memoryLacking(a *collective.Algorithm, job workload.Job) string {
	noPeerAccess, noMulticast := job.NoPeerAccess(), job.NoMulticast(h.Backend, os.Getenv)
	switch {
	case !a.AcrossMachines() && job.Nodes > 1:
		return "it runs within one machine"
	case a.Needs.Peers && noPeerAccess != "":
		return "it needs peer access, and " + noPeerAccess
	case a.Needs.Multicast && noMulticast != "":
		return "it needs a multicast address, and " + noMulticast
	}
	return ""
}

// ShareGPUs says that ranks share GPUs, which NCCL refuses, or returns "".
func (h Host) ShareGPUs() string {
	if h.Ranks <= h.GPUs {
		return ""
	}
	return fmt.Sprintf("it needs a GPU for every rank, and %d ranks share %s", h.Ranks,
		suggest.Count(h.GPUs, "GPU", "GPUs"))
}
