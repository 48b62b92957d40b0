package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
)

// refuseInFront refuses flags in front of a command that other launchers have there and that mean
// something else to gpurun's command: mpirun -n 4 runs 4 processes, allreduce -n 4 times 4 calls.
func refuseInFront(root *cobra.Command, words []string) error {
	at := slices.IndexFunc(words, func(word string) bool { return word == "--" || namesCommand(root, word) })
	if at < 0 || words[at] == "--" {
		return nil
	}
	for i, word := range words[:at] {
		meaning := meantInFront(word)
		if word == "-e" && strings.Contains(words[i+1], "=") {
			meaning = "is docker's: processes inherit the environment: write VARIABLE gpurun COMMAND"
			meaning = strings.Replace(meaning, "VARIABLE", words[i+1], 1)
		}
		if variable, _, ok := strings.Cut(words[i+1], "="); word == "-x" && i+1 < at {
			meaning = "is mpirun's: processes inherit the environment: write gpurun COMMAND"
			if ok {
				meaning = "is mpirun's: processes inherit " + variable + ": write " + words[i+1] + " gpurun COMMAND"
			}
		}
		if meaning == "" {
			continue
		}
		value := "N"
		_, behind, joined := strings.Cut(word, "=")
		if !joined {
			behind = words[i+1]
		}
		if _, err := strconv.Atoi(behind); err == nil {
			value = behind
		}
		text := strings.NewReplacer("COMMAND", words[at], "VALUE", value).Replace(meaning)
		return usageError(exit.Usagef("%s in front of %q %s", word, words[at], text), root)
	}
	return nil
}

// namesCommand reports whether a word is the name or an alias of one of root's commands.
func namesCommand(root *cobra.Command, word string) bool {
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool {
		return c.Name() == word || c.HasAlias(word)
	})
}

// meantInFront says what a flag means to the launchers that have it in front of the program, and what to write; or is
// empty.
func meantInFront(word string) string {
	name, _, _ := strings.Cut(word, "=")
	if len(name) > 2 && name[1] != '-' { // -n4
		if trimmed := strings.TrimRight(name, "0123456789"); len(trimmed) == 2 {
			name = trimmed
		}
	}
	switch name {
	case "-n", "-np", "--np":
		return "is mpirun's number of processes: write gpurun --nproc-per-node VALUE COMMAND; " +
			"the number of timed calls is given behind the command: gpurun COMMAND -n VALUE"
	case "-host", "-hostfile":
		return "is mpirun's: gpurun is started once on each machine, " +
			"and --nnodes, --node-rank and --master-addr say which one this is"
	case "-it", "-ti":
		return "is docker's, and gpurun starts no containers: write gpurun COMMAND"
	case "-N":
		return "is srun's number of machines: write gpurun --nnodes VALUE COMMAND; " +
			"the number of sweeps is given behind the command: gpurun COMMAND -N VALUE"
	case "-r":
		return "is torchrun's --redirects, which applies to launched programs; a root is given behind the command, " +
			"which must have one: gpurun broadcast -r VALUE"
	case "-t":
		return "is torchrun's --tee, which applies to launched programs; " +
			"gpurun --nproc-per-node VALUE COMMAND sets the number of processes"
	}
	return ""
}
