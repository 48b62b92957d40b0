package litmus

import "fmt"

// proxyWay is a proxy with the instructions that use it. Tests read x, or another address of the same memory, y.
type proxyWay struct {
	name, store, load string
	x, y              string // locations
}

var proxyWays = []proxyWay{
	{"generic", "st", "ld", "x", "y"},
	{"surface", "sust", "suld", "sx", "sy"},
	{"texture", "", "tld", "tx", "ty"},
	{"constant", "", "cold", "cx", "cy"},
}

// fenceAt is a proxy fence of the writer, or of the reader.
type fenceAt struct {
	proxy  string
	reader bool
}

func (f fenceAt) String() string {
	if f.reader {
		return "read:" + f.proxy
	}
	return "write:" + f.proxy
}

// proxyTests are messages that synchronize, with data by other proxies and fences at all places. The old data are
// forbidden if the way of the data is preserved, which is decided by crosses.
func proxyTests() (all []made) {
	for where, at := range map[string][]place{"block": {{0, 0}, {0, 0}}, "gpu": {{0, 0}, {1, 0}}} {
		for _, w := range proxyWays[:2] {
			for _, r := range proxyWays {
				for _, aliased := range []bool{false, true} {
					kinds := []string{"alias"}
					for _, p := range []proxyWay{w, r} {
						if p.name != "generic" && (len(kinds) == 1 || kinds[1] != p.name) {
							kinds = append(kinds, p.name)
						}
					}
					for _, fences := range fenceSequences(kinds) {
						all = append(all, proxyTest(where, at, w, r, aliased, fences))
					}
				}
			}
		}
	}
	return all
}

// fenceSequences are up to three fences one behind the other: those of the writer first.
func fenceSequences(kinds []string) [][]fenceAt {
	all := [][]fenceAt{nil}
	for begin, length := 0, 0; length < 3; length++ {
		end := len(all)
		for _, before := range all[begin:end] {
			for _, reader := range []bool{false, true} {
				if len(before) > 0 && before[len(before)-1].reader && !reader {
					continue
				}
				for _, k := range kinds {
					all = append(all, append(before[:len(before):len(before)], fenceAt{k, reader}))
				}
			}
		}
		begin = end
	}
	return all
}

func proxyTest(where string, at []place, w, r proxyWay, aliased bool, fences []fenceAt) made {
	writer := []string{w.store + ".weak " + w.x + ", 1"}
	reader := []string{"ld.acquire.sys r0, f"}
	for _, f := range fences {
		if f.reader {
			reader = append(reader, "fence.proxy."+f.proxy)
		} else {
			writer = append(writer, "fence.proxy."+f.proxy)
		}
	}
	from := r.x
	if aliased {
		from = r.y
	}
	return made{
		name:   fmt.Sprintf("MP of proxies %s %s %s %v %v", where, w.name, r.name, aliased, fences),
		places: at,
		initial: "x=0; f=0; sx @ surface aliases x; tx @ texture aliases x; cx @ constant aliases x; " +
			"y @ generic aliases x; sy @ surface aliases y; ty @ texture aliases y; cy @ constant aliases y",
		columns: [][]string{
			append(writer, "st.release.sys f, 1"), append(reader, r.load+".weak r1, "+from),
		},
		outcome: `P1:r0 == 1 /\ P1:r1 == 0`, allowed: !crosses(w.name, r.name, at[0] == at[1], aliased, fences),
		axiom: "Causality",
	}
}

// crosses decides whether data come through, by walking along the way of the message. Data leave the writer's proxy at
// a fence of that proxy in the writer's CTA, change the address at a fence of aliases, and enter the reader's proxy at
// a fence of that proxy in the reader's CTA, in this order. Without a change of address, one proxy in one CTA needs no
// fence.
func crosses(from, to string, sameCTA, aliased bool, fences []fenceAt) bool {
	if !aliased && from == to && sameCTA {
		return true
	}
	var steps []string
	if from != "generic" {
		steps = append(steps, "leave")
	}
	if aliased {
		steps = append(steps, "alias")
	}
	if to != "generic" {
		steps = append(steps, "enter")
	}
	for _, f := range fences {
		if len(steps) == 0 {
			break
		}
		done := false
		switch steps[0] {
		case "leave":
			done = f.proxy == from && (!f.reader || sameCTA)
		case "alias":
			done = f.proxy == "alias"
		case "enter":
			done = f.proxy == to && (f.reader || sameCTA)
		}
		if done {
			steps = steps[1:]
		}
	}
	return len(steps) == 0
}
