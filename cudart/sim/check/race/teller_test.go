package race

import (
	"fmt"
	"strings"
)

// A story is a line for each step of a thread. Threads have names such as 0.1: rank 0, block 1. A name with a letter
// behind it is another warp of the block. Words of one letter are places in memory, of 4 bytes each.
//
//	0.0 writes x            a weak write; "reads x" likewise
//	0.0 release.gpu f       a releasing write
//	0.0 relaxed.gpu f       a relaxed write
//	0.0 acquire.gpu f       an acquiring read
//	0.0 polls.gpu f         a relaxed read
//	0.0 adds.gpu f          a relaxed atomic operation; adds.acq_rel.gpu is an acquiring and releasing one
//	0.0 fence.gpu           a fence that acquires and releases
//	0.0 0.0b bar            the block's barrier of these threads; 0.0+ arrives and does not wait
type teller struct {
	d       *Detector
	memory  Memory
	threads map[string]*Thread
}

func (s *teller) thread(name string) *Thread {
	if t := s.threads[name]; t != nil {
		return t
	}
	var at Place
	if _, err := fmt.Sscanf(name, "%d.%d", &at.Rank, &at.Block); err != nil {
		panic(name)
	}
	at.Launch = 1 + at.Rank
	s.threads[name] = s.d.NewThread(name, at, nil)
	return s.threads[name]
}

// operations are the words of a story without their scope.
var operations = map[string]Operation{
	"writes": {Kind: Write}, "reads": {Kind: Read}, "wide": {Kind: Write},
	"release": {Kind: Write, Release: true}, "relaxed": {Kind: Write}, "acquire": {Kind: Read, Acquire: true},
	"polls": {Kind: Read}, "adds": {Kind: Update}, "adds.acq_rel": {Kind: Update, Acquire: true, Release: true},
	"fence": {Kind: Fence, Acquire: true, Release: true},
}

func (s *teller) tell(number int, step string) {
	words := strings.Fields(step)
	if words[len(words)-1] == "bar" {
		var all []*Thread
		var b Barrier
		for _, name := range words[:len(words)-1] {
			name, arrives := strings.CutSuffix(name, "+")
			s.d.Arrive(&b, s.thread(name))
			if !arrives {
				all = append(all, s.thread(name))
			}
		}
		s.d.Release(&b, all)
		return
	}
	what, scope := words[1], NoScope
	for i, name := range scopeNames {
		if before, ok := strings.CutSuffix(what, "."+name); ok {
			what, scope = before, Scope(i)
		}
	}
	op, ok := operations[what]
	if !ok {
		panic(step)
	}
	op.Scope, op.Bytes, op.Site = scope, 4, number
	if op.Kind == Fence {
		s.d.Fence(s.thread(words[0]), &op)
		return
	}
	address := uint64(words[2][0]) * 8
	if what == "wide" {
		op.Bytes = 8
	}
	s.d.Access(s.thread(words[0]), &s.memory, &op, []uint64{address}, 1)
}

// races tells a story and returns the races, by the numbers of the two steps.
func races(story string) []string {
	s := &teller{d: New(), threads: map[string]*Thread{}}
	for i, step := range strings.Split(strings.TrimSpace(story), "\n") {
		s.tell(i+1, step)
	}
	var all []string
	for _, f := range s.d.Findings() {
		text := fmt.Sprintf("%v-%v %s", f.First.Op.Site, f.Second.Op.Site, f.Cause)
		if f.Flag != nil {
			text += fmt.Sprintf(" by %v-%v", f.Flag.Release.Op.Site, f.Flag.Acquire.Op.Site)
		}
		if f.Hardware {
			text += ", but hardware"
		}
		all = append(all, text)
	}
	return all
}
