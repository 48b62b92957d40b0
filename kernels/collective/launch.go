package collective

import (
	"fmt"

	"gpurun/cudart"
)

// kernelKey identifies the kernel for calls of one kind; loaded is the loaded kernel.
type (
	kernelKey struct {
		algorithm *Algorithm
		dtype     string
		op        Op
		epilogue  EpilogueKind
	}
	loaded struct {
		kernel cudart.Kernel
		pdl    bool // may start before the kernel in front of it has ended
	}
)

// Prepare loads the kernels that a call of the algorithm on a stream launches. Loading a module
// may wait until running kernels end. Such a kernel may itself wait for a peer, and the peer for
// this process: a deadlock. Prepare calls in such a situation before any rank launches.
func (c *Comm) Prepare(s cudart.Stream, a *Algorithm, call Call) error {
	for _, other := range a.Others {
		if _, err := c.Load(other); err != nil {
			return err
		}
	}
	if a.Needs.Library != "" {
		_, err := c.library(a, call)
		return err
	}
	if a.Prepare != nil {
		return a.Prepare(c, s, call)
	}
	k, err := c.kernelFor(a, call)
	if err != nil || !c.brief(call) {
		return err
	}
	return s.Prepare(k.kernel)
}

// brief reports whether a call ends before the host can launch the next one.
func (c *Comm) brief(call Call) bool { return c.cfg.BriefBytes > 0 && call.Bytes() <= c.cfg.BriefBytes }

// Launch puts the algorithm's kernel for a call on the stream.
func (c *Comm) Launch(s cudart.Stream, a *Algorithm, call Call, shape cudart.Launch, p *Params) error {
	if err := c.Admit(a, call); err != nil {
		return err
	}
	return c.launch(s, a, call, shape, p)
}

// launch is Launch without the checks of Admit.
func (c *Comm) launch(s cudart.Stream, a *Algorithm, call Call, shape cudart.Launch, p *Params) error {
	k, err := c.kernelFor(a, call)
	if err != nil {
		return err
	}
	shape.PDL, shape.ShortRunning = k.pdl, c.brief(call)
	c.launched = *p
	return s.Launch(k.kernel, shape, c.launched.Bytes())
}

// Admit returns an error for a call that would access memory out of bounds, or that no kernel can
// finish. It does not check that there is a kernel: Load does.
func (c *Comm) Admit(a *Algorithm, call Call) error {
	refuse := func(why string) error { return fmt.Errorf("%s %s cannot run: %s", a.Collective, a.Name, why) }
	switch n := a.Needs; {
	case n.Packets && c.cfg.PacketBytes < PacketAreaBytes(1):
		return refuse("there is no room for packets")
	case n.Mailboxes && c.cfg.MailboxBytes < MailboxAreaBytes(1):
		return refuse("there is no room for mailboxes")
	case n.Multicast && c.cfg.Multicast == 0:
		return refuse("the memory has no multicast address")
	case n.SeparateOutput && call.Send == call.Recv && call.Count > 0:
		return refuse("its output must not be its input")
	case call.Root < 0 || call.Root >= c.World():
		return refuse(fmt.Sprintf("there is no root %d among %d ranks", call.Root, c.World()))
	}
	return a.checkEpilogue(call, c.World())
}

func (c *Comm) kernelFor(a *Algorithm, call Call) (loaded, error) {
	key := kernelKey{a, call.DType.Name, call.Op, call.Epilogue.Kind}
	if k, ok := c.kernels[key]; ok {
		return k, nil
	}
	k, err := c.load(a, call)
	if err == nil {
		c.kernels[key] = k
	}
	return k, err
}

// LaunchOther puts an entry point of Algorithm.Others on the stream.
func (c *Comm) LaunchOther(s cudart.Stream, other Kernel, shape cudart.Launch, p *Params) error {
	k, err := c.Load(other)
	if err != nil {
		return err
	}
	c.launched = *p
	return s.Launch(k, shape, c.launched.Bytes())
}

func (c *Comm) load(a *Algorithm, call Call) (loaded, error) {
	if err := a.Check(call, c.World()); err != nil {
		return loaded{}, err
	}
	k, ok := a.Find(call.DType, call.Op, call.Epilogue.Kind, c.World(), c.sm)
	if !ok {
		return loaded{}, fmt.Errorf("%s %s has no kernel for %s of %s on compute capability %d.%d",
			a.Collective, a.Name, call.Op, call.DType.Name, c.sm/10, c.sm%10)
	}
	kernel, err := c.Load(k)
	return loaded{kernel, c.PDL(k)}, err
}

// PDL reports whether a kernel is launched by programmatic dependent launch, unless the caller disables it.
func (c *Comm) PDL(k Kernel) bool { return c.cfg.PDL && k.Module.Arch.PDL() }

// Load finds an entry point. It loads the module when the entry point is first needed, without the others: the driver's
// compiler takes 240 to 460 ms for the four kernels of a reduction, and 80 to 100 for one (kernels/NOTES.md).
func (c *Comm) Load(k Kernel) (cudart.Kernel, error) {
	key := [2]string{k.Module.Name, k.Entry}
	if kernel, ok := c.entries[key]; ok {
		return kernel, nil
	}
	m, err := c.moduleOf(key, func() ([]byte, error) {
		text, err := c.cfg.Source(k.Module.Name)
		return onlyEntry(text, k.Entry), err
	})
	if err != nil {
		return nil, err
	}
	kernel, err := m.Kernel(k.Entry)
	if err != nil {
		return nil, fmt.Errorf("finding kernel %s in %s: %w", k.Entry, k.Module.Name, err)
	}
	c.entries[key] = kernel
	return kernel, nil
}

