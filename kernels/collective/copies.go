package collective

// PacketCopy describes the algorithm ll of a collective that does not reduce: one kernel,
// in the collective's ll.cu, that pushes elements to peers as packets.
func PacketCopy(of, summary string) *Algorithm {
	const name = "ll"
	a := &Algorithm{
		Collective: of,
		Name:       name,
		Summary:    summary,
		Kernels:    CopiesByWorld(of, name, SM80, SM90),
		MaxRanks:   MaxRanks,
		Needs:      Needs{Packets: true},
		Blocks:     64,
		Threads:    128, // to have the packets of many blocks on their way
	}
	a.Enqueue = TiledLaunch(a, WholePart, PacketTile)
	return a
}

// MulticastCopy describes the algorithm multimem of a collective that does not reduce: one
// kernel, in the collective's multimem.cu, that stores a part to the multicast address.
func MulticastCopy(of string) *Algorithm {
	const name = "multimem"
	a := &Algorithm{
		Collective: of,
		Name:       name,
		Summary:    "one store that the switch delivers to all",
		Kernels:    Copies(of, name, SM90),
		MaxRanks:   MaxRanks,
		Needs:      Needs{Peers: true, Multicast: true},
		Blocks:     32,
	}
	a.Enqueue = OneLaunch(a, WholePart)
	return a
}
