package matmul

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// What the kernels of wgmma.cu are made of.
const (
	wgmmaCluster = 2                  // blocks that share the columns of B
	wgmmaRows    = 128 * wgmmaCluster // of a cluster's tiles
	wgmmaColumns = 256
	wgmmaSlice   = 64 // elements of k in a stage
	wgmmaStages  = 4
)

// wgmmaGEMM multiplies by wgmma, on compute capability 9.0: wgmma.cu.
func wgmmaGEMM() *GEMM {
	jobs := func(name string) []collective.Kernel { return job("wgmma", name, collective.SM90a) }
	return &GEMM{
		Name: "wgmma", Kernels: jobs("Product"),
		Gathered: jobs("Gathered"), Scattered: jobs("Scattered"), Everywhere: jobs("Everywhere"),
		Counters: func(r, n int64) int64 { // one for each warpgroup that multiplies
			return 2 * wgmmaCluster * tiles(r, wgmmaRows) * tiles(n, wgmmaColumns)
		},
		Tiles: func(p Problem, shards int) int64 {
			return wgmmaCluster * int64(shards) * tiles(rowsOfShard(p.M, shards), wgmmaRows) * tiles(p.N, wgmmaColumns)
		},
		Shape: wgmmaShape,
		Maps:  wgmmaMaps,
	}
}

func wgmmaShape(p Problem, shards, sms int) cudart.Launch {
	const (
		rowBytes = 2 * wgmmaSlice
		stage    = (wgmmaRows/wgmmaCluster + wgmmaColumns) * rowBytes
		out      = 64 * (2*128 + 16) // of a warpgroup, on its way out
		barriers = 2 * 8 * wgmmaStages
	)
	clusters := int64(shards) * tiles(rowsOfShard(p.M, shards), wgmmaRows) * tiles(p.N, wgmmaColumns)
	return cudart.Launch{
		Blocks:      wgmmaCluster * int(min(clusters, int64(sms/wgmmaCluster))),
		Threads:     3 * 128,
		SharedBytes: wgmmaStages*stage + 2*out + barriers,
		Cluster:     wgmmaCluster,
	}
}

// wgmmaMaps names tensor maps of the operands, whose boxes are what a block copies at a
// time.
func wgmmaMaps(r *Runner, p *Params, d collective.DType, rowsOfA int64) error {
	const half = wgmmaColumns / wgmmaCluster
	for _, m := range []struct {
		to *uint64
		of matrix
	}{
		{&p.MapA, matrix{p.A, rowsOfA, p.K, wgmmaRows / wgmmaCluster, d.Name}},
		{&p.MapAFull, matrix{p.AFull, p.M, p.K, wgmmaRows / wgmmaCluster, d.Name}},
		{&p.MapB, matrix{p.B, p.N, p.K, half, d.Name}},
	} {
		at, err := r.mapOf(m.of)
		if err != nil {
			return err
		}
		*m.to = uint64(at)
	}
	return nil
}
