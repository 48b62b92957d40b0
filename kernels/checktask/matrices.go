package checktask

import (
	"gpurun/cudart"
	"gpurun/cudart/sim/check"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
)

// matrices is where the buffers of products lie in symmetric memory. The calls share them.
type matrices struct {
	layout
	call    matmul.Call // its offsets
	sizes   matmul.Buffers
	words   int64 // bytes of counters and words of progress, which begin as zeros
	staging int64 // bytes
}

// layOut makes room for all calls, among so many ranks.
func (p *Products) layOut(world, sms int) (l matrices, err error) {
	l.take(collective.SignalPadBytes)
	l.packetBytes, l.mailboxBytes = collective.PacketAreaBytes(p.blocks(sms)), collective.MailboxAreaBytes(p.blocks(sms))
	l.packets, l.mailboxes = l.take(l.packetBytes), l.take(l.mailboxBytes)
	l.scratchBytes = p.most(p.Algorithm.Scratch, world)
	l.scratch = l.take(l.scratchBytes)
	l.call.Counters = l.take(4 * p.most(p.Algorithm.Counters, world))
	l.call.Progress = l.take(matmul.ProgressBytes(world, matmul.MaxSplits))
	l.words = l.total - l.call.Counters
	l.staging = p.most(p.Algorithm.Staging, world)
	l.call.Staging = l.take(l.staging)
	for _, problem := range p.Problems {
		b := p.Operation.Buffers(problem, world)
		l.sizes = matmul.Buffers{
			A: max(l.sizes.A, b.A), AFull: max(l.sizes.AFull, b.AFull), B: max(l.sizes.B, b.B), C: max(l.sizes.C, b.C),
		}
		if p.Algorithm.Areas == nil {
			continue
		}
		areas, err := p.Algorithm.Areas(problem, world, sms)
		if err != nil {
			return l, err
		}
		l.enlarge(areas)
	}
	l.call.A, l.call.AFull = l.take(l.sizes.A), l.take(l.sizes.AFull)
	l.call.B, l.call.C = l.take(l.sizes.B), l.take(l.sizes.C)
	l.placeAreas()
	return l, nil
}

// blocks bounds the grids on devices with so many multiprocessors.
func (p *Products) blocks(sms int) int {
	if p.MaxBlocks > 0 {
		return min(sms, p.MaxBlocks)
	}
	return sms
}

// most is the largest value for any problem of what an algorithm needs; without a function it needs none.
func (p *Products) most(of func(matmul.Problem, int) int64, world int) (most int64) {
	for _, problem := range p.Problems {
		if of != nil {
			most = max(most, of(problem, world))
		}
	}
	return most
}

// name gives the parts of a rank's memory the names by which findings call them.
func (l *matrices) name(r *check.Rank, base cudart.DevicePtr) {
	l.nameParts(r, base, []part{
		{"signal pad", 0, collective.SignalPadBytes},
		{"packets", l.packets, l.packetBytes},
		{"mailboxes", l.mailboxes, l.mailboxBytes},
		{"scratch", l.scratch, l.scratchBytes},
		{"counters", l.call.Counters, l.call.Progress - l.call.Counters},
		{"progress", l.call.Progress, l.call.Staging - l.call.Progress},
		{"staging", l.call.Staging, l.staging},
		{"A", l.call.A, l.sizes.A},
		{"gathered A", l.call.AFull, l.sizes.AFull},
		{"B", l.call.B, l.sizes.B},
		{"C", l.call.C, l.sizes.C},
	})
}
