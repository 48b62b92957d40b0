package launcher

// nodeDumps makes the dumps of a round on several machines.
type nodeDumps struct{}
