package worker

import "gpurun/kernels/collective"

// layout says where things lie in a rank's memory, in bytes from the base of
// the symmetric memory. What is shared, on which all algorithms rely, comes
// first: the signal pad, the packets, the mailboxes and the scratch. The buffers may lie
// elsewhere: see apart.
type layout struct {
	packets, packetBytes          int64
	mail, mailBytes, scratch      int64
	shared                        int64
	send, recv                    int64
	weight, residual, residualOut int64
	copyFrom, copyTo              int64 // see withCopies
	pairs                         pairLayout
	products                      productLayout
	total                         int64
}

// tokenBytes is the size of what a rank shows to prove that it has come to a barrier.
const tokenBytes = 8

// layout makes room for the cases, and for what else the job measures.
func (p Plan) layout(s surroundings) layout {
	if p.job.Products != nil {
		return layOutProducts(p.products, p.world, s.productSMs())
	}
	l := layOut(p.cases, s.leastSMs())
	if p.noCeiling(s) == "" {
		l = l.withCopies(p.job.CeilingBytes, p.world-1)
	}
	if p.job.Pairs {
		l.pairs = layOutPairs(p.job.Sizes[0], l.total)
		l.total = l.pairs.end
	}
	return l
}

// alignment of buffers: that of cudaMalloc.
const alignment = 256

func roundUp(bytes int64) int64 { return (bytes + alignment - 1) / alignment * alignment }

// layOut makes room for the largest of the cases, on devices with so many
// multiprocessors.
func layOut(cases []testCase, sms int) layout {
	scratch, send, recv, row, residual := int64(tokenBytes), int64(0), int64(0), int64(0), int64(0)
	for _, c := range cases {
		if f := c.algorithm.ScratchBytes; f != nil {
			scratch = max(scratch, f(c.world, c.call.Bytes()))
		}
		slack := int64(c.call.DType.Size)
		send, recv = max(send, c.sendBytes()+slack), max(recv, c.recvBytes()+slack, c.outputBytes(c.call.Root))
		if c.inPlace {
			recv = max(recv, c.bytes()+slack)
		}
		if e := c.call.Epilogue; e.Kind != collective.NoEpilogue {
			row = max(row, e.Row*int64(c.call.DType.Size))
			residual = max(residual, c.call.Bytes())
		}
	}
	l := newLayout(scratch, sms)
	l.send, l.recv = l.take(send), l.take(recv)
	l.weight, l.residual, l.residualOut = l.take(row), l.take(residual), l.take(residual)
	return l
}

// newLayout has what is shared, and nothing behind it as yet.
func newLayout(scratch int64, sms int) layout {
	l := layout{packetBytes: collective.RoomForPackets(sms), mailBytes: collective.RoomForMail(sms)}
	l.take(collective.SignalPadBytes)
	l.packets, l.mail, l.scratch = l.take(l.packetBytes), l.take(l.mailBytes), l.take(scratch)
	l.shared = l.total
	return l
}

// take makes room for so many bytes behind all that there is, and says where it begins.
func (l *layout) take(bytes int64) (begin int64) {
	begin = l.total
	l.total += roundUp(bytes)
	return begin
}

// apart moves the buffers to memory that begins so many bytes from the base.
func (l layout) apart(at int64) layout {
	for _, offset := range append(l.products.offsets(), &l.send, &l.recv, &l.weight, &l.residual, &l.residualOut) {
		*offset += at - l.shared
	}
	return l
}

// place completes a case's call with where its buffers lie, so far off their
// alignment as the call says. In place, input and output share a buffer.
func (l layout) place(c testCase, rank int) collective.Call {
	call := c.call
	call.Send, call.Recv = l.send+call.Send, l.recv+call.Recv
	if c.inPlace {
		send, recv, step, _ := c.shape.InPlace(rank)
		part := call.Bytes()
		call.Send, call.Recv, call.SendStep = call.Recv+send*part, call.Recv+recv*part, step*part
	}
	call.Epilogue.Weight, call.Epilogue.Residual, call.Epilogue.ResidualOut = l.weight, l.residual, l.residualOut
	return call
}
