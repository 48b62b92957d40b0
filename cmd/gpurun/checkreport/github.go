package checkreport

import (
	"fmt"
	"io"

	"gpurun/worker/result/ci"
)

// Annotate writes a workflow command of GitHub Actions for each cause, which shows it at its line.
func Annotate(w io.Writer, r Report) error {
	for _, f := range r.causes() {
		var file string
		var line int
		if main := f.mainSide(); main >= 0 {
			file, line = f.Sides[main].Place()
		}
		level := "error"
		if f.Note {
			level = "notice"
		}
		if _, err := fmt.Fprintln(w, ci.AnnotationAt(level, file, line, "gpurun check: "+f.Rule(), f.Message())); err != nil {
			return err
		}
	}
	return nil
}
