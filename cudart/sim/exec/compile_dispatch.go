package exec

import "gpurun/cudart/sim/ptx"

// Types that the code names often.
var (
	b16      = ptx.Type{Class: ptx.Bits, Bits: 16, Lanes: 1}
	b32      = ptx.Type{Class: ptx.Bits, Bits: 32, Lanes: 1}
	b64      = ptx.Type{Class: ptx.Bits, Bits: 64, Lanes: 1}
	u16      = ptx.Type{Class: ptx.Unsigned, Bits: 16, Lanes: 1}
	u32      = ptx.Type{Class: ptx.Unsigned, Bits: 32, Lanes: 1}
	u64      = ptx.Type{Class: ptx.Unsigned, Bits: 64, Lanes: 1}
	s32      = ptx.Type{Class: ptx.Signed, Bits: 32, Lanes: 1}
	s64      = ptx.Type{Class: ptx.Signed, Bits: 64, Lanes: 1}
	typeF16  = ptx.Type{Class: ptx.Float, Bits: 16, Lanes: 1}
	typeF32  = ptx.Type{Class: ptx.Float, Bits: 32, Lanes: 1}
	typeBF16 = ptx.Type{Class: ptx.BFloat, Bits: 16, Lanes: 1}
)

// dispatch compiles the current instruction by its opcode.
func (c *compiler) dispatch(o *op) {
	switch c.in.Op {
	case "add", "sub", "mul", "mad", "fma", "div", "rem", "min", "max", "neg", "abs", "rcp", "sqrt", "copysign":
		c.arithmetic(o)
	case "and", "or", "xor", "not", "cnot":
		c.logical(o)
	case "shl", "shr":
		c.shift(o, c.takeType())
	case "shf":
		c.funnel(o)
	case "popc", "clz", "bfind":
		c.bitCount(o)
	case "brev", "bfe", "bfi":
		c.bitField(o)
	case "prmt":
		c.permute(o)
	case "lop3":
		c.lop3(o)
	case "setp":
		c.setp(o)
	case "set":
		c.set(o)
	case "selp":
		c.selp(o)
	case "slct":
		c.slct(o)
	case "cvt":
		c.convert(o)
	default:
		c.dispatchMore(o)
	}
	if o.kind == opALU && o.alu == nil {
		c.fail("this form of %s is not implemented", c.in.Op)
	}
}

// dispatchMore compiles what is not arithmetic: moves, memory, control flow
// and communication between lanes.
func (c *compiler) dispatchMore(o *op) {
	switch c.in.Op {
	case "mov":
		c.move(o)
	case "cvta":
		c.convertAddress(o)
	case "isspacep":
		c.isSpace(o)
	case "mapa":
		c.mapAddress(o)
	case "getctarank":
		c.rankOfAddress(o)
	case "ld", "ldu":
		c.load(o)
	case "st":
		c.store(o)
	case "atom", "red":
		c.atomic(o)
	case "multimem":
		c.multimem(o)
	case "cp":
		c.asyncCopy(o)
	case "mma", "wmma", "ldmatrix", "stmatrix", "movmatrix", "wgmma":
		c.matrix(o)
	case "mbarrier":
		c.mbarrier(o)
	case "tensormap":
		c.tensorMapOp(o)
	case "fence", "membar":
		c.fence(o)
	case "createpolicy":
		c.createPolicy(o)
	case "prefetch", "prefetchu", "discard", "applypriority":
		c.hint(o)
	case "bra":
		c.branch(o)
	case "brx":
		c.branchTable(o)
	case "ret", "exit":
		c.end(o)
	case "call":
		c.call(o)
	case "alloca", "stacksave", "stackrestore":
		c.stack(o)
	case "trap":
		o.kind, o.run = opRun, trap
	case "nanosleep":
		c.nanosleep(o)
	case "griddepcontrol":
		c.dependentLaunch(o)
	case "bar", "barrier":
		c.barrier(o)
	case "shfl":
		c.shuffle(o)
	case "elect":
		c.elect(o)
	case "setmaxnreg":
		c.setMaxRegisters(o)
	case "vote", "activemask", "match", "redux":
		c.collective(o)
	default:
		c.fail("%s is not implemented", c.in.Op)
	}
}

// arithmetic tells integers from floating-point numbers.
func (c *compiler) arithmetic(o *op) {
	t := c.takeType()
	switch {
	case c.err != nil:
	case t.IsFloat():
		c.floating(o, t)
	case c.in.Op == "mul" || c.in.Op == "mad":
		c.multiply(o, t)
	case c.in.Op == "neg":
		o.alu = byWidth[alu](t, negInt[uint16], negInt[uint32], negInt[uint64])
		c.dstSrc(o, t, t)
	case c.in.Op == "abs":
		o.alu = byWidth(t, lift1(absInt[int16]), lift1(absInt[int32]), lift1(absInt[int64]))
		c.dstSrc(o, t, t)
	default:
		o.alu = c.integerBinary(o, t)
		c.dstSrc(o, t, t, t)
	}
}

func (c *compiler) logical(o *op) {
	t := c.takeType()
	if o.alu = c.logic(o, t); t.Class == ptx.Pred || c.err != nil {
		return
	}
	if c.in.Op == "not" || c.in.Op == "cnot" {
		c.dstSrc(o, t, t)
	} else {
		c.dstSrc(o, t, t, t)
	}
}

// dstSrc reads a destination and one to three sources of the given types.
func (c *compiler) dstSrc(o *op, types ...ptx.Type) {
	c.args(len(types))
	for i, t := range types {
		switch i {
		case 0:
			c.dst(&o.d, 0, t)
		case 1:
			c.src(&o.a, 1, t)
		case 2:
			c.src(&o.b, 2, t)
		case 3:
			c.src(&o.c, 3, t)
		}
	}
}
