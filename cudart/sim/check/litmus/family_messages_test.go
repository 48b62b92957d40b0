package litmus

import "fmt"

// messagePassing: data and a flag, which a reader of the data has seen. The old data are forbidden if and only if the
// flag is released and acquired and both scopes include the other thread (Causality). The data do not race in that
// case, and the flag does not where its accesses are morally strong.
func messagePassing() (all []made) {
	for where, at := range pairs {
		for _, w := range accessesOf("release", "acq_rel", "sc") {
			for _, r := range accessesOf("acquire", "acq_rel", "sc") {
				right := synchronizes(w, r, at[0], at[1])
				all = append(all, made{
					name: fmt.Sprintf("MP %s %s %s", where, w.name, r.name), places: at, initial: "x=0; f=0",
					columns: [][]string{
						lines([]string{"st.weak x, 1"}, w.store("f", 1)),
						lines(r.load("r0", "f"), []string{"bne r0, 1, LC00", "ld.weak r1, x", "LC00:"}),
					},
					outcome: `P1:r0 == 1 /\ P1:r1 == 0`, allowed: !right, axiom: "Causality",
					racy: !right, racesKnown: true,
				})
			}
		}
	}
	return all
}

// mixedScopes is message passing with fences of one scope and flags of another: the fences have to include each other's
// thread, and so have the accesses of the flag, which observe nothing otherwise.
func mixedScopes() (all []made) {
	for where, at := range pairs {
		for n := range 81 {
			release, store, load, acquire := allScopes[n%3], allScopes[n/3%3], allScopes[n/9%3], allScopes[n/27]
			right := true
			for _, s := range []string{release, store, load, acquire} {
				right = right && within(s, at[0], at[1])
			}
			all = append(all, made{
				name:   fmt.Sprintf("MP of scopes %s %s %s %s %s", where, release, store, load, acquire),
				places: at, initial: "x=0; f=0",
				columns: [][]string{
					{"st.weak x, 1", "fence.acq_rel." + release, "st.relaxed." + store + " f, 1"},
					{
						"ld.relaxed." + load + " r0, f", "fence.acq_rel." + acquire, "bne r0, 1, LC00", "ld.weak r1, x", "LC00:",
					},
				},
				outcome: `P1:r0 == 1 /\ P1:r1 == 0`, allowed: !right, axiom: "Causality", racy: !right, racesKnown: true,
			})
		}
	}
	return all
}

// fenceHalves: fence.release makes no acquire pattern, and fence.acquire no release pattern.
func fenceHalves() (all []made) {
	kinds := []string{"acquire", "release", "acq_rel", "sc"}
	for where, at := range pairs {
		for n := range len(kinds) * len(kinds) {
			w, r := kinds[n%4], kinds[n/4]
			writer := []string{"st.weak x, 1", "fence." + w + ".sys", "st.relaxed.sys f, 1"}
			right := w != "acquire" && r != "release"
			for _, receive := range []string{"ld.relaxed.sys r0, f", "atom.relaxed.sys.add r0, f, 1"} {
				all = append(all, made{
					name: fmt.Sprintf("MP of fences %s %s %s %.4s", where, w, r, receive), places: at, initial: "x=0; f=0",
					columns: [][]string{
						writer, {receive, "fence." + r + ".sys", "bne r0, 1, LC00", "ld.weak r1, x", "LC00:"},
					},
					outcome: `P1:r0 == 1 /\ P1:r1 == 0`, allowed: !right, axiom: "Causality", racy: !right, racesKnown: true,
				})
			}
			all = append(all, byReduction(where, at, w, r, writer))
		}
	}
	return all
}

// byReduction: red makes no acquire pattern, whatever fence is behind it. A flag of 2 says that it came second. Two
// fence.sc are in the order of the message then.
func byReduction(where string, at []place, w, r string, writer []string) made {
	return made{
		name: fmt.Sprintf("MP by red %s %s %s", where, w, r), places: at, initial: "x=0; f=0",
		columns: [][]string{writer, {"red.relaxed.sys.add f, 1", "fence." + r + ".sys", "ld.weak r1, x"}},
		outcome: `f == 2 /\ P1:r1 == 0`, allowed: w != "sc" || r != "sc", axiom: "Causality",
	}
}

// messageBeforeWrite is S: a write behind an acquired message comes behind the write in front of its release in
// coherence order, and so it is the last one (Coherence).
func messageBeforeWrite() (all []made) {
	for where, at := range pairs {
		for _, w := range accessesOf("release", "acq_rel") {
			for _, r := range accessesOf("acquire", "acq_rel") {
				all = append(all, made{
					name: fmt.Sprintf("S %s %s %s", where, w.name, r.name), places: at, initial: "x=0; f=0",
					columns: [][]string{
						lines([]string{"st.relaxed.sys x, 2"}, w.store("f", 1)),
						lines(r.load("r0", "f"), []string{"st.relaxed.sys x, 1"}),
					},
					outcome: `P1:r0 == 1 /\ x == 2`, allowed: !synchronizes(w, r, at[0], at[1]), axiom: "Coherence",
				})
			}
		}
	}
	return all
}

