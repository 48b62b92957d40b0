package check

import (
	"errors"
	"fmt"
	"strings"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// Misaligned is an access to an address that is no multiple of its size.
const Misaligned = finding.Misaligned

const beyondShared = "beyond the end of shared memory"

// noteFault makes a finding of a fault that an access to memory has caused. Other faults stay errors alone.
func (o *observer) noteFault(err error) {
	var fault *exec.Fault
	if !errors.As(err, &fault) || fault.Memory == nil {
		return
	}
	m, lane := fault.Memory, fault.Thread%32
	at := access(race.Side{
		Thread: o.actor(m.Place.Block, m.Place.Warp), Op: &race.Operation{Kind: kindOf(fault.Site), Site: fault.Site},
	})
	out := Finding{Sides: []Access{at}, Bytes: m.Bytes, Where: o.run.memory.describe(m.Address)}
	var memory any
	if exec.IsShared(m.Address) {
		memory = o.sharedAt(m.Place, m.Address).Name
		out.Where = o.run.where(memory, m.Address)
	}
	in, event := o.run.memory.ever(m.Address), o.missingPeer(m)
	switch {
	case fault.Kind == exec.MisalignedAddress:
		out.Kind, out.Cause = Misaligned, fmt.Sprintf("the address is no multiple of %d", m.Alignment)
		out.Advice = fmt.Sprintf("align the address to %d bytes, or access smaller elements", m.Alignment)
	case event != nil:
		out.Kind, out.Cause, out.Advice = Freed, lifeEvents[*event].cause, lifeEvents[*event].advice
	case memory != nil:
		out.Kind, out.Cause = OutOfBounds, beyondShared
		out.Advice = "give the launch more shared memory, or compare the index with its size"
	case in != nil:
		o.run.noteBounds(beyondAllocation, at, lane, m.Address, m.Bytes)
		return
	default:
		o.run.noteBounds(inNoAllocation, at, lane, m.Address, m.Bytes)
		return
	}
	o.run.note(out, lane, m.Address)
}

// missingPeer says why the block whose shared memory is accessed has none, or nil.
func (o *observer) missingPeer(m *exec.FaultyAccess) *lifeEvent {
	rank, _ := exec.SharedPlace(m.Address)
	if !exec.IsShared(m.Address) || rank == m.Place.ClusterRank {
		return nil
	}
	event := blockBegins
	if b := o.members[[2]int{m.Place.Cluster, rank}]; b != nil {
		if !b.ended {
			return nil
		}
		event = blockEnds
	}
	return &event
}

// kindOf is what an instruction does to memory, by its name.
func kindOf(s exec.Site) race.Kind {
	switch name, _, _ := strings.Cut(s.Instruction().Opcode, "."); name {
	case "ld":
		return race.Read
	case "st":
		return race.Write
	}
	return race.Update
}
