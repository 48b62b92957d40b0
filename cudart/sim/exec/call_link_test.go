package exec

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Units have the same number if each may call the other, through others too.
func TestRecursions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 2 + r.IntN(9)
		l, calls := &linker{byName: map[string]*unit{}}, make([][]bool, n)
		for i := range n {
			u := &unit{callee: &callee{name: fmt.Sprint(i)}, index: i}
			l.units, l.byName[u.name], calls[i] = append(l.units, u), u, make([]bool, n)
		}
		call := func(from, to int) {
			site := &callSite{targets: map[uint64]*callee{0: l.units[to].callee}}
			l.units[from].sites, calls[from][to] = append(l.units[from].sites, site), true
		}
		for i := 1; i < n; i++ {
			call(r.IntN(i), i) // all can be reached from the first
		}
		for range r.IntN(n) {
			call(1+r.IntN(n-1), 1+r.IntN(n-1))
		}
		for k := range n { // Floyd and Warshall
			for i := range n {
				for j := range n {
					calls[i][j] = calls[i][j] || calls[i][k] && calls[k][j]
				}
			}
		}
		got := l.recursions()
		for i := range n {
			for j := range n {
				if want := i == j || calls[i][j] && calls[j][i]; (got[i] == got[j]) != want {
					t.Fatalf("units %d and %d of %d have numbers %d and %d; want the same: %t", i, j, n, got[i], got[j], want)
				}
			}
		}
	}
}

// The time to link does not grow faster than the number of functions: a chain of many calls is no matter.
func TestLongChainOfFunctionsCompiles(t *testing.T) {
	const functions = 20000
	text := ".version 8.0\n.target sm_80\n.address_size 64\n"
	var body []byte
	for i := functions - 1; i >= 0; i-- {
		next := ""
		if i < functions-1 {
			next = fmt.Sprintf("call f%d; ", i+1)
		}
		body = fmt.Appendf(body, ".func f%d { %sret; }\n", i, next)
	}
	text += string(body) + ".visible .entry run() { call f0; ret; }\n"
	k, err := compileText(t, text).Kernel("run")
	if err != nil || len(k.units) != functions+1 {
		t.Fatal(err)
	}
}
