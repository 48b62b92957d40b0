package collective

import "gpurun/cudart"

// OneLaunch is the Enqueue of an algorithm that is a single kernel, whose blocks
// share so many bytes.
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

// TiledLaunch is the Enqueue of an algorithm that is a single kernel, whose blocks
// share so many bytes, and take them in tiles, one by one, of no more than most bytes.
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

// WholePart is how many bytes the blocks share where every rank handles all of a
// part.
func WholePart(_ int, call Call) int64 { return call.Bytes() }

// ShareOfPart is that where all ranks divide the part.
func ShareOfPart(world int, call Call) int64 { return ceilDiv(call.Bytes(), int64(world)) }

// ShareBesideRoot is that where all ranks but the root do.
func ShareBesideRoot(world int, call Call) int64 {
	return ceilDiv(call.Bytes(), int64(max(world-1, 1)))
}
