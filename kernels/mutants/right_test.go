package mutants

import (
	"slices"

	"gpurun/cudart/sim/check"
	"gpurun/cudart/sim/check/mutate"
	"gpurun/cudart/sim/check/race"
)

// The causes of races that classes expect.
var (
	noOrder   = race.NoOrder.String()
	narrow    = race.NarrowScope.String()
	overlap   = race.PartialOverlap.String()
	proxy     = race.WrongProxy.String()
	notWaited = race.NotWaitedFor.String()
	lanes     = race.UnorderedLanes.String()
)

// expectation is what findings say of the mistakes of a class: the causes of races, and other kinds.
type expectation struct {
	races []string
	kinds []check.Kind
	// atLine says that the finding must name the line of the mistake.
	atLine bool
	// result says that no order of accesses shows the mistake, so that a wrong result is what can be said: packets and
	// mailboxes are read and written by strong accesses alone, which do not race, and the load that polls one is the load
	// of its data. What a lane does not store may be the reset of a mailbox. Traced, such a result names the load that did
	// not wait, and the store that it should have waited for, or the store that was left out.
	result bool
}

// Who waits for nobody, or is not signaled, takes an earlier signal for the one that is due, loses one, or waits for
// ever.
var signalling = []check.Kind{check.Deadlock, check.StaleFlag, check.LostSignal, check.Uninitialized}

// waiting is signalling, or a loop that never loads again what it waits for.
var waiting = append(slices.Clone(signalling), check.EndlessLoop)

var expectations = map[mutate.Class]expectation{
	mutate.WaitSkipped:   {races: []string{noOrder, notWaited}, kinds: signalling},
	mutate.PeerMissed:    {races: []string{noOrder, notWaited}, kinds: signalling},
	mutate.PacketSkipped: {races: []string{noOrder}, kinds: waiting, result: true},
	mutate.PacketMissed:  {races: []string{noOrder}, kinds: waiting, result: true},
	mutate.WrongPeer:     {races: []string{noOrder}, kinds: signalling},
	mutate.FirstWord:     {kinds: []check.Kind{check.Torn}, result: true},
	mutate.BarrierRemoved: {
		races: []string{noOrder, notWaited, lanes}, kinds: []check.Kind{check.Uninitialized, check.BarrierDivergence},
	},
	mutate.WarpSyncRemoved:  {races: []string{noOrder, lanes}},
	mutate.ClusterRemoved:   {races: []string{noOrder}, kinds: []check.Kind{check.Uninitialized, check.Freed}},
	mutate.FlagFirst:        {races: []string{noOrder}},
	mutate.ReleaseRelaxed:   {races: []string{noOrder}},
	mutate.ReleaseWeak:      {races: []string{noOrder}},
	mutate.AcquireRelaxed:   {races: []string{noOrder}},
	mutate.AcquireWeak:      {races: []string{noOrder}},
	mutate.RelaxedWeak:      {races: []string{noOrder, overlap}, atLine: true},
	mutate.ScopeGPU:         {races: []string{narrow}, atLine: true},
	mutate.ScopeBlock:       {races: []string{narrow}, atLine: true},
	mutate.FenceRemoved:     {races: []string{noOrder, proxy}},
	mutate.ProxyRemoved:     {races: []string{proxy}},
	mutate.EpochStuck:       {races: []string{noOrder}, kinds: signalling, result: true},
	mutate.EpochDoubled:     {races: []string{noOrder}, kinds: signalling, result: true},
	mutate.ParityConstant:   {races: []string{noOrder}, kinds: signalling, result: true},
	mutate.ResetSkipped:     {races: []string{noOrder}, kinds: signalling, result: true},
	mutate.LaneDropped:      {races: []string{noOrder}, kinds: signalling, result: true},
	mutate.PacketTorn:       {races: []string{overlap}, kinds: []check.Kind{check.Torn}, atLine: true},
	mutate.DependencyLost:   {races: []string{check.PriorNotWaited}},
	mutate.BulkWaitRead:     {races: []string{noOrder, notWaited}},
	mutate.AsyncWaitRemoved: {races: []string{noOrder, notWaited}},
	mutate.AsyncWaitLate:    {races: []string{noOrder, notWaited}},
	mutate.PhaseFlipped:     {races: []string{noOrder, notWaited}, kinds: signalling},
	mutate.MatrixWait:       {races: []string{noOrder, notWaited, proxy}},
}

// right reports whether a finding says what a mistake is: its cause, and all that took part.
func right(m *mutate.Mutant, f *check.Finding) bool {
	e := expectations[m.Class]
	switch {
	case f.Kind == check.WrongResult:
		named := func(line int) bool { return names(f, line) }
		return e.result && !slices.ContainsFunc(f.Sides, isNowhere) && (named(m.Line) || slices.ContainsFunc(m.Loads, named))
	case f.Kind == check.Race && !slices.Contains(e.races, f.Cause):
		return false
	case f.Kind != check.Race && !slices.Contains(e.kinds, f.Kind):
		return false
	case f.Kind == check.Deadlock:
		return slices.ContainsFunc(f.Waits, func(w check.Wait) bool { return w.Line > 0 && w.For != "" })
	}
	return !slices.ContainsFunc(f.Sides, isNowhere) && (!e.atLine || names(f, m.Line))
}

// isNowhere reports whether a side is neither a line nor a command.
func isNowhere(a check.Access) bool { return a.Line == 0 && a.Command == "" }

// names reports whether a finding names a line: as a side, or in the flag between them.
func names(f *check.Finding, line int) bool {
	at := func(a check.Access) bool { return a.Line == line }
	return slices.ContainsFunc(f.Sides, at) || f.Flag != nil && slices.ContainsFunc(f.Flag[:], at)
}

// same reports whether two findings are of one kind and cause, at the same lines.
func same(a, b *check.Finding) bool {
	return a.Kind == b.Kind && a.Cause == b.Cause && slices.EqualFunc(a.Sides, b.Sides, func(a, b check.Access) bool {
		return a.Line == b.Line && a.Module == b.Module
	})
}
