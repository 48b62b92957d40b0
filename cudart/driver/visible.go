package driver

import (
	"slices"
	"strconv"
	"strings"
)

// visible returns which GPUs CUDA_VISIBLE_DEVICES=value leaves, as indexes
// into uuids and in the order of the value. It follows CUDA, as documented in
// the CUDA programming guide and as PyTorch's device count reads it:
//
//   - entries are ordinals, or, where the first one starts with "GPU-",
//     beginnings of UUIDs;
//   - the first entry that names no GPU, or more than one, ends the list;
//   - of an ordinal only the leading digits count, so that "1x" is 1;
//   - a GPU named twice leaves none at all.
func visible(value string, uuids []string) []int {
	resolve := byOrdinal
	if strings.HasPrefix(strings.TrimSpace(value), "GPU-") {
		resolve = byUUID
	}
	var chosen []int
	for text := range strings.SplitSeq(value, ",") {
		index, ok := resolve(strings.TrimSpace(text), uuids)
		if !ok {
			break
		}
		if slices.Contains(chosen, index) {
			return nil
		}
		chosen = append(chosen, index)
	}
	return chosen
}

// namesMIG reports whether the value selects MIG instances.
func namesMIG(value string) bool { return strings.HasPrefix(strings.TrimSpace(value), "MIG-") }

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
