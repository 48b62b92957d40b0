package collective

// EpilogueKind is what an allreduce does to its result before it stores it.
type EpilogueKind string

// The epilogues: kernels/device/epilogue.cuh.
const (
	NoEpilogue EpilogueKind = ""
	Negate     EpilogueKind = "negate" // -x
	Scale      EpilogueKind = "scale"  // x * Scale
	Bias       EpilogueKind = "bias"   // x + Weight, a row, for every row
	// of every row x of an allreduce: x += Residual; x / sqrt(mean(x²)+Epsilon) * Weight
	RMSNorm EpilogueKind = "rmsnorm"
)

// EpilogueKinds lists the epilogues.
func EpilogueKinds() []EpilogueKind { return []EpilogueKind{Negate, Scale, Bias, RMSNorm} }

// EpilogueDTypes lists the element types that epilogues have kernels for.
func EpilogueDTypes() []DType { return []DType{Half, BFloat16, Float} }

// ParseEpilogue finds an epilogue by its name; "none" is none.
func ParseEpilogue(word string) (EpilogueKind, bool) {
	if word == "none" {
		return NoEpilogue, true
	}
	for _, e := range EpilogueKinds() {
		if word == string(e) {
			return e, true
		}
	}
	return NoEpilogue, false
}

// Epilogue is an epilogue and its operands. Offsets are in bytes from the base of the symmetric
// memory. The operands are the same on every rank.
type Epilogue struct {
	Kind EpilogueKind
	// Row is how many elements a row has, for Bias and RMSNorm.
	Row                           int64
	Scale, Epsilon                float32
	Weight, Residual, ResidualOut int64
}

// ByRow reports whether the data is cut into rows.
func (e EpilogueKind) ByRow() bool { return e == Bias || e == RMSNorm }

// MaxRowBytes is the most bytes of a row for RMSNorm, maxBiasBytes for Bias.
const (
	MaxRowBytes  = MaxRowVecs * vecBytes
	maxBiasBytes = 1 << 31
)
