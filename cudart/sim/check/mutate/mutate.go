// Package mutate plants mistakes of synchronization in PTX, one at a time, so that a checker can be judged by those
// that it finds.
//
// The files:
//
//	mutate           mutants, and the classes of mistakes
//	code, flow           a kernel: its lines, branches and data flow; which loads poll, and which words count epochs
//	order            orders, scopes and fences that are weakened
//	wait, epoch      waits, stores of flags, and counts that are wrong
//	packet           data that come in parts, or after their flag
//	barrier, async   barriers, and the waits of asynchronous copies
//	adjacent         barriers that order nothing which others do not
//
// A mutant has as many lines as the original, so that lines of findings are those of both.
package mutate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gpurun/cudart/sim/ptx"
)

// Class is a kind of mistake.
type Class string

// The classes.
const (
	WaitSkipped      Class = "wait skipped"
	PeerMissed       Class = "wait skipped by one thread"
	PacketSkipped    Class = "wait for a packet skipped"
	PacketMissed     Class = "wait for a packet skipped by one thread"
	WrongPeer        Class = "wrong peer's flag"
	BarrierRemoved   Class = "block's barrier removed"
	EpochStuck       Class = "epoch stuck"
	EpochDoubled     Class = "epoch doubled"
	ParityConstant   Class = "slot's parity constant"
	ResetSkipped     Class = "reset skipped"
	LaneDropped      Class = "one lane's store dropped"
	FirstWord        Class = "first word alone checked"
	PacketTorn       Class = "packet torn"
	ReleaseRelaxed   Class = "release to relaxed"
	ReleaseWeak      Class = "release to weak"
	AcquireRelaxed   Class = "acquire to relaxed"
	AcquireWeak      Class = "acquire to weak"
	RelaxedWeak      Class = "relaxed to weak"
	ScopeGPU         Class = ".sys to .gpu"
	ScopeBlock       Class = ".sys or .gpu to .cta"
	FenceRemoved     Class = "fence removed"
	ProxyRemoved     Class = "fence.proxy removed"
	DependencyLost   Class = "griddepcontrol.wait removed"
	BulkWaitRead     Class = "bulk wait to .read"
	AsyncWaitRemoved Class = "wait for copies removed"
	AsyncWaitLate    Class = "wait for copies one group late"
	PhaseFlipped     Class = "mbarrier's phase flipped"
	WarpSyncRemoved  Class = "bar.warp.sync removed"
	MatrixWait       Class = "wgmma's wait or fence removed"
	ClusterRemoved   Class = "cluster's barrier removed"
	FlagFirst        Class = "data stored after the flag"
)

// Mutant is a kernel with one mistake.
type Mutant struct {
	Class Class
	Line  int    // of the mistake
	Was   string // what that line has in the original, without spaces around it
	Now   string // and here
	// Loads are the lines of the loads for whose values the original waits and this does not; nil where it waits for all.
	Loads []int
	// Other is the same mistake in thread 0 of a block, for places where the thread 1 does not get; or nil.
	Other *Mutant

	edits map[int]string
	trap  string // by the threads that the mistake concerns
	needs int    // the line that a run has to get to; 0: that of the mistake
}

// String says what was changed.
func (m *Mutant) String() string {
	return fmt.Sprintf("line %d, %s: %q to %q", m.Line, m.Class, m.Was, m.Now)
}

// ByTimeout reports whether the mistake is in the load of a word that threads write when a wait has timed out.
func (m *Mutant) ByTimeout() bool { return m.needs != 0 }

// Text is the module with the mistake.
func (m *Mutant) Text(original []byte) []byte {
	lines := strings.Split(string(original), "\n")
	for line, text := range m.edits {
		lines[line-1] = text
	}
	return []byte(strings.Join(lines, "\n"))
}

// Trap is the module with a trap in front of the line that the mistake needs, which tells whether a run gets there.
func (m *Mutant) Trap(original []byte) []byte {
	lines := strings.Split(string(original), "\n")
	line := cmp.Or(m.needs, m.Line)
	lines[line-1] = cmp.Or(m.trap, "trap; ") + lines[line-1]
	return []byte(strings.Join(lines, "\n"))
}

// All are the mutants of a kernel, in the order of the classes and lines. No two have the same text.
func All(module string, text []byte, entry string) ([]*Mutant, error) {
	c, err := read(module, text, entry)
	if err != nil {
		return nil, err
	}
	for _, plant := range []func(*code){
		(*code).waits, (*code).barriers, (*code).epochs, (*code).packets, (*code).stores, (*code).orders, (*code).async,
	} {
		plant(c)
	}
	return c.mutants, nil
}

// plant adds a mutant, unless there is one with the same text. The first edit is at the line of the mistake.
func (c *code) plant(class Class, edits ...edit) {
	if m := c.mutant(class, edits...); m != nil && !slices.ContainsFunc(c.mutants, m.same) {
		c.mutants = append(c.mutants, m)
	}
}

// plantByThread adds a mutant whose mistake is one thread's, given what it is of a thread.
func (c *code) plantByThread(class Class, edits func(thread int) []edit) {
	m, other := c.mutant(class, edits(1)...), c.mutant(class, edits(0)...)
	if m != nil && !slices.ContainsFunc(c.mutants, m.same) {
		m.Other, m.trap, other.trap = other, byThread(1, "trap;"), byThread(0, "trap;")
		c.mutants = append(c.mutants, m)
	}
}

// mutant makes a mutant; nil if an instruction spans lines, or nothing is changed.
func (c *code) mutant(class Class, edits ...edit) *Mutant {
	m := &Mutant{Class: class, edits: map[int]string{}}
	for i, e := range edits {
		old := c.lines[e.in.Line-1]
		if done, ok := m.edits[e.in.Line]; ok {
			old = done
		}
		now := strings.Replace(old, e.in.Text+";", e.text, 1)
		if now == old {
			return nil
		}
		m.edits[e.in.Line] = now
		if i == 0 {
			m.Line = e.in.Line
		}
	}
	m.Was, m.Now = strings.TrimSpace(c.lines[m.Line-1]), strings.TrimSpace(m.edits[m.Line])
	return m
}

// same reports whether two mutants have the same text.
func (m *Mutant) same(other *Mutant) bool {
	if len(m.edits) != len(other.edits) {
		return false
	}
	for line, text := range m.edits {
		if there, ok := other.edits[line]; !ok || there != text {
			return false
		}
	}
	return true
}

// edit is an instruction and what stands in its place, with its semicolon.
type edit struct {
	in   *ptx.Inst
	text string
}
