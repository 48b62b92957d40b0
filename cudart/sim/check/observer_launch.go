package check

import (
	"gpurun/cudart"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// WaitPrior implements exec.LaunchObserver: all that the kernel before did happens before what the warp does next.
func (o *observer) WaitPrior(at exec.Place) {
	o.run.waitedPrior[o.launch] = true
	if o.prior != nil {
		o.run.detector.After(o.warp(at.Block, at.Warp), o.prior.ended.AllSeen())
	}
}

// clusterBlock is a block of a cluster of several. Its beginning is a write to its shared memory, and its end another:
// a peer's accesses have to be ordered between them.
type clusterBlock struct {
	block, cluster int
	begun          *race.Moment
	ended          bool
}

// clusterBarrier is the barrier of a cluster.
type clusterBarrier struct {
	race.Barrier
	last *race.Moment // of the phase that was complete last
}

func (o *observer) place(block int) race.Place {
	at := race.Place{Rank: o.rank, Launch: o.launch, Cluster: block, Block: block}
	if b := o.resident[block]; b != nil {
		at.Cluster = b.cluster
	}
	return at
}

// begin is what happens before a block.
func (o *observer) begin(block int) *race.Moment {
	if b := o.resident[block]; b != nil {
		return b.begun
	}
	return o.before
}

// sharedAt is the shared memory that has an address, of the warp's block or of another one in its cluster.
func (o *observer) sharedAt(at exec.Place, addr uint64) *race.Memory {
	if rank, _ := exec.SharedPlace(addr); rank != at.ClusterRank {
		if b := o.members[[2]int{at.Cluster, rank}]; b != nil {
			return o.sharedOf(b.block)
		}
	}
	return o.sharedOf(at.Block)
}

// BlockBegins implements exec.LaunchObserver.
func (o *observer) BlockBegins(at exec.Place) {
	b := &clusterBlock{block: at.Block, cluster: at.Cluster}
	o.resident[at.Block], o.members[[2]int{at.Cluster, at.ClusterRank}] = b, b
	d := o.run.detector
	t := d.NewThread(o.actor(at.Block, 0), o.place(at.Block), o.before)
	// No proxy fence is needed between the beginning and copies, so that it counts as an access of their proxy.
	d.BeginMemory(t, o.sharedOf(at.Block), &race.Operation{
		Kind: race.Write, Bytes: 1, Proxy: race.Async, Site: blockBegins,
	})
	b.begun = d.Now(t)
}

// BlockEnds implements exec.LaunchObserver.
func (o *observer) BlockEnds(at exec.Place) {
	var all race.Barrier
	d := o.run.detector
	for warp := range cudart.MaxThreads / 32 {
		if t := o.warps[[2]int{at.Block, warp}]; t != nil {
			d.Arrive(&all, t)
		}
	}
	t := d.NewThread(o.actor(at.Block, 0), o.place(at.Block), all.Moment())
	m := o.sharedOf(at.Block)
	d.EndMemory(t, m, 0, 1<<63, &race.Operation{Kind: race.Write, Bytes: 1, Site: blockEnds})
	o.resident[at.Block].ended = true
}

// ArriveCluster implements exec.LaunchObserver.
func (o *observer) ArriveCluster(at exec.Place, relaxed bool) {
	o.run.trace.mix(uint64(at.Block), uint64(at.Warp))
	b, t := o.clusterBarrier(at.Cluster), o.warp(at.Block, at.Warp)
	if relaxed {
		o.run.detector.ArriveRelaxed(&b.Barrier, t)
		return
	}
	o.run.detector.Arrive(&b.Barrier, t)
}

// ReleaseCluster implements exec.LaunchObserver.
func (o *observer) ReleaseCluster(cluster int, waiting []exec.Place) {
	b := o.clusterBarrier(cluster)
	b.last, b.Barrier = b.Moment(), race.Barrier{}
	for _, at := range waiting {
		o.PassCluster(at)
	}
}

// PassCluster implements exec.LaunchObserver.
func (o *observer) PassCluster(at exec.Place) {
	t := o.warp(at.Block, at.Warp)
	o.run.detector.After(t, o.clusterBarrier(at.Cluster).last)
	o.run.detector.SyncWarp(t, 1<<32-1, true)
}

func (o *observer) clusterBarrier(cluster int) *clusterBarrier {
	b := o.clusters[cluster]
	if b == nil {
		b = &clusterBarrier{last: &race.Moment{}}
		o.clusters[cluster] = b
	}
	return b
}
