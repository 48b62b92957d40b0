package result

import "io"

// tableWidth is the number of characters in a row of nccl-tests' table.
const tableWidth = 118

// NewTable makes the renderer of [TableFormat] for a terminal with so many columns; 0 is any number. Where a row would
// not fit, it leaves out what the comment above a sweep names: the type, the operation, the elements and the root.
func NewTable(w io.Writer, width int) Renderer {
	return &table{w: w, narrow: width > 0 && width < tableWidth}
}

// narrowHeader is [tableHeader] without the columns that are left out.
const narrowHeader = "" +
	"#\n" +
	"#                     out-of-place                       in-place\n" +
	"#       size     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n" +
	"#        (B)     (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n"
