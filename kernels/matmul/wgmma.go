package matmul

import (
	"fmt"
	"strings"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// What the kernels of wgmma.cu are made of.
const (
	wgmmaCluster     = 2                  // blocks that share the columns of B
	wgmmaRows        = 128 * wgmmaCluster // of a cluster's tiles
	wgmmaPartRows    = 64                 // of what a warpgroup multiplies
	wgmmaPartWarps   = 4
	wgmmaParts       = wgmmaRows / wgmmaPartRows
	wgmmaSlice       = 64 // elements of k in a stage
	wgmmaMostColumns = 256
	wgmmaMostShared  = 227 << 10 // bytes of a block
)

// wgmma multiplies by wgmma, on compute capability 9.0, with tiles of so many columns:
// wgmma.cu.
type wgmma int64

// wgmmaWidths are the columns that tiles may have. The wider ones load less for each
// product; others leave fewer multiprocessors idle at the end of some problems.
func wgmmaWidths() []wgmma { return []wgmma{256, 224, 128} }

func (columns wgmma) gemm() *GEMM {
	jobs := func(job string) []collective.Kernel {
		return compiled("wgmma", fmt.Sprintf("_%s_%d", strings.ToLower(job), columns), "wgmma", collective.SM90a,
			"EXCHANGE="+job, fmt.Sprintf("COLUMNS=%d", columns))
	}
	_, passing := columns.room()
	return &GEMM{
		Name: "wgmma", Kernels: jobs("Product"),
		Gathered: jobs("Gathered"), Scattered: jobs("Scattered"), Everywhere: jobs("Everywhere"),
		Parts: func(r, n int64) int64 {
			return wgmmaParts * tiles(r, wgmmaRows) * tiles(n, int64(columns))
		},
		TileParts: wgmmaParts,
		PartBytes: wgmmaPartRows * columns.pitch(),
		Tiles:     func(p Problem, shards int) int64 { return wgmmaCluster * columns.pairs(p, shards) },
		Cost:      columns.cost,
		Shape:     columns.shape,
		Complete:  columns.complete,
		CopiesOwn: passing > 0,
	}
}

// clustersOn is how many clusters a kernel may have on a device with so many multiprocessors, each of which takes a block.
func clustersOn(sms int) int64 { return int64(min(sms/wgmmaCluster, mostClusters)) }

// pairs is how many tiles clusters have to multiply.
func (columns wgmma) pairs(p Problem, shards int) int64 {
	return int64(shards) * tiles(rowsOfShard(p.M, shards), wgmmaRows) * tiles(p.N, int64(columns))
}

// cost is how long the cluster takes that has most to multiply.
func (columns wgmma) cost(w work, sms int) int64 {
	l := columns.lastRound(w, sms)
	return (l.whole/clustersOn(sms)*l.slices + l.takes()) * columns.tileTime()
}

// tileTime is how long a tile takes, in the time that tensor cores take for a column of it: measured on an H200, at clocks
// that its power allows, see NOTES.md.
func (columns wgmma) tileTime() int64 {
	return map[wgmma]int64{256: 272, 224: 236, 128: 148}[columns]
}

// linkBytes is what an H200's links take of one way in a cycle of its multiprocessors, and sliceCycles how many of those a slice
// of k takes in the unit of tileTime.
const linkBytes, sliceCycles = 214, 4

// lastRound is that of the tiles that clusters multiply.
func (columns wgmma) lastRound(w work, sms int) lastRound {
	clusters, pairs := clustersOn(sms), columns.pairs(w.Problem, w.shards)
	l := lastRound{tiles: pairs % clusters, slices: tiles(w.K, wgmmaSlice)}
	l.whole = pairs - l.tiles
	// Where clusters wait in the first round for what a gather brings, those have fewer tiles, and are not on time with pieces.
	waits := w.gathers && w.shards > 1 && pairs < clusters*int64(w.shards)
	if l.tiles > 0 && !waits {
		l.idle = clusters - l.tiles
	}
	if l.whole > 0 { // else others' tiles come first, and are sent meanwhile
		own := min(l.tiles, pairs/int64(w.shards))
		sums := own * wgmmaRows * int64(columns) * int64(w.DType.Size) * int64(w.peers)
		l.stagger = sums / (linkBytes * sliceCycles * columns.tileTime())
	}
	return l
}

func (columns wgmma) shape(w work, sms int) cudart.Launch {
	shared, _ := columns.room()
	l, clusters := columns.lastRound(w, sms), clustersOn(sms)
	if l.whole == 0 && l.split().tiles == 0 {
		clusters = l.tiles
	}
	return cudart.Launch{
		PDL:         !l.isPlaced(sms),
		Blocks:      wgmmaCluster * int(clusters),
		Threads:     3 * 128,
		SharedBytes: shared,
		Cluster:     wgmmaCluster,
	}
}

// room is how the shared memory of a block is divided up: as many stages of the operands as fit beside a tile that is on
// its way out, and barriers, and two places for what is copied in passing, or none. Layout in clusters.cuh has the same.
func (columns wgmma) room() (shared, passing int) {
	const rows, barriers, unit, mostPassing = wgmmaRows / wgmmaCluster, 320, 2 << 10, 8 << 10
	const stageOfA = 2 * wgmmaSlice * rows
	stageOfB := 2 * wgmmaSlice * int(columns)
	fixed := rows*int(columns.pitch()) + barriers
	stages := (wgmmaMostShared - fixed) / (stageOfA + stageOfB)
	fixed += stages * stageOfA
	fixed += (wgmmaMostShared - fixed) / stageOfB * stageOfB
	passing = min((wgmmaMostShared-fixed)/2/unit*unit, mostPassing)
	return fixed + 2*passing, passing
}

// pitch is how many bytes the rows of a tile are apart on its way out.
func (columns wgmma) pitch() int64 { return outPitch(int64(columns)) }

// complete fills in tensor maps of the operands, whose boxes are what a block copies at a time, and has clusters share the tiles
// of the last round.
func (columns wgmma) complete(r *Runner, p *Params, w work) error {
	for _, m := range []struct {
		to *encodedMap
		of matrix
	}{
		{&p.MapA, matrix{p.A, w.rowsOfA, p.K, wgmmaRows / wgmmaCluster, w.DType.Name}},
		{&p.MapAFull, matrix{p.AFull, p.M, p.K, wgmmaRows / wgmmaCluster, w.DType.Name}},
		{&p.MapB, matrix{p.B, p.N, p.K, int(columns) / wgmmaCluster, w.DType.Name}},
	} {
		text, err := r.mapOf(m.of)
		if err != nil {
			return err
		}
		*m.to = text
	}
	l := columns.lastRound(w, r.SMs)
	placement, err := r.placement(l)
	if err != nil {
		return err
	}
	copy(p.FirstTiles[:], placement)
	return r.split(p, l)
}
