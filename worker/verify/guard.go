package verify

import "fmt"

// GuardError reports that a call wrote beside a buffer.
type GuardError struct {
	Rank         int    // whose memory it is
	Case, When   string // the call
	Buffer       string
	Offset, Size int64 // of the first byte written, from the begin of the buffer; and the buffer's size
	Bytes        int   // how many bytes were written there, of those that are guarded
}

func (e *GuardError) Error() string {
	place := fmt.Sprintf("%d bytes behind the %s of rank %d, which has %d bytes", e.Offset-e.Size, e.Buffer, e.Rank, e.Size)
	if e.Offset < 0 {
		place = fmt.Sprintf("%d bytes in front of the %s of rank %d", -e.Offset, e.Buffer, e.Rank)
	}
	return fmt.Sprintf("%s, %s: the kernel wrote out of bounds: offset %d of the %s, %s; %d bytes there have changed",
		e.Case, e.When, e.Offset, e.Buffer, place, e.Bytes)
}

// RestoreError reports that a call did not leave a buffer as it was at first, as its kernel file promises.
type RestoreError struct {
	Rank       int
	Case, When string
	Buffer     string
	Offset     int64
	Want, Got  byte
}

func (e *RestoreError) Error() string {
	return fmt.Sprintf("%s, %s: the kernel did not restore the buffer %s of rank %d: byte %d was 0x%02x before the first call "+
		"and is 0x%02x; restored = false tells gpurun that it does not", e.Case, e.When, e.Buffer, e.Rank, e.Offset, e.Want, e.Got)
}
