// Command arm64init is the first process of the machines that scripts/packages/arm64.sh and scripts/fault-clock.sh
// emulate. It runs the lines of /commands one after the other, says how each ended, and switches the machine off.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

func main() {
	for kind, folder := range map[string]string{"proc": "/proc", "devtmpfs": "/dev", "tmpfs": "/tmp"} {
		if err := syscall.Mount(kind, folder, kind, 0, ""); err != nil {
			fmt.Printf("mounting %s: %v\n", folder, err)
		}
	}
	commands, err := os.ReadFile("/commands")
	if err != nil {
		fmt.Println(err)
	}
	os.Setenv("PATH", "/usr/bin")
	os.Setenv("HOME", "/tmp")
	for line := range strings.Lines(string(commands)) {
		words := strings.Fields(line)
		c := exec.Command(words[0], words[1:]...)
		c.Stdout, c.Stderr = os.Stdout, os.Stdout
		fmt.Printf("$ %s", line)
		if err := c.Run(); err != nil {
			fmt.Printf("FAILED: %v\n", err)
		}
	}
	fmt.Println("end of commands")
	fmt.Println(syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)) // it returns on an error
}
