package check

import (
	"fmt"
	"strings"

	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// finding describes a race.
func (r *run) finding(f *race.Finding) Finding {
	first, second := access(f.First), access(f.Second)
	out := Finding{
		Kind: Race, Cause: f.Cause.String(), Sides: []Access{first, second}, Bytes: f.Second.Op.Bytes, Count: f.Count,
	}
	if exec.IsShared(f.Address) {
		out.Where = fmt.Sprintf("the shared memory of rank %d's block %d at +%#x", second.Rank, second.Block,
			f.Address&(1<<exec.RegionShift-1))
	} else {
		out.Where = r.memory.describe(f.Address)
	}
	if f.Flag != nil {
		out.Flag = &[2]Access{access(f.Flag.Release), access(f.Flag.Acquire)}
		out.Advice = widen(out.Flag[0], out.Flag[1])
	} else if f.Cause == race.NarrowScope {
		out.Advice = widen(first, second)
	}
	return out
}

func access(s race.Side) Access {
	a := Access{Kind: s.Op.Kind, Scope: s.Op.Scope}
	if actor, ok := s.Thread.(Actor); ok {
		a.Actor = actor
	}
	switch site := s.Op.Site.(type) {
	case exec.Site:
		in := site.Instruction()
		a.Text, a.Module, a.Line, a.Source = site.Text(), in.Module, in.Line, in.Source
	case string:
		a.Text = site
	}
	return a
}

// String is the finding as a block of lines.
func (f Finding) String() string {
	if f.Kind != Race {
		return f.otherText()
	}
	var b strings.Builder
	first, second := f.Sides[0], f.Sides[1]
	fmt.Fprintf(&b, "RACE  %s, %d bytes of %s\n", relation(first.Kind, second.Kind), f.Bytes, f.Where)
	fmt.Fprintf(&b, "  first   %v\n  then    %v\n", first, second)
	if f.Flag != nil {
		fmt.Fprintf(&b, "  the flag between them:\n  release %v\n  acquire %v\n", f.Flag[0], f.Flag[1])
	}
	fmt.Fprintf(&b, "  %s\n", f.Cause)
	if f.Advice != "" {
		fmt.Fprintf(&b, "  %s\n", f.Advice)
	}
	return b.String()
}

// relation names a race by what happened last.
func relation(first, second race.Kind) string {
	names := map[race.Kind]string{race.Read: "read", race.Write: "write", race.Update: "atomic operation"}
	return names[second] + " after " + names[first]
}

// widen says which scopes are too narrow for two accesses.
func widen(a, b Access) string {
	need, where := race.GPUScope, "another block"
	if a.Rank != b.Rank {
		need, where = race.SystemScope, "another GPU"
	}
	var narrow []string
	for _, x := range []Access{a, b} {
		if name := "." + x.Scope.String(); x.Scope < need && (len(narrow) == 0 || narrow[0] != name) {
			narrow = append(narrow, name)
		}
	}
	return fmt.Sprintf("%s does not reach %s: use .%s", strings.Join(narrow, " and "), where, need)
}

// String is one side: "rank 0 block 3 warp 1 reads   ld.global.u32 ...   mine.cu:12 (PTX 88)".
func (a Access) String() string {
	if a.Kernel == "" {
		return fmt.Sprintf("rank %d %s %s   %s", a.Rank, a.Command, a.Kind, a.Text)
	}
	at := fmt.Sprintf("%s:%d", a.Module, a.Line)
	if a.Source != "" {
		at = fmt.Sprintf("%s (%s)", a.Source, at)
	}
	return fmt.Sprintf("rank %d block %d warp %d %s   %s   %s", a.Rank, a.Block, a.Warp, a.Kind, a.Text, at)
}
