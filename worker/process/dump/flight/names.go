package flight

import (
	"encoding/json"
	"strings"
)

// operations are the names that differ from the part behind the colon of PyTorch's name, in capitals and without _.
var operations = map[string]string{
	"_all_gather_base": "ALLGATHER", "all_gather": "ALLGATHER", "all_gather_into_tensor_coalesced": "ALLGATHER_COALESCED",
	"_broadcast_oop": "BROADCAST", "all_reduce": "ALLREDUCE", "all_reduce_barrier": "BARRIER",
	"all_reduce_sparse": "ALLREDUCE_SPARSE", "allreduce_coalesced": "ALLREDUCE_COALESCED",
	"_reduce_oop": "REDUCE", "_reduce_scatter_base": "REDUCE_SCATTER",
	"reduce_scatter_tensor_coalesced": "REDUCE_SCATTER_COALESCED",
	"all_to_all":                      "ALLTOALL", "all_to_all_single": "ALLTOALL",
}

// operation is the usual name of "nccl:all_reduce", "gloo:_all_gather_base" or "nccl:send 0->1".
func operation(profilingName string) string {
	name := short(profilingName)
	if _, after, ok := strings.Cut(name, ":"); ok {
		name = after
	}
	if usual, ok := operations[name]; ok {
		return usual
	}
	return strings.ToUpper(strings.TrimLeft(name, "_"))
}

// groupName is unlike that of every other group of the job. Names are numbers or hashes; descriptions are not unique.
func groupName(nameAndDescription []string) string {
	name := short(nameAndDescription[0])
	if len(nameAndDescription) < 2 {
		return name
	}
	switch description := short(nameAndDescription[1]); description {
	case "", "undefined":
		return name
	case "default_pg":
		return description
	default:
		return description + " (" + name + ")"
	}
}

// short bounds a name.
func short(name string) string { return strings.Clone(name[:min(len(name), mostLetters)]) }

// groups holds lists of ranks once each: many groups can share one text.
type groups struct{ byText map[string][]int }

func (g groups) ranks(text string) []int {
	ranks, known := g.byText[text]
	if !known {
		ranks = parseRanks(text)
		g.byText[text] = ranks
	}
	return ranks
}

// parseRanks parses "[0, 1, 2]". All other texts give no ranks: unknown.
func parseRanks(text string) []int {
	var ranks []int
	if json.Unmarshal([]byte(text), &ranks) != nil || len(ranks) > mostRanks {
		return nil
	}
	for _, rank := range ranks {
		if rank < 0 {
			return nil
		}
	}
	return ranks
}
