package mutants

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"gpurun/cudart/sim/check/mutate"
)

// recordsPath is the file of what became of all mutants, from which the page is written.
const recordsPath = "results.json"

// record is what became of the mutants of a kernel, before explanations.
type record struct {
	Kernel  string `json:"kernel"` // its row
	Module  string `json:"module"`
	Pending string `json:"pending,omitempty"` // why it is not judged
	// Counts are those of mutants that need no explanation.
	Counts map[mutate.Class]map[verdict]int `json:"counts"`
	Others []recorded                       `json:"others,omitempty"`
}

// recorded is a mutant that needs an explanation.
type recorded struct {
	Class   mutate.Class `json:"class"`
	Verdict verdict      `json:"verdict"`
	Line    int          `json:"line"`
	Was     string       `json:"was"`
	Now     string       `json:"now"`
	// Adjacent says of a barrier what mutate.Adjacent did, since the kernel may have changed.
	Adjacent bool `json:"adjacent,omitempty"`
}

// row is how the table calls a kernel.
func (s *subject) row() string {
	return fmt.Sprintf("%s, `%s`, %d ranks", s.name, shortened(s.entry), s.world)
}

// recordOf is the record of a kernel, given the results of its mutants.
func recordOf(s *subject, results []result) *record {
	k := &record{Kernel: s.row(), Module: s.module, Counts: map[mutate.Class]map[verdict]int{}}
	k.Pending, _, _ = strings.Cut(s.pending, "\n")
	for _, r := range results {
		switch {
		case r.subject != s:
		case r.explained():
			k.Others = append(k.Others, recorded{r.Class, r.verdict, r.Line, r.Was, r.Now, r.isAdjacent()})
		default:
			if k.Counts[r.Class] == nil {
				k.Counts[r.Class] = map[verdict]int{}
			}
			k.Counts[r.Class][r.verdict]++
		}
	}
	return k
}

// results are those that a record keeps: of mutants that need no explanation, the class and the verdict.
func (k *record) results(s *subject) (all []result) {
	for _, class := range classes {
		for _, v := range verdicts {
			for range k.Counts[class][v] {
				all = append(all, result{subject: s, Mutant: &mutate.Mutant{Class: class}, verdict: v})
			}
		}
	}
	for _, x := range k.Others {
		m := &mutate.Mutant{Class: x.Class, Line: x.Line, Was: x.Was, Now: x.Now}
		all = append(all, result{subject: s, Mutant: m, verdict: x.Verdict, adjacent: &x.Adjacent})
	}
	return all
}

// readRecords reads the records of the kernels that there are.
func readRecords() (list []*record, err error) {
	text, err := os.ReadFile(recordsPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", recordsPath, err)
	}
	return list, nil
}

func writeRecords(list []*record) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "\t")
	if err := enc.Encode(list); err != nil {
		return err
	}
	return os.WriteFile(recordsPath, []byte(b.String()), 0o666)
}

// merged are the records of all kernels, in their order: the new ones, and the old ones of the others. What has no
// record is an error.
func merged(list []*subject, old, now []*record) (all []*record, err error) {
	for _, s := range list {
		is := func(k *record) bool { return k.Kernel == s.row() && k.Module == s.module }
		switch o, n := slices.IndexFunc(old, is), slices.IndexFunc(now, is); {
		case n >= 0:
			all = append(all, now[n])
		case o >= 0:
			all = append(all, old[o])
		default:
			err = errors.Join(err, fmt.Errorf("%s has no results of %q: run its mutants with GPURUN_MUTANTS and -update",
				recordsPath, s.row()))
		}
	}
	return all, err
}