// moduleOf loads a module once for each name and entry point. The entry point is empty for a module that has all of its
// own.
func (c *Comm) moduleOf(key [2]string, code func() ([]byte, error)) (cudart.Module, error) {
	if m, ok := c.modules[key]; ok {
		return m, nil
	}
	text, err := code()
	if err != nil {
		return nil, err
	}
	m, err := c.cfg.Device.LoadModule(key[0], text)
	if err != nil {
		return nil, fmt.Errorf("loading module %s: %w", key[0], err)
	}
	c.modules[key] = m
	return m, nil
}

// warp is the number of threads that run together.
const (
	warp       = 32
	fewThreads = 128
	maxThreads = MaxThreads
)

// Grid shapes a launch over so many items of work, one for each thread. It prefers many small
// blocks, because blocks on different multiprocessors have more loads in flight. The number of
// blocks is limited by the call or else the algorithm, by Config.SMs, and by the barrier's slots.
// All blocks are therefore resident at once, and all ranks choose the same grid.
func (c *Comm) Grid(a *Algorithm, call Call, items int64) cudart.Launch {
	most := int64(maxThreads)
	if a.Threads > 0 {
		most = int64(a.Threads)
	}
	threads := int64(fewThreads)
	for threads < most && items > threads*int64(c.blocks(a, call, ceilDiv(items, threads))) {
		threads *= 2
	}
	threads = min(threads, roundUp(max(items, 1), warp))
	return cudart.Launch{
		Blocks:  c.blocks(a, call, ceilDiv(items, threads)),
		Threads: int(max(threads, roundUp(int64(c.World()), warp))),
	}
}

// OneBlock shapes the launch of a kernel that is only a barrier.
func (c *Comm) OneBlock() cudart.Launch {
	return cudart.Launch{Blocks: 1, Threads: int(roundUp(int64(c.World()), warp))}
}

// blocks limits a number of blocks.
func (c *Comm) blocks(a *Algorithm, call Call, want int64) int {
	most := min(a.Blocks, c.cfg.SMs, MaxBlocks)
	if call.Blocks > 0 {
		most = min(call.Blocks, c.cfg.SMs, MaxBlocks)
	}
	if c.cfg.MaxBlocks > 0 {
		most = min(most, c.cfg.MaxBlocks)
	}
	if a.Needs.Packets {
		most = min(most, int(c.cfg.PacketBytes/(2*PacketSlotBytes)))
	}
	if a.Needs.Mailboxes {
		most = min(most, int(c.cfg.MailboxBytes/(2*MailboxSlotBytes)))
	}
	return int(max(min(want, int64(most)), 1))
}

// GridOfVecs shapes a launch over so many bytes: a thread for each vector, or, for an epilogue
// that takes whole rows, a block for each row.
func (c *Comm) GridOfVecs(a *Algorithm, call Call, bytes int64) cudart.Launch {
	if call.Epilogue.Kind != RMSNorm {
		return c.Grid(a, call, ceilDiv(bytes, vecBytes))
	}
	row := call.Epilogue.Row * int64(call.DType.Size)
	return cudart.Launch{
		Blocks:  c.blocks(a, call, ceilDiv(bytes, row)),
		Threads: int(min(max(roundUp(row/vecBytes, warp), roundUp(int64(c.World()), warp)), maxThreads)),
	}
}

// TileBytes divides so many bytes evenly among the blocks, in whole vectors or, for an epilogue
// that takes whole rows, in whole rows. A tile has at most `most` bytes.
func TileBytes(call Call, bytes int64, blocks int, most int64) int64 {
	unit := int64(vecBytes)
	if call.Epilogue.Kind == RMSNorm {
		unit = call.Epilogue.Row * int64(call.DType.Size)
	}
	even := roundUp(ceilDiv(bytes, int64(blocks)), unit)
	return min(even, most/unit*unit)
}

// PacketTile is the number of bytes, from each of so many ranks, that fit into a packet slot.
// A packet is twice as large as its data.
func PacketTile(world int) int64 { return PacketSlotBytes / 2 / int64(world) / vecBytes * vecBytes }

// MailboxTile is the number of bytes of one mailbox if a slot holds so many mailboxes.
func MailboxTile(boxes int) int64 { return MailboxSlotBytes / int64(boxes) / vecBytes * vecBytes }

// PipelinedMailboxTile is this number if each mailbox has a spare vector: mailbox_pipeline.cuh.
func PipelinedMailboxTile(boxes int) int64 { return MailboxTile(boxes) - vecBytes }

// KeyedMailboxTile is this number if each row of 32 vectors has a key, a vector more: keyed_mailbox.cuh.
func KeyedMailboxTile(boxes int) int64 {
	const row = warp * vecBytes
	return MailboxTile(boxes) / (row + vecBytes) * row
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

func roundUp(a, b int64) int64 { return ceilDiv(a, b) * b }
