package race

// ArriveRelaxed is the arrival of a thread at a barrier of its cluster that releases nothing by itself: it adds what
// the thread has released with fences that reach the cluster, and with the fence of new mbarriers (PTX ISA,
// "fence.mbarrier_init"). Whoever has waited for it knows that the thread has begun.
func (d *Detector) ArriveRelaxed(b *Barrier, t *Thread) {
	for _, fences := range t.fences[ClusterScope:] {
		for _, f := range fences {
			t.releaseFor(allLanes, f)
			b.add(&f.known)
		}
	}
	b.inits.join(t.known.seen[InitSpace].vector())
	b.begins.join(t.begin)
}
