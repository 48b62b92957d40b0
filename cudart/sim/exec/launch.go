package exec

import (
	"errors"
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/sim/ptx"
)

// Demands are what a kernel's directives demand of a launch. What is 0 is not demanded.
type Demands struct {
	MaxThreads      int         // .maxntid: threads of a block
	MaxCluster      int         // .maxclusterrank: blocks of a cluster
	Block           cudart.Dim3 // .reqntid: exactly these threads
	Cluster         cudart.Dim3 // .reqnctapercluster: exactly these blocks
	ExplicitCluster bool        // .explicitcluster: the launch gives the size of clusters
	// BlocksAreClusters: .blocksareclusters, the grid of a launch counts clusters.
	BlocksAreClusters bool
}

func demandsOf(e *ptx.Entry) Demands {
	dim := func(d [3]int) cudart.Dim3 { return cudart.Dim3{X: d[0], Y: max(d[1], 1), Z: max(d[2], 1)} }
	return Demands{e.MaxThreads, e.MaxCluster, dim(e.Block), dim(e.Cluster), e.ExplicitCluster, e.BlocksAreClusters}
}

// shape is the sizes of a launched grid.
type shape struct {
	gridDim, blockDim, clusterDim cudart.Dim3
	clustersDim                   cudart.Dim3 // of the grid, in clusters

	blockCount, threads, clusterBlocks, clusterCount int  // their products
	explicitCluster                                  bool // launch or kernel give the size of clusters
}

// launch is the shape that cfg asks for, with the grid in blocks.
func (cfg *Config) launch(k *Kernel) cudart.Launch {
	l := cudart.Launch{
		Blocks: cfg.Blocks, Threads: cfg.Threads, Cluster: cfg.Cluster, SharedBytes: cfg.SharedBytes,
		GridDim: cfg.GridDim, BlockDim: cfg.BlockDim, ClusterDim: cfg.ClusterDim,
	}
	if g := l.Grid(); k.BlocksAreClusters && l.CheckShape() == nil {
		l.Blocks, l.GridDim = 0, cudart.Dim3{X: g.X * k.Cluster.X, Y: g.Y * k.Cluster.Y, Z: g.Z * k.Cluster.Z}
	}
	return l
}

// checkClusterGrid refuses .blocksareclusters where it means nothing.
func checkClusterGrid(p *Program, e *ptx.Entry) error {
	reason := ""
	switch m := p.module; {
	case !e.BlocksAreClusters:
		return nil
	case e.Block[0] == 0 || e.Cluster[0] == 0:
		reason = ".blocksareclusters needs .reqntid and .reqnctapercluster"
	case m.SM < 90 || !m.AtLeast(9, 0):
		reason = ".blocksareclusters needs target sm_90 and PTX 9.0"
	default:
		return nil
	}
	return &ptx.Error{Module: p.module.Name, Line: e.Line, Text: e.Name, Reason: reason}
}

// clusterOf is the size of the launch's clusters, and whether launch or kernel give it.
func (cfg *Config) clusterOf(k *Kernel) (d cudart.Dim3, explicit bool) {
	l := cfg.launch(k)
	switch d = l.ClusterBlocks(); {
	case d != cudart.Dim3{}:
		return d, true
	case k.Cluster.X > 0:
		return k.Cluster, true
	}
	return cudart.Dim3{X: 1, Y: 1, Z: 1}, false
}

// shape is the shape of a launch that has been checked.
func (cfg *Config) shape(k *Kernel) shape {
	l := cfg.launch(k)
	s := shape{gridDim: l.Grid(), blockDim: l.Block()}
	s.clusterDim, s.explicitCluster = cfg.clusterOf(k)
	g, c := s.gridDim, s.clusterDim
	s.clustersDim = cudart.Dim3{X: g.X / c.X, Y: g.Y / c.Y, Z: g.Z / c.Z}
	s.blockCount, s.threads = int(g.Count()), int(s.blockDim.Count())
	s.clusterBlocks, s.clusterCount = int(c.Count()), int(s.clustersDim.Count())
	return s
}

// Check reports what is wrong with launching k this way.
func (cfg *Config) Check(k *Kernel) error {
	l := cfg.launch(k)
	if err := l.CheckShape(); err != nil {
		return err
	}
	switch static := k.dynamic - k.reserved; {
	case static+cfg.SharedBytes > cfg.sharedLimit():
		return fmt.Errorf("a block cannot have %d bytes of dynamic shared memory; %d are possible beside %d of static memory",
			cfg.SharedBytes, max(0, cfg.sharedLimit()-static), static)
	case len(cfg.Params) != k.ParamBytes:
		return fmt.Errorf("the kernel takes %d bytes of parameters, not %d", k.ParamBytes, len(cfg.Params))
	case cfg.SMs < 1 || cfg.Memory == nil || cfg.Clock == nil || cfg.TensorCores.Block < 1:
		return errors.New("the configuration names no multiprocessors, memory, clock or tensor cores")
	case k.program.observed != (cfg.Observer != nil):
		return errors.New("an observer needs a kernel of an observed program, and such a kernel an observer")
	case k.usesHeap && cfg.Heap == nil:
		return errors.New("the kernel calls malloc, and the configuration names no heap")
	}
	return errors.Join(cfg.checkBlock(k), cfg.checkCluster(k), cfg.checkCooperative(k))
}

func (cfg *Config) sharedLimit() int {
	if cfg.SharedLimit == 0 {
		return MaxSharedBytes
	}
	return cfg.SharedLimit
}

// checkBlock compares the size of a block with what the kernel demands.
func (cfg *Config) checkBlock(k *Kernel) error {
	l := cfg.launch(k)
	switch d := l.Block(); {
	case k.Block.X > 0 && d != k.Block:
		return fmt.Errorf("the kernel demands blocks of %v threads, not %v (.reqntid)", k.Block, d)
	case k.MaxThreads > 0 && d.Count() > int64(k.MaxThreads):
		return fmt.Errorf("a block cannot have %v threads; the kernel allows %d (.maxntid)", d, k.MaxThreads)
	}
	return nil
}

// checkCluster compares the size of a cluster with what the kernel demands.
func (cfg *Config) checkCluster(k *Kernel) error {
	l := cfg.launch(k)
	d, explicit := cfg.clusterOf(k)
	switch {
	case k.Cluster.X > 0 && d != k.Cluster:
		return fmt.Errorf("the kernel demands clusters of %v blocks, not %v (.reqnctapercluster)", k.Cluster, d)
	case k.MaxCluster > 0 && d.Count() > int64(k.MaxCluster):
		return fmt.Errorf("the kernel allows clusters of %d blocks at most, not %v (.maxclusterrank)", k.MaxCluster, d)
	case k.ExplicitCluster && !explicit:
		return errors.New("the kernel demands that the launch gives the size of clusters (.explicitcluster)")
	}
	l.Cluster, l.ClusterDim = 0, d
	return l.CheckShape()
}
