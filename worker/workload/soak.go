package workload

// Resized is a case of the job whose buffers have so many bytes, fewer than those of c. It is what the sweep would make
// of this size. false: the algorithm does not take it, or needs more scratch than for c.
func (j Job) Resized(c Case, bytes int64) (Case, bool) {
	resized := c
	resized.RequestedBytes = bytes
	resized.Call.Count = j.count(c.Shape, c.world, c.Call.DType, bytes)
	resized.Call.Count = j.roundUp(c.Shape, c.world, resized.Call, c.Algorithm)
	scratch := func(of Case) int64 {
		if f := of.Algorithm.ScratchBytes; f != nil {
			return f(of.world, of.Call.Bytes())
		}
		return 0
	}
	fits := resized.Call.Count <= c.Call.Count && scratch(resized) <= scratch(c)
	return resized, fits && resized.Algorithm.Check(resized.Call, c.world) == nil
}

// checkFurther refuses to verify further calls where none is verified.
func (j Job) checkFurther() error {
	switch {
	case j.VerifyFor < 0:
		return usagef("cannot verify calls for %v", j.VerifyFor)
	case j.VerifyFor > 0 && !j.Verify:
		return usagef("--minutes verifies further calls, and verification is off")
	}
	return nil
}
