package nccl

import "fmt"

// DataType is an ncclDataType_t.
type DataType int32

// The element types, by nccl.h's numbers. The 8-bit floats are there since
// 2.24; NCCL reduces them on GPUs of compute capability 9.0 and newer only.
const (
	Int8       DataType = 0
	Uint8      DataType = 1
	Int32      DataType = 2
	Uint32     DataType = 3
	Int64      DataType = 4
	Uint64     DataType = 5
	Float16    DataType = 6
	Float32    DataType = 7
	Float64    DataType = 8
	BFloat16   DataType = 9
	Float8e4m3 DataType = 10
	Float8e5m2 DataType = 11
)

// Size is the size of an element in bytes; 0 for no type of NCCL's.
func (t DataType) Size() int {
	switch t {
	case Int8, Uint8, Float8e4m3, Float8e5m2:
		return 1
	case Float16, BFloat16:
		return 2
	case Int32, Uint32, Float32:
		return 4
	case Int64, Uint64, Float64:
		return 8
	}
	return 0
}

// RedOp is an ncclRedOp_t.
type RedOp int32

// The reductions, by nccl.h's numbers.
const (
	Sum  RedOp = 0
	Prod RedOp = 1
	Max  RedOp = 2
	Min  RedOp = 3
	Avg  RedOp = 4
)

// Supports reports whether this version of NCCL takes elements of type t and,
// where it reduces them, op. The error names the version that is needed.
func (l *Library) Supports(t DataType, op RedOp) error {
	since := Version{Major: 2, Minor: 24}
	switch {
	case t.Size() == 0:
		return fmt.Errorf("NCCL has no data type %d", t)
	case op < Sum || op > Avg:
		return fmt.Errorf("NCCL has no reduction %d", op)
	case (t == Float8e4m3 || t == Float8e5m2) && l.version.Before(since):
		return fmt.Errorf("8-bit floats need NCCL %s, and %s is %s", since, l.path, l.version)
	}
	return nil
}
