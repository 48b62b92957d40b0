// Package suite has kernels of different character, each with a reference in Go, which the simulator must run right.
//
// The sources are in kernels/, a file for each family. clang compiles them without NVIDIA's headers, and their PTX
// is committed beside them. A test file for each family has a table of its kernels: the launch, the arguments, and
// the results, computed in Go. Outputs are poisoned before the launch. They must be equal to the last bit, unless a
// kernel uses an approximation of the hardware: then the table gives a bound.
//
// [gpurun/cudart/sim] runs every kernel in order and with disorder. Where there is a GPU, it runs the same tables,
// and its exact results are compared with the simulator's.
package suite

//go:generate go run ./build
