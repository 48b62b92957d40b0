package collective

import (
	"fmt"

	"gpurun/cudart"
)

// kernelKey names what calls of one kind need; loaded is what does them.
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

// Prepare loads what a call of the algorithm on a stream launches, if that is not loaded
// yet. To load a module the driver may wait for kernels that run, and those may be
// waiting for a peer: a caller whose peers wait for this process must prepare the call before.
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
	k, err := c.kernelFor(a, call)
	if err != nil || !c.brief(call) {
		return err
	}
	return s.Prepare(k.kernel)
}

// brief reports whether a call is over before the host could launch another.
func (c *Comm) brief(call Call) bool { return c.cfg.BriefBytes > 0 && call.Bytes() <= c.cfg.BriefBytes }

// Launch puts the algorithm's kernel for a call on the stream.
func (c *Comm) Launch(s cudart.Stream, a *Algorithm, call Call, shape cudart.Launch, p *Params) error {
	if err := c.Admit(a, call); err != nil {
		return err
	}
	return c.launch(s, a, call, shape, p)
}

// launch is Launch of a call that has been admitted.
func (c *Comm) launch(s cudart.Stream, a *Algorithm, call Call, shape cudart.Launch, p *Params) error {
	k, err := c.kernelFor(a, call)
	if err != nil {
		return err
	}
	shape.PDL, shape.ShortRunning = k.pdl, c.brief(call)
	c.launched = *p
	return s.Launch(k.kernel, shape, c.launched.Bytes())
}

// Admit refuses what would write to memory that is not there, and what no kernel
// could ever finish. Whether there is a kernel, its loading says.
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

// LaunchOther puts an entry point that serves an algorithm on the stream.
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

// PDL reports whether a kernel is launched before the one in front of it has ended, if its caller has nothing against
// it.
func (c *Comm) PDL(k Kernel) bool { return c.cfg.PDL && k.Module.Arch.PDL() }

// Load finds an entry point, loading its module when it is first needed.
func (c *Comm) Load(k Kernel) (cudart.Kernel, error) {
	key := [2]string{k.Module.Name, k.Entry}
	if kernel, ok := c.entries[key]; ok {
		return kernel, nil
	}
	m, err := c.module(k.Module.Name)
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

func (c *Comm) module(name string) (cudart.Module, error) {
	if m, ok := c.modules[name]; ok {
		return m, nil
	}
	text, err := c.cfg.Source(name)
	if err != nil {
		return nil, err
	}
	m, err := c.cfg.Device.LoadModule(name, text)
	if err != nil {
		return nil, fmt.Errorf("loading module %s: %w", name, err)
	}
	c.modules[name] = m
	return m, nil
}

// warp is the number of threads that run together.
const (
	warp       = 32
	fewThreads = 128
	maxThreads = MaxThreads
)

// Grid shapes a launch over items units of work, one for each thread: blocks of
// few threads, as long as there are enough blocks for all work, because blocks on
// different multiprocessors have more loads on their way; and no more blocks than
// the call or else the algorithm asks for, than the devices have multiprocessors,
// and than may meet at a barrier. All blocks are therefore resident, and all ranks
// choose alike.
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

// OneBlock shapes a launch that is nothing but a barrier.
func (c *Comm) OneBlock() cudart.Launch {
	return cudart.Launch{Blocks: 1, Threads: int(roundUp(int64(c.World()), warp))}
}

// blocks bounds a number of blocks.
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

// GridOfVecs shapes a launch over bytes bytes, cut into vectors, or, for an
// epilogue that takes whole rows, into rows, one for a block.
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

// TileBytes splits so many bytes evenly over the blocks, in whole vectors or, for an
// epilogue that takes whole rows, rows, as far as most bytes hold it.
func TileBytes(call Call, bytes int64, blocks int, most int64) int64 {
	unit := int64(vecBytes)
	if call.Epilogue.Kind == RMSNorm {
		unit = call.Epilogue.Row * int64(call.DType.Size)
	}
	even := roundUp(ceilDiv(bytes, int64(blocks)), unit)
	return min(even, most/unit*unit)
}

// PacketTile is how many bytes of a part, of each of so many ranks, fit into a
// slot of packets, which are twice as large as their data.
func PacketTile(world int) int64 { return PacketSlotBytes / 2 / int64(world) / vecBytes * vecBytes }

// MailboxTile is how many bytes of each of so many boxes fit into a slot of mailboxes.
func MailboxTile(boxes int) int64 { return MailboxSlotBytes / int64(boxes) / vecBytes * vecBytes }

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

func roundUp(a, b int64) int64 { return ceilDiv(a, b) * b }
