// Package kernelfile reads kernel files. A kernel file describes a kernel that a user brings: what it computes, where
// its code is, how it is launched, which arguments it takes, and what it promises. gpurun runs, verifies and measures
// it as one of its own algorithms.
//
// A [File] is data. [Parse] checks it as far as that is possible without code and devices. [File.Bind] evaluates its
// expressions for one call of one rank: grids, sizes of buffers, the bytes of all arguments. Whoever calls Bind
// supplies the addresses. Nothing here opens a device, reads a module or runs a command.
//
// Every error names file and line: see [Error].
package kernelfile
