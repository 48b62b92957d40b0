package machine

import (
	"fmt"
	"os"

	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/collective"
	"gpurun/worker/workload"
)

// Cannot says why an algorithm cannot do a job on this machine, or returns "".
func (m Machine) Cannot(a *collective.Algorithm, job workload.Job) string {
	epilogue, _ := collective.ParseEpilogue(job.Epilogue)
	world := m.Ranks * max(job.Nodes, 1)
	for _, name := range job.DTypes {
		d, _ := collective.ParseDType(name)
		for _, op := range job.Ops {
			call := collective.Call{
				DType: d, Op: collective.Op(op), Count: job.Row,
				Epilogue: collective.Epilogue{Kind: epilogue, Row: job.Row},
			}
			if err := a.Check(call, world); err != nil {
				return shortly(a, call, err)
			}
			k, ok := a.Find(d, call.Op, epilogue, world, m.SM)
			if ok && job.PDL == settings.On && !k.Module.Arch.PDL() {
				return "no kernel for programmatic dependent launch"
			}
			if !ok {
				least := a.MinSM(d, call.Op, epilogue)
				return fmt.Sprintf("%s needs compute capability %d.%d", d.Name, least/10, least%10)
			}
		}
	}
	return m.outOfReach(a, job)
}

// shortly says what is missing without all that there is.
func shortly(a *collective.Algorithm, call collective.Call, err error) string {
	switch {
	case a.Supports(call.DType, call.Op, call.Epilogue.Kind):
		return err.Error()
	case call.Epilogue.Kind != collective.NoEpilogue:
		return fmt.Sprintf("no epilogue %s for %s of %s", call.Epilogue.Kind, call.Op, call.DType.Name)
	}
	return fmt.Sprintf("no %s of %s", call.Op, call.DType.Name)
}

// outOfReach says what memory an algorithm needs and cannot have here.
func (m Machine) outOfReach(a *collective.Algorithm, job workload.Job) string {
	noPeerAccess, noMulticast := job.NoPeerAccess(), job.NoMulticast(m.Backend, os.Getenv)
	switch {
	case a.Needs.Library == "" && job.Nodes > 1:
		return "it runs within one machine"
	case a.Needs.Peers && noPeerAccess != "":
		return "it needs peer access, and " + noPeerAccess
	case a.Needs.Multicast && noMulticast != "":
		return "it needs a multicast address, and " + noMulticast
	}
	return ""
}

// ShareGPUs says that ranks share GPUs, which NCCL refuses, or returns "".
func (m Machine) ShareGPUs() string {
	if m.Ranks <= m.GPUs {
		return ""
	}
	return fmt.Sprintf("it wants a GPU for every rank, and %d ranks share %s", m.Ranks, phrase.Count(m.GPUs, "GPU", "GPUs"))
}
