package kernelfile

import "slices"

// DependsOnCall reports whether something depends on the number of the call that is no number among the parameters: a
// shape, an address, a table, a condition, a fill, a copy, or a buffer that rotates. Then the caller binds every call
// anew, with the addresses of the copies whose turn it is. Otherwise it binds once, and writes [BoundStep.Patches]
// for each call.
func (f *File) DependsOnCall() bool {
	for _, b := range f.Buffers {
		if b.Rotate > 1 {
			return true
		}
	}
	for i := range f.Steps {
		if f.Steps[i].dependsOnCall() {
			return true
		}
	}
	return false
}

func (s *Step) dependsOnCall() bool {
	all := []*Expr{s.When}
	if l := s.Launch; l != nil {
		all = append(all, l.Resident, &l.Shared)
		all = append(all, pointersTo(l.Grid, l.Block, l.Cluster)...)
		for i := range l.Args {
			all = append(all, l.Args[i].fixed(true)...)
		}
	}
	if f := s.Fill; f != nil {
		all = append(all, &f.Value, &f.Offset, &f.Bytes)
	}
	if c := s.Copy; c != nil {
		all = append(all, c.FromRank, c.ToRank, &c.FromOffset, &c.ToOffset, &c.Bytes)
	}
	for _, x := range all {
		if x != nil && x.names.has(nameCall) {
			return true
		}
	}
	return false
}

// fixed are the expressions of an argument that no Patch changes. Numbers are patched among the parameters, not in
// tables.
func (a *Arg) fixed(patched bool) []*Expr {
	all := []*Expr{a.Rank, a.Offset, a.Entries}
	if !patched {
		all = append(all, &a.Value)
	}
	for i := range a.Members {
		all = append(all, a.Members[i].fixed(patched && a.Kind == Struct)...)
	}
	if m := a.Map; m != nil {
		all = append(all, &m.Swizzle, &m.L2)
		all = append(all, pointersTo(m.Sizes, m.Strides, m.Box, m.Steps)...)
	}
	return all
}

func pointersTo(lists ...[]Expr) []*Expr {
	var all []*Expr
	for _, list := range lists {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// HasPatches reports whether a number among the parameters depends on the number of the call.
func (f *File) HasPatches() bool {
	for _, l := range f.Launches() {
		for i := range l.Args {
			if l.Args[i].patched() {
				return true
			}
		}
	}
	return false
}

func (a *Arg) patched() bool {
	for i := range a.Members {
		if a.Members[i].patched() {
			return true
		}
	}
	return a.Kind == Number && a.Value.names.has(nameCall)
}

// BeginsEarly reports whether the first kernel of a call may begin while the call before it still runs, because its
// launch is programmatic and nothing comes before it in the stream.
func (f *File) BeginsEarly() bool {
	if slices.ContainsFunc(f.Buffers, func(b Buffer) bool { return b.Reset }) {
		return false
	}
	for i := range f.Steps {
		s := &f.Steps[i]
		if s.Launch != nil && s.Launch.PDL {
			return true
		}
		if s.When == nil {
			return false
		}
	}
	return false
}

// ReferenceDependsOnCall reports whether the reference kernel depends on the number of the call that it computes.
func (f *File) ReferenceDependsOnCall() bool {
	return f.Reference != nil && (f.Reference.dependsOnCall() || slices.ContainsFunc(f.Reference.Launch.Args,
		func(a Arg) bool { return a.patched() }))
}

// TakesBlocks reports whether a grid depends on the number of blocks that the user asks for.
func (f *File) TakesBlocks() bool {
	for _, l := range f.Launches() {
		for i := range l.Grid {
			if l.Grid[i].names.has(nameBlocks) {
				return true
			}
		}
	}
	return false
}
