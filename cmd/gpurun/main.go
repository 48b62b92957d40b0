// Command gpurun launches one process per GPU and runs collectives on all of
// them, verified, or any other program.
package main

import "os"

func main() {
	os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
