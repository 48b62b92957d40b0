package main

import (
	"errors"

	"gpurun/cmd/gpurun/exit"
)

// world is the number of ranks on all machines.
func (p *collectiveRun) world() int { return p.machine.Ranks * max(p.nodes.Count, 1) }

// firstRank is this machine's first rank.
func (p *collectiveRun) firstRank() int { return p.machine.Ranks * p.nodes.Rank }

// unfit notes that this machine cannot take part in a job across machines, given
// what came of looking for its devices: then the nodes meet all the same, so that
// none waits in vain. A slip of the user's is returned.
func (p *collectiveRun) unfit(err error) error {
	var lacking *exit.EnvironmentError
	switch {
	case errors.As(err, &lacking):
		p.problem = lacking
	case err != nil:
		return err
	case p.machine.Backend == "sim" && p.nodes.Task != nil:
		p.problem = &exit.EnvironmentError{Err: errors.New("ranks that srun starts one by one need NCCL or NVSHMEM, which need GPUs, and here is the simulator: " +
			"it wants srun --nodes=1 --ntasks=1 gpurun --nproc-per-node N")}
	case p.machine.Backend == "sim":
		p.problem = &exit.EnvironmentError{Err: errors.New("jobs across machines need NCCL or NVSHMEM, which need GPUs, and here is the simulator")}
	}
	return nil
}
