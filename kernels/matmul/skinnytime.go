package matmul

// What bounds the time of skinny.cu on an H200 where A has more than skinnyRows rows (kernels/NOTES.md).
const (
	// Bytes of a nanosecond: what DRAM gives; what a multiprocessor takes in; what its shared memory reads and writes,
	// 128 in a cycle.
	skinnyFromDRAM, tallIngest, skinnyShared = 3900, 90, 225
	// Bytes of B that remain in L2 between the calls of a benchmark.
	skinnyInL2 = 40 << 20
	// Nanoseconds: a launch with the first slices; what another part of K costs; and another block on the same
	// multiprocessor, beside the one before or behind it.
	skinnyLaunchTime, skinnySplitTime, skinnyBlockTime, skinnyTurnTime = 3000, 900, 1000, 5000
	// Nanoseconds from the copy of a slice of K until its stage is free again, from DRAM and from L2.
	tallStageTime, tallStageTimeInL2 = 2500, 1500
	// A unit of wgmma.tileTime, in tenths of a nanosecond.
	tallUnit = 26
)

// inUnits is the time of a launch, given what it takes beyond skinnyLaunchTime, in the unit of wgmma.tileTime.
func inUnits(nanoseconds int64) int64 { return (skinnyLaunchTime + nanoseconds) * 10 / tallUnit }

// skinnyTime is the time that a product by [skinny] takes beyond skinnyLaunchTime, in nanoseconds. Shared memory is
// written once, and read by each multiplication: 64 columns of B and the rows that the kernel has.
func (g skinnyGrid) skinnyTime(p Problem, sms int) int64 {
	slices, more := g.slices(p, sms)
	multiplied, copied := skinnyColumns+g.rows, g.columns+p.M
	inShared := slices * 2 * wgmmaSlice * (multiplied + copied) / skinnyShared
	fromDRAM := timeFromDRAM(p)
	if inTurn := tiles(g.blocks(), g.slots(sms)); g.together(sms) == 1 {
		more += (inTurn - 1) * (skinnyTurnTime - skinnyBlockTime)
	}
	return max(inShared, fromDRAM) + min(inShared, fromDRAM)/32 + more
}

// tallTime is the same for a product by [tall].
func (g skinnyGrid) tallTime(p Problem, sms int) int64 {
	const elementBytes, unitRows = 2, wgmmaRows / wgmmaCluster // rows of what takes a unit for each column
	slices, more := g.slices(p, sms)
	stageTime := int64(tallStageTime)
	if timeFromDRAM(p) == 0 {
		stageTime = tallStageTimeInL2
	}
	columns := max(64, 16*tiles(g.columns, 16)) // that are multiplied
	return max(
		slices*wgmmaSlice*elementBytes*(g.rows+g.columns)/tallIngest,
		timeFromDRAM(p),
		slices*stageTime/(g.stages*g.together(sms)),
		slices*columns*g.rows/unitRows*tallUnit/10,
	) + more
}

// slices is how many slices of K a multiprocessor multiplies, and the time that parts of K and further blocks add.
func (g skinnyGrid) slices(p Problem, sms int) (all, more int64) {
	inTurn := tiles(g.blocks(), g.slots(sms))
	all = inTurn * tiles(tiles(p.K, g.splits), wgmmaSlice)
	return all, (g.splits-1)*skinnySplitTime + (inTurn-1)*skinnyBlockTime
}

// timeFromDRAM is how long B takes, in nanoseconds; 0 where it stays in L2.
func timeFromDRAM(p Problem) int64 {
	bytes := p.N * int64(p.DType.Size) * p.K
	if bytes <= skinnyInL2 {
		return 0
	}
	return bytes / skinnyFromDRAM
}
