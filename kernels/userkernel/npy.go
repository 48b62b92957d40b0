package userkernel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"slices"

	"gpurun/kernels/collective"
)

// npyTypes are the names of element types in .npy files (NumPy, "NEP 1: A simple file format for NumPy arrays"). NumPy
// has no names for bfloat16 and 8-bit floats: their files hold integers of the size.
var npyTypes = map[string][]string{
	"<f8": {collective.Double.Name}, "<f4": {collective.Float.Name}, "<f2": {collective.Half.Name},
	"<i8": {collective.Int64.Name}, "<i4": {collective.Int32.Name}, "|i1": {collective.Int8.Name},
	"<u8": {collective.UInt64.Name}, "<u4": {collective.UInt32.Name}, "<u2": {collective.BFloat16.Name},
	"|u1": {collective.UInt8.Name, collective.F8E4M3.Name, collective.F8E5M2.Name},
}

var (
	npyDescr   = regexp.MustCompile(`'descr': *'([^']+)'`)
	npyFortran = regexp.MustCompile(`'fortran_order': *True`)
)

// readNPY reads the elements of a .npy file, in the order of C.
func readNPY(path string, d collective.DType) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	header, content, err := splitNPY(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	descr := npyDescr.FindStringSubmatch(header)
	switch {
	case descr == nil:
		return nil, fmt.Errorf("%s: the header names no type", path)
	case npyFortran.MatchString(header):
		return nil, fmt.Errorf("%s is in Fortran's order; save numpy.ascontiguousarray of it", path)
	case !slices.Contains(npyTypes[descr[1]], d.Name):
		return nil, fmt.Errorf("%s has elements of type %s, not of %s", path, descr[1], d.Name)
	}
	return content, nil
}

// splitNPY separates the header of versions 1 to 3 from the elements.
func splitNPY(text []byte) (header string, content []byte, err error) {
	const magic = "\x93NUMPY"
	if len(text) < 12 || !bytes.HasPrefix(text, []byte(magic)) {
		return "", nil, fmt.Errorf("it is no .npy file")
	}
	begin, length := 10, int(binary.LittleEndian.Uint16(text[8:]))
	if text[6] >= 2 {
		begin, length = 12, int(binary.LittleEndian.Uint32(text[8:]))
	}
	if length > len(text)-begin || length < 0 {
		return "", nil, fmt.Errorf("its header is cut off")
	}
	return string(text[begin : begin+length]), text[begin+length:], nil
}
