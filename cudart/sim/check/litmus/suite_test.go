package litmus

import (
	"fmt"
	"strings"
	"testing"
)

// made is a test of a family. What it expects comes from the family's rule, which is told in words beside it, and not
// from this package.
type made struct {
	name    string
	places  []place
	columns [][]string // the instructions of each thread
	initial string
	// outcome is a condition on the final state, and allowed whether the model lets a test end there.
	outcome string
	allowed bool
	axiom   string // what forbids the outcome, or would
	// racy says whether the test has a data race, where racesKnown is set.
	racy, racesKnown bool
}

// place is where a thread runs.
type place struct{ cta, gpu int }

// text is the test in the format that Parse reads.
func (m *made) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "PTX %s\n{ %s }\n", m.name, m.initial)
	rows := 0
	for i, c := range m.columns {
		if i > 0 {
			b.WriteString(" | ")
		}
		fmt.Fprintf(&b, "P%d@cta %d,gpu %d", i, m.places[i].cta, m.places[i].gpu)
		rows = max(rows, len(c))
	}
	for row := range rows {
		b.WriteString(" ;\n")
		for i, c := range m.columns {
			if i > 0 {
				b.WriteString(" | ")
			}
			if row < len(c) {
				b.WriteString(c[row])
			}
		}
	}
	fmt.Fprintf(&b, " ;\nexists (%s)\n", m.outcome)
	return b.String()
}

// families are all tests.
func families() map[string][]made {
	return map[string][]made{
		"additions in turn":    orderedAdditions(),
		"message passing":      messagePassing(),
		"fences and flags":     mixedScopes(),
		"halves of fences":     fenceHalves(),
		"load buffering":       loadBuffering(),
		"write to read":        writeToRead(),
		"chains of messages":   chains(),
		"S":                    messageBeforeWrite(),
		"store buffering":      storeBuffering(),
		"R and 2+2W":           writesAndFences(),
		"IRIW":                 independentReads(),
		"coherence":            coherenceTests(),
		"observation":          observationTests(),
		"atomics":              atomicTests(),
		"messages passed on":   passedOn(),
		"barriers":             barrierTests(),
		"proxies":              proxyTests(),
		"values from thin air": thinAir(),
	}
}

// The model allows what the rule of each family allows, and forbids the rest.
func TestFamilies(t *testing.T) {
	names := map[string]bool{}
	for family, tests := range families() {
		t.Run(family, func(t *testing.T) {
			forbidden := 0
			for i := range tests {
				m := &tests[i]
				if names[m.name] {
					t.Errorf("%s is there twice", m.name)
				}
				names[m.name] = true
				if !m.allowed {
					forbidden++
				}
				m.compare(t)
				if t.Failed() {
					return
				}
			}
			t.Logf("%d tests, %d outcomes forbidden", len(tests), forbidden)
			if forbidden == 0 || forbidden == len(tests) {
				t.Error("a family with one verdict tests little")
			}
		})
	}
	if len(names) < 150 {
		t.Errorf("only %d tests", len(names))
	}
}

// compare explores a test and compares verdict, races, and sequentially consistent states.
func (m *made) compare(t *testing.T) {
	t.Helper()
	r, err := Judge(m.text(), Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, m.text())
	}
	if r.Holds != m.allowed {
		t.Errorf("allowed %v, the rule (%s) says %v\n%s%s", r.Holds, m.axiom, m.allowed, m.text(), r)
	}
	if m.racesKnown && (len(r.Races) > 0) != m.racy {
		t.Errorf("races %v, the rule says %v\n%s%s", len(r.Races) > 0, m.racy, m.text(), r)
	}
	states := map[string]bool{}
	for i := range r.States {
		states[r.States[i].Describe(r.Test)] = true
	}
	ends, _, ok := interleave(r.Test)
	if _, reason := compile(r.Test); ok && strings.Contains(reason, "bar.cta") {
		return // no barrier of PTX
	}
	for _, s := range ends {
		if text := s.Describe(r.Test); !states[text] {
			t.Errorf("an interleaving ends in %s, which the model does not allow\n%s%s", text, m.text(), r)
		}
	}
}

// The places of two threads, and of three.
var (
	pairs = map[string][]place{
		"block": {{0, 0}, {0, 0}}, "gpu": {{0, 0}, {1, 0}}, "system": {{0, 0}, {0, 1}},
	}
	triples = map[string][]place{
		"block":      {{0, 0}, {0, 0}, {0, 0}},
		"two blocks": {{0, 0}, {0, 0}, {1, 0}},
		"gpu":        {{0, 0}, {1, 0}, {2, 0}},
		"two gpus":   {{0, 0}, {1, 0}, {0, 1}},
		"system":     {{0, 0}, {0, 1}, {0, 2}},
	}
	allScopes = []string{"cta", "gpu", "sys"}
)

// within reports whether a scope of one of two threads includes the other.
func within(scope string, a, b place) bool {
	switch scope {
	case "cta":
		return a == b
	case "gpu":
		return a.gpu == b.gpu
	}
	return scope == "sys"
}

// access is a way to load or store, or to send or receive a message by a flag.
type access struct {
	name  string
	fence string // in front of a store, or behind a load
	mode  string // "weak", "relaxed.gpu" and so on
	scope string // empty for weak
	order bool   // it is a release or an acquire, by itself or by its fence
}

func (a access) strong() bool { return a.scope != "" }

// store and load are the instructions.
func (a access) store(location string, value any) []string {
	out := []string{fmt.Sprintf("st.%s %s, %v", a.mode, location, value)}
	if a.fence != "" {
		out = append([]string{a.fence}, out...)
	}
	return out
}

func (a access) load(register, location string) []string {
	out := []string{fmt.Sprintf("ld.%s %s, %s", a.mode, register, location)}
	if a.fence != "" {
		out = append(out, a.fence)
	}
	return out
}

// accesses are weak ones, and for each scope relaxed ones, those of an order, and those with fences.
func accessesOf(order string, fences ...string) []access {
	all := []access{{name: "weak", mode: "weak"}}
	for _, s := range allScopes {
		all = append(all, access{name: "relaxed." + s, mode: "relaxed." + s, scope: s})
		if order != "" {
			all = append(all, access{name: order + "." + s, mode: order + "." + s, scope: s, order: true})
		}
		for _, f := range fences {
			all = append(all, access{
				name: f + "." + s, mode: "relaxed." + s, scope: s, order: true, fence: "fence." + f + "." + s,
			})
		}
	}
	return all
}

// bothReach reports whether two accesses of threads at two places are morally strong.
func bothReach(a, b access, at, to place) bool {
	return a.strong() && b.strong() && within(a.scope, at, to) && within(b.scope, at, to)
}

// synchronizes reports whether a store is a release that a load, which observes it, acquires.
func synchronizes(store, load access, from, to place) bool {
	return store.order && load.order && bothReach(store, load, from, to)
}

// lines joins instructions.
func lines(parts ...[]string) []string {
	var all []string
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}
