package workload

import "gpurun/kernels/collective"

// Layout is where a rank's buffers lie, in bytes from the base of the symmetric memory. The
// part that all algorithms need shared comes first: the signal pad, the packets, the mailboxes
// and the scratch. The other buffers may lie elsewhere: see MoveBuffers.
type Layout struct {
	Packets, PacketBytes             int64
	Mailboxes, MailboxBytes, Scratch int64
	Shared                           int64
	send, Recv                       int64
	weight, residual, residualOut    int64
	CopyFrom, CopyTo                 int64 // see withCopies
	Pairs                            PairLayout
	Products                         ProductLayout
	// Areas are those of the algorithms: see collective.Comm.Areas.
	Areas map[any][]collective.PlacedArea
	Total int64
}

// TokenBytes is the size of a token, by which a rank proves that it has reached a barrier.
const TokenBytes = 8

// Layout makes room for the cases, and for what else the job measures.
func (p Plan) Layout(caps Capabilities) Layout {
	if p.job.Products != nil {
		return layOutProducts(p.Products, p.world, caps.ProductSMs()).
			withAreas(areasOfProducts(p.Products.Cases, p.world, caps.LeastSMs()))
	}
	l := layOut(p.Cases, caps.LeastSMs()).withAreas(areasOf(p.Cases, caps.LeastSMs()))
	if p.NoCeiling(caps) == "" {
		l = l.withCopies(p.job.CeilingBytes, p.world-1)
	}
	if p.job.Pairs {
		l.Pairs = layOutPairs(p.job.Sizes[0], l.Total)
		l.Total = l.Pairs.end
	}
	return l
}

// alignment of buffers: that of cudaMalloc.
const alignment = 256

// RoundUp is a number of bytes rounded up to the alignment.
func RoundUp(bytes int64) int64 { return (bytes + alignment - 1) / alignment * alignment }

// layOut makes room for the largest of the cases, on devices with so many
// multiprocessors.
func layOut(cases []Case, sms int) Layout {
	scratch, send, recv, row, residual := int64(TokenBytes), int64(0), int64(0), int64(0), int64(0)
	for _, c := range cases {
		if f := c.Algorithm.ScratchBytes; f != nil {
			scratch = max(scratch, f(c.world, c.Call.Bytes()))
		}
		slack := int64(c.Call.DType.Size)
		send, recv = max(send, c.sendBytes()+slack), max(recv, c.RecvBytes()+slack, c.OutputBytes(c.Call.Root))
		if c.InPlace {
			recv = max(recv, c.Bytes()+slack)
		}
		if e := c.Call.Epilogue; e.Kind != collective.NoEpilogue {
			row = max(row, e.Row*int64(c.Call.DType.Size))
			residual = max(residual, c.Call.Bytes())
		}
	}
	l := newLayout(scratch, sms)
	l.send, l.Recv = l.takeGuarded(send), l.takeGuarded(recv)
	l.weight, l.residual, l.residualOut = l.takeGuarded(row), l.takeGuarded(residual), l.takeGuarded(residual)
	return l
}

// newLayout has the shared part alone.
func newLayout(scratch int64, sms int) Layout {
	l := Layout{PacketBytes: collective.PacketAreaBytes(sms), MailboxBytes: collective.MailboxAreaBytes(sms)}
	l.take(collective.SignalPadBytes)
	l.Packets, l.Mailboxes, l.Scratch = l.take(l.PacketBytes), l.take(l.MailboxBytes), l.take(scratch)
	l.Shared = l.Total
	return l
}

// take makes room for so many bytes at the end, and returns where they begin.
func (l *Layout) take(bytes int64) (begin int64) {
	begin = l.Total
	l.Total += RoundUp(bytes)
	return begin
}

// GuardBytes is how much memory in front of a buffer, and behind it, no call may write to. Its contents
// are verified.
const GuardBytes = 4 << 10

// takeGuarded is take with guards around the bytes.
func (l *Layout) takeGuarded(bytes int64) (begin int64) {
	begin = l.Total + GuardBytes
	l.Total = begin + RoundUp(bytes) + GuardBytes
	return begin
}

// MoveBuffers moves the buffers to memory that begins so many bytes from the base.
func (l Layout) MoveBuffers(at int64) Layout {
	for _, offset := range append(l.Products.offsets(), &l.send, &l.Recv, &l.weight, &l.residual, &l.residualOut) {
		*offset += at - l.Shared
	}
	return l
}

// Place completes a case's call with the offsets of its buffers, as far off their alignment as
// the call says. In place, input and output share a buffer.
func (l Layout) Place(c Case, rank int) collective.Call {
	call := c.Call
	call.Send, call.Recv = l.send+call.Send, l.Recv+call.Recv
	if c.InPlace {
		call.InPlace = true
		send, recv, step, _ := c.Shape.InPlace(rank)
		part := call.Bytes()
		call.Send, call.Recv, call.SendStep = call.Recv+send*part, call.Recv+recv*part, step*part
	}
	call.Epilogue.Weight, call.Epilogue.Residual, call.Epilogue.ResidualOut = l.weight, l.residual, l.residualOut
	return call
}
