package exec

import (
	"fmt"
	"io"
	"strings"
)

// maxPrintfArguments is how many arguments CUDA's printf takes beside the format.
const maxPrintfArguments = 32

// printFormatted is vprintf(format, arguments). The arguments are as a caller in C passes them: integers of
// 4 or 8 bytes, doubles and pointers, each at a multiple of its size. The result is the number of
// arguments, or -1 where there is an error.
func printFormatted(w *warp, s *callSite, lane int) error {
	at := s.argument(w, 0, lane)
	if at == 0 {
		s.setResult(w, lane, fullMask) // -1
		return nil
	}
	format, err := w.text(at, lane)
	if err != nil {
		return err
	}
	p := &printer{warp: w, lane: lane, args: s.argument(w, 1, lane)}
	for format != "" && p.err == nil {
		at := strings.IndexByte(format, '%')
		if at < 0 {
			at = len(format)
		}
		p.out.WriteString(format[:at])
		if format = format[at:]; format != "" {
			format = format[p.conversion(format):]
		}
	}
	if p.err != nil {
		return p.err
	}
	if out := w.grid.cfg.Output; out != nil {
		if _, err := io.WriteString(out, p.out.String()); err != nil {
			return fmt.Errorf("writing what a kernel prints: %w", err)
		}
	}
	s.setResult(w, lane, uint64(p.count))
	return nil
}

// printer formats the text of one lane.
type printer struct {
	warp  *warp
	lane  int
	args  uint64 // the generic address of the arguments
	at    uint64 // of the next one, from there
	count int
	out   strings.Builder
	err   error
}

// next reads an argument of so many bytes.
func (p *printer) next(bytes uint64) uint64 {
	p.at = (p.at + bytes - 1) &^ (bytes - 1)
	at, err := p.warp.rangeAt(p.args+p.at, bytes, bytes, p.lane)
	if err != nil || p.count == maxPrintfArguments {
		if err == nil {
			err = p.warp.fault(IllegalInstruction, p.lane, "printf takes %d arguments at most", maxPrintfArguments)
		}
		p.err = err
		return 0
	}
	p.at += bytes
	p.count++
	return p.warp.seen(at, bytes, p.lane)
}