// loadBuffering: each thread reads what the other one writes behind its read. A single message that synchronizes
// forbids it: the read in front of its release comes before the write behind its acquire (Causality).
func loadBuffering() (all []made) {
	for where, at := range pairs {
		for _, s := range allScopes {
			loads, stores := oneScope("acquire", s), oneScope("release", s)
			for n := range 81 {
				l0, s0, l1, s1 := loads[n%3], stores[n/3%3], loads[n/9%3], stores[n/27]
				right := synchronizes(s0, l1, at[0], at[1]) || synchronizes(s1, l0, at[1], at[0])
				all = append(all, made{
					name: fmt.Sprintf("LB %s %s %d", where, s, n), places: at, initial: "x=0; y=0",
					columns: [][]string{
						lines(l0.load("r0", "x"), s0.store("y", 1)),
						lines(l1.load("r0", "y"), s1.store("x", 1)),
					},
					outcome: `P0:r0 == 1 /\ P1:r0 == 1`, allowed: !right, axiom: "Causality",
				})
			}
		}
	}
	return all
}

// oneScope is the weak access, the relaxed one, and that of an order, of one scope.
func oneScope(order, scope string) []access {
	return []access{
		{name: "weak", mode: "weak"},
		{name: "relaxed", mode: "relaxed." + scope, scope: scope},
		{name: order, mode: order + "." + scope, scope: scope, order: true},
	}
}

// thinAir: values that depend on themselves. A cycle of copies has no first write, so nothing but the initial value
// appears, whatever the strength of the accesses (No-Thin-Air). A cycle with one constant is allowed. A third thread
// may write the value when it reads 0. Where it reads 1, it does not, and the cycle cannot make the value.
func thinAir() (all []made) {
	for where, at := range triples {
		for _, third := range []int{0, 1} {
			all = append(all, made{
				name: fmt.Sprintf("LB with copies and a source %s %d", where, third), places: at, initial: "x=0; y=0",
				columns: [][]string{
					{"ld.weak r0, x", "st.weak y, r0"},
					{"ld.weak r0, y", "st.weak x, r0"},
					{"ld.weak r0, y", "bne r0, 0, LC00", "st.weak x, 1", "LC00:"},
				},
				outcome: fmt.Sprintf(`P0:r0 == 1 /\ P1:r0 == 1 /\ P2:r0 == %d`, third), allowed: third == 0, axiom: "No-Thin-Air",
			})
		}
	}
	for where, at := range pairs {
		for _, mode := range []string{"weak", "relaxed.sys"} {
			for _, constant := range []bool{false, true} {
				stored := "r0"
				if constant {
					stored = "1"
				}
				all = append(all, made{
					name: fmt.Sprintf("LB with copies %s %s %v", where, mode, constant), places: at, initial: "x=0; y=0",
					columns: [][]string{
						{"ld." + mode + " r0, x", "st." + mode + " y, r0"},
						{"ld." + mode + " r0, y", "st." + mode + " x, " + stored},
					},
					outcome: `P0:r0 == 1 /\ P1:r0 == 1`, allowed: constant, axiom: "No-Thin-Air",
				})
			}
		}
	}
	return all
}

// writeToRead is WRC: P1 observes data of P0 and sends a message to P2. Observation is the first step of causality
// order, so P2 sees the data if P1 has observed them by morally strong accesses and the message synchronizes.
func writeToRead() (all []made) {
	for where, at := range triples {
		for _, data := range accessesOf("") {
			for _, s := range allScopes {
				for _, ordered := range []bool{false, true} {
					w, r := oneScope("release", s)[1], oneScope("acquire", s)[1]
					if ordered {
						w, r = oneScope("release", s)[2], oneScope("acquire", s)[2]
					}
					right := bothReach(data, data, at[0], at[1]) && synchronizes(w, r, at[1], at[2])
					all = append(all, made{
						name:   fmt.Sprintf("WRC %s %s %s.%s", where, data.name, w.name, s),
						places: at, initial: "x=0; f=0",
						columns: [][]string{
							data.store("x", 1),
							lines(data.load("r0", "x"), w.store("f", 1)),
							lines(r.load("r0", "f"), []string{"ld.weak r1, x"}),
						},
						outcome: `P1:r0 == 1 /\ P2:r0 == 1 /\ P2:r1 == 0`, allowed: !right, axiom: "Causality",
					})
				}
			}
		}
	}
	return all
}

// chains is ISA2: two messages one behind the other. Causality is transitive, so both have to synchronize, each in a
// scope of its own.
func chains() (all []made) {
	for where, at := range triples {
		for _, first := range accessesOf("release") {
			for _, second := range accessesOf("release") {
				r0, r1 := first, second
				r0.mode, r1.mode = acquiring(first.mode), acquiring(second.mode)
				right := synchronizes(first, r0, at[0], at[1]) && synchronizes(second, r1, at[1], at[2])
				all = append(all, made{
					name: fmt.Sprintf("ISA2 %s %s %s", where, first.name, second.name), places: at,
					initial: "x=0; f=0; g=0",
					columns: [][]string{
						lines([]string{"st.weak x, 1"}, first.store("f", 1)),
						lines(r0.load("r0", "f"), second.store("g", 1)),
						lines(r1.load("r0", "g"), []string{"ld.weak r1, x"}),
					},
					outcome: `P1:r0 == 1 /\ P2:r0 == 1 /\ P2:r1 == 0`, allowed: !right, axiom: "Causality",
				})
			}
		}
	}
	return all
}

// acquiring is the mode of a load that reads what a store of a mode has written.
func acquiring(mode string) string {
	if len(mode) > len("release") && mode[:len("release")] == "release" {
		return "acquire" + mode[len("release"):]
	}
	return mode
}
