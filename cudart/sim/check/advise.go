package check

import (
	"fmt"
	"strings"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// finding describes a race.
func (r *run) finding(f *race.Finding) Finding {
	first, second := access(f.First), access(f.Second)
	if f, ok := r.lifeFinding(f, first, second); ok {
		return f
	}
	out := Finding{
		Kind: Race, Cause: f.Cause.String(), Sides: []Access{first, second}, Bytes: f.Second.Op.Bytes, Count: f.Count,
	}
	out.Where = r.where(f.Memory, f.Address)
	if f.Flag != nil {
		out.Flag = &[2]Access{access(f.Flag.Release), access(f.Flag.Acquire)}
		out.Advice = widen(out.Flag[0], out.Flag[1])
	} else if f.Cause == race.NarrowScope {
		out.Advice = widen(first, second)
	} else if f.Cause == race.UnorderedLanes {
		out.Advice = adviseLanes(f)
	} else {
		out.Advice = adviseAsync(f, first, second)
		if f.Cause == race.NoOrder {
			r.explainPrior(&out)
		}
	}
	out.Note = f.Hardware
	if f.SameValue {
		out.Cause, out.Advice, out.Flag, out.Note = finding.SameValue, "", nil, true
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
		a = sideAt(a.Actor, site, a.Kind)
		a.Scope = s.Op.Scope
	case freeingSite:
		a = sideAt(a.Actor, site.Site, a.Kind)
		a.Text = "free"
	case string:
		a.Text = site
	case commandSite:
		a.Text = site.text
	case lifeEvent:
		a.Text = site.String()
	}
	return a
}

// widen says which scopes are too narrow for two accesses, and which instructions have wider ones.
func widen(a, b Access) string {
	need, where := race.GPUScope, "another block"
	switch {
	case a.Rank != b.Rank:
		need, where = race.SystemScope, "another GPU"
	case a.Launch == b.Launch && a.Cluster == b.Cluster && a.Block != b.Block:
		need, where = race.ClusterScope, "another block of the cluster"
	}
	var narrow, wide []string
	for _, x := range []Access{a, b} {
		if x.Scope >= need {
			continue
		}
		if name := "." + x.Scope.String(); len(narrow) == 0 || narrow[0] != name {
			narrow = append(narrow, name)
		}
		if use := widened(x, need); len(wide) == 0 || wide[0] != use {
			wide = append(wide, use)
		}
	}
	return fmt.Sprintf("%s does not reach %s: use %s", strings.Join(narrow, " and "), where, strings.Join(wide, " and "))
}

// widened is the beginning of the instruction, up to its scope, with another scope.
func widened(a Access, scope race.Scope) string {
	parts := strings.Split(a.Opcode(), ".")
	for i, part := range parts {
		if s, ok := scopes[part]; ok && s == a.Scope {
			return strings.Join(append(parts[:i:i], scope.String()), ".")
		}
	}
	return "." + scope.String()
}
