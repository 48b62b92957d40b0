package litmus

import "fmt"

// atomicTests: two atomic operations do not both begin with the initial value if and only if each scope includes the
// other thread (Atomicity).
func atomicTests() (all []made) {
	for where, at := range pairs {
		for _, s := range allScopes {
			for _, u := range allScopes {
				lost := !within(s, at[0], at[1]) || !within(u, at[0], at[1])
				for _, op := range []struct{ name, values string }{
					{"add", "1"}, {"cas", "0, 1"}, {"exch", "1"}, {"max", "1"}, {"or", "1"}, {"inc", "9"},
				} {
					atom := func(scope string) []string {
						return []string{fmt.Sprintf("atom.relaxed.%s.%s r0, x, %s", scope, op.name, op.values)}
					}
					all = append(all, made{
						name: fmt.Sprintf("atom.%s %s %s %s", op.name, where, s, u), places: at, initial: "x=0",
						columns: [][]string{atom(s), atom(u)},
						outcome: `P0:r0 == 0 /\ P1:r0 == 0`, allowed: lost, axiom: "Atomicity", racy: lost, racesKnown: true,
					})
				}
				all = append(all, made{
					name: fmt.Sprintf("red.add %s %s %s", where, s, u), places: at, initial: "x=0",
					columns: [][]string{{"red.relaxed." + s + ".add x, 1"}, {"red.relaxed." + u + ".add x, 1"}},
					outcome: "x != 2", allowed: lost, axiom: "Atomicity", racy: lost, racesKnown: true,
				})
			}
		}
	}
	return all
}

// passedOn are messages by way of an atomic operation, which passes on what it has read: the reader of its result
// acquires what the first thread released, if all three are morally strong (Causality). A store breaks
// the chain. With branches, the chain decides the race as well.
func passedOn() (all []made) {
	for where, at := range triples {
		for _, s := range allScopes {
			chained := within(s, at[0], at[1]) && within(s, at[1], at[2]) && within(s, at[0], at[2])
			for name, middle := range map[string][]string{
				"atom":  {"atom.relaxed." + s + ".add r0, f, 1"},
				"store": {"ld.relaxed." + s + " r0, f", "bne r0, 1, LC00", "st.relaxed." + s + " f, 2", "LC00:"},
			} {
				right := chained && name == "atom"
				all = append(all, made{
					name: fmt.Sprintf("MP by way of %s %s %s", name, where, s), places: at, initial: "x=0; f=0",
					columns: [][]string{
						{"st.weak x, 1", "st.release." + s + " f, 1"},
						middle,
						{"ld.acquire." + s + " r0, f", "bne r0, 2, LC00", "ld.weak r1, x", "LC00:"},
					},
					outcome: `P1:r0 == 1 /\ P2:r0 == 2 /\ P2:r1 == 0`, allowed: !right, axiom: "Causality",
					racy: !right, racesKnown: true,
				})
			}
		}
	}
	return all
}
