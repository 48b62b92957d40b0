package litmus

import "fmt"

// fenceKind is a fence between two accesses, or none.
type fenceKind struct{ order, scope string }

func (f fenceKind) String() string {
	if f.order == "" {
		return "none"
	}
	return f.order + "." + f.scope
}

func (f fenceKind) code() []string {
	if f.order == "" {
		return nil
	}
	return []string{"fence." + f.String()}
}

func fenceKinds() []fenceKind {
	all := []fenceKind{{}}
	for _, s := range allScopes {
		all = append(all, fenceKind{"acq_rel", s}, fenceKind{"sc", s})
	}
	return all
}

// ordered reports whether two fences are both fence.sc and in each other's scope: then one is before the other.
func ordered(f, g fenceKind, at, to place) bool {
	return f.order == "sc" && g.order == "sc" && within(f.scope, at, to) && within(g.scope, at, to)
}

// storeBuffering: each thread writes and then reads what the other one writes. Only two fence.sc that are in each
// other's scope forbid that both read the old values: one fence is before the other, and what is in front of it before
// what is behind the other (Causality).
func storeBuffering() (all []made) {
	for where, at := range pairs {
		for _, mode := range []string{"weak", "relaxed.sys"} {
			for _, f := range fenceKinds() {
				for _, g := range fenceKinds() {
					all = append(all, made{
						name: fmt.Sprintf("SB %s %s %v %v", where, mode, f, g), places: at, initial: "x=0; y=0",
						columns: [][]string{
							lines([]string{"st." + mode + " x, 1"}, f.code(), []string{"ld." + mode + " r0, y"}),
							lines([]string{"st." + mode + " y, 1"}, g.code(), []string{"ld." + mode + " r0, x"}),
						},
						outcome: `P0:r0 == 0 /\ P1:r0 == 0`, allowed: !ordered(f, g, at[0], at[1]), axiom: "Causality",
					})
				}
			}
		}
	}
	return all
}

// writesAndFences are R and 2+2W: fence.sc in each other's scope order writes of two threads (Coherence), and nothing
// less does.
func writesAndFences() (all []made) {
	for where, at := range pairs {
		for _, mode := range []string{"weak", "relaxed.sys"} {
			for _, f := range fenceKinds() {
				for _, g := range fenceKinds() {
					st, allowed := "st."+mode, !ordered(f, g, at[0], at[1])
					all = append(all, made{
						name: fmt.Sprintf("2+2W %s %s %v %v", where, mode, f, g), places: at, initial: "x=0; y=0",
						columns: [][]string{
							lines([]string{st + " x, 1"}, f.code(), []string{st + " y, 2"}),
							lines([]string{st + " y, 1"}, g.code(), []string{st + " x, 2"}),
						},
						outcome: `x == 1 /\ y == 1`, allowed: allowed, axiom: "Coherence",
					}, made{
						name: fmt.Sprintf("R %s %s %v %v", where, mode, f, g), places: at, initial: "x=0; y=0",
						columns: [][]string{
							lines([]string{st + " x, 1"}, f.code(), []string{st + " y, 1"}),
							lines([]string{st + " y, 2"}, g.code(), []string{"ld." + mode + " r0, x"}),
						},
						outcome: `y == 2 /\ P1:r0 == 0`, allowed: allowed, axiom: "Coherence, Causality",
					})
				}
			}
		}
	}
	return all
}

// independentReads is IRIW: two readers see two writes in different order. Acquires alone do not forbid that: the model
// is not multi-copy atomic. It takes fence.sc in each other's scope, and reads that are morally strong with the writes.
func independentReads() (all []made) {
	for where, at := range map[string][]place{
		"block":  {{0, 0}, {0, 0}, {0, 0}, {0, 0}},
		"gpu":    {{0, 0}, {1, 0}, {2, 0}, {3, 0}},
		"system": {{0, 0}, {0, 1}, {0, 2}, {0, 3}},
	} {
		for _, m := range []struct{ store, load, scope string }{
			{"weak", "weak", ""},
			{"relaxed.sys", "relaxed.sys", "sys"},
			{"release.sys", "acquire.sys", "sys"},
			{"relaxed.gpu", "relaxed.gpu", "gpu"},
			{"relaxed.cta", "relaxed.cta", "cta"},
			{"weak", "acquire.sys", ""},
		} {
			for _, f := range fenceKinds() {
				observed := within(m.scope, at[0], at[2]) && within(m.scope, at[1], at[3])
				reader := func(first, second string) []string {
					return lines([]string{"ld." + m.load + " r0, " + first}, f.code(), []string{"ld." + m.load + " r1, " + second})
				}
				all = append(all, made{
					name: fmt.Sprintf("IRIW %s %s %s %v", where, m.store, m.load, f), places: at, initial: "x=0; y=0",
					columns: [][]string{
						{"st." + m.store + " x, 1"}, {"st." + m.store + " y, 1"}, reader("x", "y"), reader("y", "x"),
					},
					outcome: `P2:r0 == 1 /\ P2:r1 == 0 /\ P3:r0 == 1 /\ P3:r1 == 0`,
					allowed: !observed || !ordered(f, f, at[2], at[3]), axiom: "Causality",
				})
			}
		}
	}
	return all
}
