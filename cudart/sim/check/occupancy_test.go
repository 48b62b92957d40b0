package check

import "testing"

// The occupancy is that of CUDA's calculator, where registers are no limit.
func TestOccupancy(t *testing.T) {
	const kb = 1 << 10
	byName := map[string]multiprocessors{}
	for _, c := range capabilities {
		byName[string(rune('0'+c.major%10))+string(rune('0'+c.minor))] = c
	}
	for _, c := range []struct {
		on            string
		threads, want int
		shared        int64 // with what CUDA reserves
	}{
		{"80", 1024, 2, kb},
		{"80", 32, 32, kb},         // blocks
		{"80", 33, 32, kb},         // whole warps: 64 of 64
		{"80", 96, 21, kb},         // 63 of 64 warps
		{"80", 128, 1, 129 * kb},   // shared memory: 164 KB
		{"80", 128, 3, 54 * kb},    //
		{"86", 1024, 1, kb},        // 1536 threads
		{"86", 64, 16, kb},         // blocks
		{"89", 64, 24, kb},         // blocks
		{"90", 128, 1, 129 * kb},   // shared memory: 228 KB
		{"90", 128, 2, 114 * kb},   //
		{"90", 128, 1, 114*kb + 1}, //
		{"00", 256, 8, 28 * kb},
		{"00", 256, 1, 300 * kb}, // is refused elsewhere
	} {
		if got := byName[c.on].occupancy(c.threads, c.shared); got != c.want {
			t.Errorf("%s, %d threads, %d bytes: %d blocks, want %d", c.on, c.threads, c.shared, got, c.want)
		}
	}
}

// All blocks of a grid wait for one another. They need as many multiprocessors as they are, two hold one each at once,
// and a GPU has more than two: a grid is cut only where it is made for the multiprocessors of the device.
func TestGridsThatDoNotFit(t *testing.T) {
	const meeting = onlyOne + `
	10: red.release.gpu.global.add.u32 [%mine], 1;
again:
	20: ld.acquire.gpu.global.u32 %v, [%mine];
	setp.lt.u32 %p, %v, 4;
	@%p bra again;
end:
`
	four := func(int) int { return 4 }
	p := program{body: meeting, blocks: four, shared: 150 << 10, sms: 2}
	p.expect(t)
	p.scale = true
	p.expect(t, "deadlock, blocks are not resident, 20")
	p.shared = 100 << 10 // two on each
	p.expect(t)
}
