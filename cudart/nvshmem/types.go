package nvshmem

import "fmt"

// DataType is an element type. The numbers are this package's: NVSHMEM has a
// function for each type and reduction instead.
type DataType int32

// The element types. NVSHMEM has no 8-bit floats: it can copy them, and cannot
// reduce them.
const (
	Int8 DataType = iota
	Uint8
	Int32
	Uint32
	Int64
	Uint64
	Float16
	Float32
	Float64
	BFloat16
	Float8e4m3
	Float8e5m2
	types // how many
)

// String is the type's name within names of functions.
func (t DataType) String() string {
	names := [types]string{
		Int8: "int8", Uint8: "uint8", Int32: "int32", Uint32: "uint32", Int64: "int64", Uint64: "uint64",
		Float16: "half", Float32: "float", Float64: "double", BFloat16: "bfloat16",
		Float8e4m3: "float8e4m3", Float8e5m2: "float8e5m2",
	}
	if t < 0 || t >= types {
		return fmt.Sprintf("DataType(%d)", int32(t))
	}
	return names[t]
}

// carrier is the type by whose functions elements are copied.
func (t DataType) carrier() DataType {
	if t == Float8e4m3 || t == Float8e5m2 {
		return Uint8
	}
	return t
}

// RedOp is a reduction. The numbers are this package's.
type RedOp int32

// The reductions. NVSHMEM has no average.
const (
	Sum RedOp = iota
	Prod
	Max
	Min
	Avg
	ops // how many
)

// String is the reduction's name within names of functions.
func (o RedOp) String() string {
	names := [ops]string{Sum: "sum", Prod: "prod", Max: "max", Min: "min", Avg: "avg"}
	if o < 0 || o >= ops {
		return fmt.Sprintf("RedOp(%d)", int32(o))
	}
	return names[o]
}

// Supports reports whether this NVSHMEM has functions that reduce elements of
// type t by op. Copies take every type.
func (l *Library) Supports(t DataType, op RedOp) error {
	if t < 0 || t >= types || op < 0 || op >= ops ||
		!l.fns.reduce[t][op].Found() || !l.fns.reduceScatter[t][op].Found() {
		return fmt.Errorf("NVSHMEM %s has no function that reduces %s by %s", l.version, t, op)
	}
	return nil
}
