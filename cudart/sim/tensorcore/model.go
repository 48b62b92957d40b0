package tensorcore

// Model is what tensor cores of different GPUs differ in.
type Model struct {
	Block int // products that are summed at once
	Extra int // bits kept after the 23 of fp32 when addends are aligned
	// Floor is the least exponent that addends are aligned to.
	// It is -400 at least, which is below all products.
	Floor int
	// Nearest rounds a sum to nearest even. No GPU is known to, with an fp32 accumulator.
	Nearest bool
	// Cut is how many of the 23 bits after the point of a sum in fp32 are cut off.
	Cut int
}

// Of returns the model of GPUs of a compute capability, given its major number.
//
// Block and Extra are those of both papers, for 8.x (A100, A30) and from 9.0 on (H100,
// H200, B200). Floor is -133, the exponent of the least bfloat16, as in Khattak's and
// Mikaitis's models of the H200 and B200; MMA-Sim aligns to -126 at least. They differ only
// where every addend is below 2^-125. Of random products of that size an H200 gave what
// follows from -133, by mma.sync and wgmma, and from no other exponent. For 8.x it is a guess.
//
// An H100 gave these bits for all formats, with accumulators in fp32 and fp16, by mma, wmma and wgmma.
// Models of 8.x and 10.x are those of the papers, and have not been compared with a GPU here.
func Of(major int) Model {
	if major < 9 {
		return Model{Block: 8, Extra: 1, Floor: -133}
	}
	return Model{Block: 16, Extra: 2, Floor: -133}
}

// Mma returns the model m of 16-bit floats for elements of a format, by mma.
//
// The cores have room for as many bytes of each format. 8-bit floats of 8.9 (Ada) are kept
// to 13 bits, in MMA-Sim. From 9.0 on mma has no cores for them: see [Model.Widens].
func (m Model) Mma(f Format) Model {
	switch {
	case f == TF32:
		m.Block /= 2
	case f.bits() == 8 && !m.Widens(f):
		m.Block, m.Extra, m.Cut = 16, extraOfFloat8, cutOfFloat8
	}
	return m
}

// Wmma is the same by wmma, which multiplies tf32 four by four on an H100, too.
func (m Model) Wmma(f Format) Model {
	if m = m.Mma(f); f == TF32 {
		m.Block = 4
	}
	return m
}

// Wgmma is the same by wgmma. Hopper's cores keep 13 bits of 8-bit floats.
func (m Model) Wgmma(f Format) Model {
	if f.bits() == 8 {
		m.Block, m.Extra, m.Cut = 2*m.Block, extraOfFloat8, cutOfFloat8
		return m
	}
	return m.Mma(f)
}

// Sums of 8-bit floats keep 13 bits after the point, aligned and normalized.
const (
	cutOfFloat8   = 10
	extraOfFloat8 = -cutOfFloat8
)

// Tcgen05 is the same by tcgen05.mma. Blackwell's cores keep all bits of 8-bit, 6-bit and 4-bit floats: MMA-Sim has
// 25 bits after the point for kinds with elements of up to 8 bits, and 35 for packed 4-bit elements with scale factors,
// where packed is true. Neither has been compared with a GPU here.
func (m Model) Tcgen05(f Format, packed bool) Model {
	switch {
	case packed:
		m.Block, m.Extra = 4*m.Block, extraOfPacked
	case f.bits() <= 8:
		m.Block *= 2
	case f == TF32:
		m.Block /= 2
	}
	return m
}

// extraOfPacked makes 35 bits after the point.
const extraOfPacked = 35 - 23
