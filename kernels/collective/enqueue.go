package collective

import "gpurun/cudart"

// OneLaunch returns the Enqueue of an algorithm of a single kernel, whose blocks divide so many
// bytes.
func OneLaunch(a *Algorithm, shared func(world int, call Call) int64) func(*Comm, cudart.Stream, Call) error {
	return func(c *Comm, s cudart.Stream, call Call) error {
		if call.Count == 0 {
			return nil
		}
		if err := c.Admit(a, call); err != nil {
			return err
		}
		p := c.Params(call)
		return c.launch(s, a, call, c.GridOfVecs(a, call, shared(c.World(), call)), &p)
	}
}

// TiledLaunch returns the Enqueue of an algorithm of a single kernel, whose blocks divide so
// many bytes. A block handles its share tile by tile, of at most `most` bytes each.
func TiledLaunch(a *Algorithm, shared func(world int, call Call) int64,
	most func(world int) int64,
) func(*Comm, cudart.Stream, Call) error {
	return func(c *Comm, s cudart.Stream, call Call) error {
		if call.Count == 0 {
			return nil
		}
		if err := c.Admit(a, call); err != nil {
			return err
		}
		bytes := shared(c.World(), call)
		shape := c.GridOfVecs(a, call, bytes)
		p := c.Params(call)
		if a.Needs.Mailboxes {
			p.PacketOffset = c.cfg.MailboxOffset
		}
		p.TileBytes = TileBytes(call, bytes, shape.Blocks, most(c.World()))
		return c.launch(s, a, call, shape, &p)
	}
}

// WholePart is the number of bytes that the blocks divide if every rank handles a whole part.
func WholePart(_ int, call Call) int64 { return call.Bytes() }

// ShareOfPart is this number if all ranks divide the part.
func ShareOfPart(world int, call Call) int64 { return ceilDiv(call.Bytes(), int64(world)) }

// ShareBesideRoot is this number if all ranks except the root divide the part.
func ShareBesideRoot(world int, call Call) int64 {
	return ceilDiv(call.Bytes(), int64(max(world-1, 1)))
}
