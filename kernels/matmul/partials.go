package matmul

import (
	"errors"
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/matmul/schedule"
)

// splitLastWave has a kernel share the tiles of its last wave, and gives it memory for partial sums.
func (r *Runner) splitLastWave(p *Params, l schedule.LastWave) error {
	s := l.Split()
	p.FullWaveTiles, p.LastWaveTiles = int32(l.Full), int32(l.Tiles)
	p.SplitKPieces, p.SplitKSlices, p.SplitKStep = int32(s.Pieces()), int32(s.Length), uint32(s.Step)
	if s.Tiles == 0 {
		return nil
	}
	if err := r.preparePartials(); err != nil {
		return err
	}
	p.Partials, p.PartialsReady = uint64(r.partials), uint64(r.partialsReady)
	return nil
}

// preparePartials allocates device memory for the partial sums of all pieces that there can be at a time, and for the
// words of the warps that store them, which are zero. The first call that needs it allocates it; it is freed with the
// device.
func (r *Runner) preparePartials() error {
	if r.partials != 0 {
		return nil
	}
	const sumsOfPiece, wordsOfPiece = 4 * wgmmaRows * wgmmaMostColumns, 4 * wgmmaParts * wgmmaPartWarps
	pieces := r.mostPieces()
	at, err := r.Device.Malloc(pieces * (sumsOfPiece + wordsOfPiece))
	if err != nil {
		return fmt.Errorf("allocating memory for the partial sums of %d pieces of tiles: %w", pieces, err)
	}
	ready := at + cudart.DevicePtr(pieces*sumsOfPiece)
	if err := r.Main.Fill(ready, 0, pieces*wordsOfPiece); err != nil {
		return errors.Join(fmt.Errorf("clearing the words of partial sums: %w", err), r.Device.Free(at))
	}
	r.partials, r.partialsReady = at, ready
	return nil
}

// mostPieces bounds the number of pieces: each is of another tile of a wave, or another cluster's.
func (r *Runner) mostPieces() int64 { return clustersOn(r.SMs) }
