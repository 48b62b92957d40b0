package cudart

// ParamPlacer is a kernel that takes its parameters one by one from the bytes of a launch.
type ParamPlacer interface {
	// PlaceParams says at which byte each parameter begins. Without it, a device looks for them where the compiled kernel
	// has them. Those are the places of a C struct if no parameter but the first is aligned to more than 16 bytes. The
	// error is ErrInvalidValue where the kernel has another number of parameters.
	PlaceParams(offsets []int) error
}
