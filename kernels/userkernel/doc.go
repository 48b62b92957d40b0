// Package userkernel makes algorithms of kernel files: a kernel that a user brings then runs, is verified and is
// measured like gpurun's own. Package kernelfile reads the files and evaluates their expressions; this package has the
// memory, the modules and the stream.
//
// A file is for a collective ([New], [Extend]), a computation of its own ([Custom]), or a product of matrices
// ([NewProduct], [ExtendOperation]).
//
// The buffers of a file are areas of symmetric memory: see [collective.Area]. An area is as large as the largest call
// of the job needs it, so that it has the same address in all calls, and signals of one call are there in the next. The
// bytes of arguments are computed once for each kind of call. Numbers that depend on the number of the call are written
// into them before each launch; where an address or a grid depends on it, all is computed anew.
package userkernel
