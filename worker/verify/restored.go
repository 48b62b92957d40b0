package verify

import "fmt"

// RestoreError reports that a call did not leave a buffer as it was at first, as its kernel file promises.
type RestoreError struct {
	Buffer    string
	Offset    int64 // of the first byte that differs
	Want, Got byte
}

func (e *RestoreError) Error() string {
	return fmt.Sprintf("the kernel has not restored the buffer %s: byte %d was 0x%02x before the first call, and is "+
		"0x%02x; without restored = true in the kernel file, gpurun does not check that", e.Buffer, e.Offset, e.Want, e.Got)
}
