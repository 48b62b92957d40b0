// Package faults makes a job go wrong on purpose, in every way that the fault matrix names, and observes how it ends:
//
//	fault      what goes wrong: a signal, a limit, a byte on the wire (faults are in files of their own)
//	victim     the process or node that it hits
//	moment     how far the job has come by then
//
// A cell is one of each. A cell that means something has a row in expected; the others have a reason in meaningless.
// Only tests import this package.
package faults

import (
	"hash/fnv"
	"slices"
)

// Victim is the process or node that a fault hits.
type Victim string

// The victims. Node 0 serves the rendezvous.
const (
	Worker    Victim = "worker"
	Guard     Victim = "guard"
	Agent     Victim = "agent"
	Node0     Victim = "node 0"
	OtherNode Victim = "other node"
)

// Victims lists all.
func Victims() []Victim { return []Victim{Worker, Guard, Agent, Node0, OtherNode} }

// nodes are the victims in jobs of two nodes.
func nodes() []Victim { return []Victim{Node0, OtherNode} }

// node is the victim's node.
func (v Victim) node() int {
	if v == OtherNode {
		return 1
	}
	return 0
}

// Moment is how far a job has come when the fault strikes.
type Moment string

// The moments.
const (
	BeforeJoin   Moment = "before join"
	InCollective Moment = "in the collective"
	AtEnd        Moment = "at the end"
)

// Moments lists all.
func Moments() []Moment { return []Moment{BeforeJoin, InCollective, AtEnd} }

// Cell is one cell of the matrix.
type Cell struct {
	Fault  string
	Victim Victim
	Moment Moment
}

func (c Cell) String() string { return c.Fault + ", " + string(c.Victim) + ", " + string(c.Moment) }

// Fault is one way in which a job goes wrong.
type Fault struct {
	Name string
	// Does says what happens, in a sentence of the page.
	Does string
	// Job is the job of a cell; nil: the one that the victim and the moment need.
	Job func(Cell) Job
	// Strike hits the victim of a scene that has come to its moment. It returns when the fault is there. A fault that the
	// job survives ends it, see Scene.End. nil: the job has the fault from its start.
	Strike func(*Scene) error
	// Alone is true of a fault that other jobs on the machine notice: its cells run one at a time.
	Alone bool
	// Missing says what this machine lacks to make the fault; nil or "": nothing.
	Missing func(*Room) string
}

// Faults lists all kinds, in the order of the table.
func Faults() []Fault {
	return slices.Concat(signalFaults(), programFaults(), wireFaults(), outputFaults(), fileFaults(), limitFaults(),
		networkFaults(), clockFaults())
}

// Cells lists the whole matrix, those that mean nothing included.
func Cells() []Cell {
	var all []Cell
	for _, f := range Faults() {
		for _, v := range Victims() {
			for _, m := range Moments() {
				all = append(all, Cell{f.Name, v, m})
			}
		}
	}
	return all
}

// Chosen reports whether a cell is among one in n of all, by its name.
func (c Cell) Chosen(n uint32) bool {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(c.String())) // it never fails
	return sum.Sum32()%n == 0
}
