package processtest

import "flag"

// ManyAtOnce lets parallel tests run eight at a time instead of one per core: they wait for processes, and hardly
// compute. TestMain calls it before it runs the tests; -parallel overrides it.
func ManyAtOnce() {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // the program is no test
	}
}
