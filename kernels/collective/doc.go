// Package collective defines collectives, algorithms and calls, the kernels' parameter block,
// and the communicator. The algorithms are in the sibling packages, one for each collective.
//
// An [Algorithm] lists its entry points as data: module, element type, operation, world size, epilogue. Lists, checks,
// the choice of a kernel, the build of the PTX and the tests read that list. A module is one algorithm, element type
// and architecture. sm_80 is for every GPU; sm_90 adds programmatic dependent launch, multimem, bulk copies and
// conversions of 8-bit floats; sm_90a products by warpgroups; sm_100a multimem of 8-bit floats. The [Comm] loads the
// newest module that the device can run when a call first needs it.
//
// A call whose parts are no larger than Config.BriefBytes is launched as a graph of one kernel: that takes the least
// host time. [Comm.RunConcurrently] forks a stream for work that overlaps with a call, and joins it; a capture
// includes both.
//
// What the kernels do with epochs, slots, packets and mailboxes is described in package device.
package collective
