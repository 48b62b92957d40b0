package checktask

import (
	"gpurun/cudart"
	"gpurun/cudart/sim/check"
	"gpurun/kernels/collective"
)

// layout is where buffers lie, in bytes from the base of a rank's symmetric memory, which begins with the signal pad.
type layout struct {
	packets, packetBytes    int64
	mailboxes, mailboxBytes int64
	scratch, scratchBytes   int64
	input, output           int64
	inputBytes, outputBytes int64
	areas                   []collective.PlacedArea
	total                   int64
}

// tokenBytes is the size of what a rank of a barrier has to tell.
const tokenBytes = 8

// layOut makes room for all calls, among so many ranks.
func (c *Calls) layOut(world, sms int) (l layout, err error) {
	blocks := sms
	if c.MaxBlocks > 0 {
		blocks = min(blocks, c.MaxBlocks)
	}
	l.take(collective.SignalPadBytes)
	if c.needs(func(n collective.Needs) bool { return n.Packets }) {
		l.packetBytes = collective.PacketAreaBytes(blocks)
	}
	if c.needs(func(n collective.Needs) bool { return n.Mailboxes }) {
		l.mailboxBytes = collective.MailboxAreaBytes(blocks)
	}
	l.packets, l.mailboxes = l.take(l.packetBytes), l.take(l.mailboxBytes)
	part := c.largest() * int64(c.DType.Size)
	for _, a := range c.algorithms() {
		if f := a.ScratchBytes; f != nil {
			l.scratchBytes = max(l.scratchBytes, f(world, part))
		}
	}
	l.scratch = l.take(l.scratchBytes)
	l.inputBytes, l.outputBytes = part*c.Shape.Send.Of(world), part*c.Shape.Recv.Of(world)
	switch {
	case c.Shape.Empty:
		l.inputBytes, l.outputBytes = tokenBytes, tokenBytes*int64(world)
	case c.InPlace:
		l.outputBytes = max(l.inputBytes, l.outputBytes)
		l.inputBytes = 0
	}
	l.input, l.output = l.take(c.Skew+l.inputBytes)+c.Skew, l.take(c.Skew+l.outputBytes)+c.Skew
	return l, l.takeAreas(c, world, sms)
}

// take makes room for so many bytes at the end, aligned as by cudaMalloc, and returns where they begin.
func (l *layout) take(bytes int64) (begin int64) {
	const alignment = 256
	begin = l.total
	l.total += (bytes + alignment - 1) / alignment * alignment
	return begin
}

// takeAreas makes room for the algorithm's own memory, as large as the largest call needs it.
func (l *layout) takeAreas(c *Calls, world, sms int) error {
	if c.Algorithm.Areas == nil {
		return nil
	}
	for _, count := range c.Counts {
		areas, err := c.Algorithm.Areas(world, sms, c.callOf(count))
		if err != nil {
			return err
		}
		l.enlarge(areas)
	}
	l.placeAreas()
	return nil
}

// enlarge makes the areas at least as large as those of another call.
func (l *layout) enlarge(areas []collective.Area) {
	for i, area := range areas {
		if i == len(l.areas) {
			l.areas = append(l.areas, collective.PlacedArea{Area: area})
		}
		l.areas[i].Bytes = max(l.areas[i].Bytes, area.Bytes)
	}
}

func (l *layout) placeAreas() {
	for i := range l.areas {
		if a := &l.areas[i]; !a.Host {
			a.Offset = l.take(a.Total())
		}
	}
}

// name gives the parts of a rank's memory the names by which findings call them.
func (l *layout) name(r *check.Rank, base cudart.DevicePtr) {
	buffer := "output"
	if l.inputBytes == 0 {
		buffer = "buffer"
	}
	l.nameParts(r, base, []part{
		{"signal pad", 0, collective.SignalPadBytes},
		{"packets", l.packets, l.packetBytes},
		{"mailboxes", l.mailboxes, l.mailboxBytes},
		{"scratch", l.scratch, l.scratchBytes},
		{"input", l.input, l.inputBytes},
		{buffer, l.output, l.outputBytes},
	})
}

// part is a part of a rank's memory.
type part struct {
	name      string
	at, bytes int64
}

// nameParts names parts and the areas of the algorithm.
func (l *layout) nameParts(r *check.Rank, base cudart.DevicePtr, parts []part) {
	for _, p := range parts {
		r.Name(base+cudart.DevicePtr(p.at), p.bytes, p.name)
	}
	for _, a := range l.areas {
		if !a.Host {
			nameArea(r, base, a)
		}
	}
}

// nameArea names an area, copy by copy: what lies between copies belongs to nobody.
func nameArea(r *check.Rank, base cudart.DevicePtr, a collective.PlacedArea) {
	at := base + cudart.DevicePtr(a.Offset)
	if a.Count() == 1 {
		r.Name(at, a.Bytes, a.Name)
		return
	}
	for n := range a.Count() {
		begin := at + cudart.DevicePtr(n*a.Step())
		r.NameCopy(begin, a.Bytes, a.Name, int(n))
		if n+1 < a.Count() {
			r.LeaveGap(begin+cudart.DevicePtr(a.Bytes), a.Step()-a.Bytes)
		}
	}
}
