package collective

// DirectCopy describes an algorithm of a collective that does not reduce. Its one kernel, in
// the .cu file of the algorithm's name, loads from peers or stores to them between two
// barriers. The blocks divide so many bytes.
func DirectCopy(of, name, summary string, shared func(world int, call Call) int64) *Algorithm {
	a := &Algorithm{
		Collective: of,
		Name:       name,
		Summary:    summary,
		Kernels:    Copies(of, name, SM80),
		MaxRanks:   MaxRanks,
		Needs:      Needs{Peers: true},
		Blocks:     64,
	}
	a.Enqueue = OneLaunch(a, shared)
	return a
}

// BulkCopy describes an algorithm of a collective that does not reduce. Its one kernel, in the
// .cu file of the algorithm's name, moves elements by bulk copies. A grid has up to so many
// blocks, which divide so many bytes.
func BulkCopy(of, name, summary string, blocks int, shared func(world int, call Call) int64) *Algorithm {
	a := &Algorithm{
		Collective: of,
		Name:       name,
		Summary:    summary,
		Kernels:    Copies(of, name, SM90),
		MaxRanks:   MaxRanks,
		Needs:      Needs{Peers: true},
		Blocks:     blocks,
		Threads:    256, // one of them, or one of each warp, issues the copies
	}
	a.Enqueue = BulkLaunch(a, shared)
	return a
}

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
		Threads:    128, // small blocks: more blocks have packets in flight
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

// MailboxCopy describes the algorithm lamport of a collective that does not reduce: one kernel, in the collective's
// lamport.cu, that pushes elements of any bits to the peers' mailboxes.
func MailboxCopy(of, summary string) *Algorithm {
	const name = "lamport"
	a := &Algorithm{
		Collective: of,
		Name:       name,
		Summary:    summary,
		Kernels:    CopiesByWorld(of, name, SM90),
		MaxRanks:   MaxRanks,
		Needs:      Needs{Mailboxes: true},
		Blocks:     128,
	}
	a.Enqueue = TiledLaunch(a, WholePart, KeyedMailboxTile)
	return a
}
