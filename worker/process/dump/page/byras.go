package page

import (
	"fmt"
	"maps"
	"slices"

	"gpurun/worker/process/dump"
)

// byRAS concludes from the counts of NCCL's RAS: which ranks have called fewer collectives of a communicator than the
// others, and which do not answer. NCCL tells both about the whole job, so one rank's answer is enough.
func (j job) byRAS() (all []finding) {
	for _, r := range j.ranks {
		if len(r.Communicators) == 0 {
			continue
		}
		for _, c := range r.Communicators {
			all = append(all, j.unanswered(c)...)
			all = append(all, j.lagging(c)...)
		}
		break
	}
	return all
}

// lagging compares the counts of each collective. Sends and receives differ between ranks of a right program.
func (j job) lagging(c dump.Communicator) (all []finding) {
	names := map[string]bool{}
	var members []dump.CommunicatorRank
	for _, r := range c.Ranks {
		if !r.Missing {
			members = append(members, r)
			maps.Insert(names, maps.All(keysOf(r.Counts)))
		}
	}
	delete(names, "Send")
	delete(names, "Recv")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		most := uint64(0)
		for _, r := range members {
			most = max(most, r.Counts[name])
		}
		var behind []dump.CommunicatorRank
		least := most
		for _, r := range members {
			if r.Counts[name] < most {
				behind, least = append(behind, r), min(least, r.Counts[name])
			}
		}
		if len(behind) > 0 {
			text := fmt.Sprintf("%s %s called %s %d times, others %d times", j.inCommunicator(behind, c),
				plural(make([]int, len(behind)), "has", "have"), name, least, most)
			all = append(all, finding{text, "NCCL RAS, communicator " + c.ID})
		}
	}
	return all
}

func keysOf(counts map[string]uint64) map[string]bool {
	keys := map[string]bool{}
	for name := range counts {
		keys[name] = true
	}
	return keys
}

func (j job) unanswered(c dump.Communicator) (all []finding) {
	var dead, silent []dump.CommunicatorRank
	for _, r := range c.Ranks {
		switch {
		case r.Dead:
			dead = append(dead, r)
		case r.Missing && r.Unresponsive:
			silent = append(silent, r)
		}
	}
	evidence := "NCCL RAS, communicator " + c.ID
	if len(dead) > 0 {
		all = append(all, finding{j.inCommunicator(dead, c) + ": NCCL takes its process for dead", evidence})
	}
	if len(silent) > 0 {
		all = append(all, finding{j.inCommunicator(silent, c) + ": NCCL gets no answer from its process", evidence})
	}
	return all
}

// inCommunicator names ranks by their numbers in the job, if all their processes are known, else by those in the
// communicator.
func (j job) inCommunicator(ranks []dump.CommunicatorRank, c dump.Communicator) string {
	var global, local []int
	for _, r := range ranks {
		local = append(local, r.Rank)
		owners := j.numbers(func(known rank) bool { return known.hasProcess(r.PID) })
		if len(owners) == 1 { // the same PID may be in use on several hosts
			global = append(global, owners[0])
		}
	}
	if len(global) == len(local) {
		return j.of(global)
	}
	return fmt.Sprintf("%s of %d of communicator %s", named(local), c.Size, c.ID)
}

func (r rank) hasProcess(pid int) bool {
	return r.PID == pid || slices.ContainsFunc(r.Processes, func(p dump.Process) bool { return p.PID == pid })
}
