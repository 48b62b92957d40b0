package collective

import "bytes"

// onlyEntry leaves one entry point in the PTX of a module. The lines of all others are empty, so that the numbers of
// lines in a compiler's messages stay as they are.
func onlyEntry(text []byte, entry string) []byte {
	const keyword = ".entry "
	left := make([]byte, 0, len(text))
	other, depth := false, 0 // whether this line is of another entry point, and how many braces are open
	for line := range bytes.Lines(text) {
		if at := bytes.Index(line, []byte(keyword)); at >= 0 && depth == 0 {
			name, _, _ := bytes.Cut(line[at+len(keyword):], []byte("("))
			other = string(bytes.TrimSpace(name)) != entry
		}
		opened := bytes.Count(line, []byte("{"))
		depth += opened - bytes.Count(line, []byte("}"))
		ends := depth == 0 && (opened > 0 || bytes.Contains(line, []byte("}")))
		if !other {
			left = append(left, line...)
		} else if bytes.HasSuffix(line, []byte("\n")) {
			left = append(left, '\n')
		}
		other = other && !ends
	}
	return left
}
