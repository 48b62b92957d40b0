package exec

import "runtime"

// hostOrdersAccesses: a plain load of the host acquires, and a plain store releases, as on x86. Strong
// accesses of a warp may then be made by loops over plain ones, which take aligned words whole. Elsewhere
// each word takes an atomic access of its own.
const hostOrdersAccesses = runtime.GOARCH == "amd64"
