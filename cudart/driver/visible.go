package driver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Visible returns which GPUs CUDA_VISIBLE_DEVICES=value leaves, as indexes
// into uuids and in the order of the value. It follows CUDA, as documented in
// the CUDA programming guide and as PyTorch's device count reads it:
//
//   - entries are ordinals, or, where the first one starts with "GPU-",
//     beginnings of UUIDs;
//   - the first entry that names no GPU, or more than one, ends the list;
//   - of an ordinal only the leading digits count, so that "1x" is 1;
//   - a GPU named twice leaves none at all.
//
// An error says which entry CUDA does not take, and what it makes of that; the
// GPUs are right in spite of it.
func Visible(value string, uuids []string) ([]int, error) {
	resolve := byOrdinal
	if strings.HasPrefix(strings.TrimSpace(value), "GPU-") {
		resolve = byUUID
	}
	var chosen []int
	for text := range strings.SplitSeq(value, ",") {
		text = strings.TrimSpace(text)
		index, ok := resolve(text, uuids)
		if !ok {
			return chosen, fmt.Errorf("the entry %q does not name exactly one of the %d GPUs; CUDA ignores it and all after it",
				text, len(uuids))
		}
		if slices.Contains(chosen, index) {
			return nil, fmt.Errorf("the entry %q names GPU %d a second time; CUDA then shows no GPU at all", text, index)
		}
		chosen = append(chosen, index)
	}
	return chosen, nil
}

// NamesMIG reports whether the value selects MIG instances, which [Visible] does
// not know.
func NamesMIG(value string) bool { return strings.HasPrefix(strings.TrimSpace(value), "MIG-") }

func byOrdinal(text string, uuids []string) (int, bool) {
	text = strings.TrimPrefix(text, "+")
	end := 0
	for end < len(text) && '0' <= text[end] && text[end] <= '9' {
		end++
	}
	index, err := strconv.Atoi(text[:end])
	return index, err == nil && index < len(uuids)
}

func byUUID(text string, uuids []string) (int, bool) {
	found, matches := 0, 0
	for i, uuid := range uuids {
		if len(text) > len("GPU-") && strings.HasPrefix(uuid, text) {
			found, matches = i, matches+1
		}
	}
	return found, matches == 1
}
