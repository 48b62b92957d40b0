package result

import (
	"fmt"
	"slices"
	"strings"

	"gpurun/cudart"
)

// algorithms lists the sizes of each algorithm, and the devices:
// "oneshot 1K-64K, twoshot 256K-1M on 8 x gpurun simulator (sim)".
func algorithms(r Report) string {
	var names []string
	least, most := map[string]int64{}, map[string]int64{}
	for _, x := range r.Results {
		if !slices.Contains(names, x.Algorithm) {
			names = append(names, x.Algorithm)
			least[x.Algorithm], most[x.Algorithm] = x.Bytes, x.Bytes
		}
		least[x.Algorithm] = min(least[x.Algorithm], x.Bytes)
		most[x.Algorithm] = max(most[x.Algorithm], x.Bytes)
	}
	if len(names) == 0 {
		return ""
	}
	spans := make([]string, len(names))
	for i, name := range names {
		spans[i] = name + " " + span(least[name], most[name])
	}
	return strings.Join(spans, ", ") + " on " + r.Machines()
}

// Machines counts the devices by kind: "4 x NVIDIA H200 (cuda)".
func (r Report) Machines() string { return Machines(r.Devices) }

func span(least, most int64) string {
	if least == most {
		return FormatSize(least)
	}
	return FormatSize(least) + "-" + FormatSize(most)
}

// Machines counts devices of the same kind: "4 x NVIDIA H200 (cuda)".
func Machines(devices []cudart.Info) string {
	var kinds []string
	count := map[string]int{}
	for _, d := range devices {
		kind := fmt.Sprintf("%s (%s)", d.Name, d.Backend)
		if count[kind]++; count[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d x %s", count[kind], kind)
	}
	return strings.Join(kinds, ", ")
}

// FormatSize writes a number of bytes with the largest of the suffixes K, M
// and G, powers of 1024, that divides it.
func FormatSize(bytes int64) string {
	suffixes := []string{"", "K", "M", "G"}
	for len(suffixes) > 1 && bytes != 0 && bytes%1024 == 0 {
		bytes, suffixes = bytes/1024, suffixes[1:]
	}
	return fmt.Sprintf("%d%s", bytes, suffixes[0])
}
