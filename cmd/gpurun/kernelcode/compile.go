package kernelcode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gpurun/cmd/gpurun/settings"
	"gpurun/worker/process/spawn"
)

// A command of a kernel file makes PTX or a cubin of a source. It runs without a shell, in a temporary folder of its
// own, in a process group that is killed as a whole.

const (
	// compileTimeout is the longest that a command may take.
	compileTimeout = 5 * time.Minute
	// drainTimeout is how long the command's output may stay open after its end.
	drainTimeout = time.Second
	// outputName is the name in the temporary folder that {output} stands for.
	outputName = "output"
	// maxMessages are the bytes of a failed command's output that are shown.
	maxMessages = 16 << 10
)

// command is a command whose places are filled in, but for {output}.
type command struct {
	words  []string
	source string // absolute
}

// newCommand splits a command and fills in {source}, and {folder}, which is that of the kernel file; fill stands for
// the other names.
func newCommand(text, source, folder string, fill func(string) string) (command, error) {
	words, err := splitWords(text)
	if err != nil {
		return command{}, err
	}
	if source, err = filepath.Abs(source); err != nil {
		return command{}, err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return command{}, err
	}
	for i, word := range words {
		words[i] = strings.NewReplacer("{source}", source, "{folder}", folder).Replace(fill(word))
	}
	c := command{words, source}
	if !strings.Contains(text, "{output}") || !strings.Contains(text, "{source}") {
		return c, errors.New("the command must have {source} and {output}: nvcc -ptx -arch=sm_90 -o {output} {source}")
	}
	return c, nil
}

// writing is the command with the place of its output filled in.
func (c command) writing(output string) []string {
	words := make([]string, len(c.words))
	for i, word := range c.words {
		words[i] = strings.ReplaceAll(word, "{output}", output)
	}
	return words
}

// compile returns the output of a command, from the cache if it has run before.
func compile(ctx context.Context, c command, notify func(string)) ([]byte, error) {
	key, err := cacheKey(c.words, c.source)
	if err != nil {
		return nil, err
	}
	folder, err := cacheFolder()
	if err == nil {
		if code, err := settings.ReadFile(filepath.Join(folder, key), maxCodeBytes); err == nil {
			return code, nil
		}
	}
	code, failed := c.run(ctx)
	if failed != nil {
		return nil, failed
	}
	if err == nil {
		err = store(folder, key, code)
	}
	if err != nil {
		notify(fmt.Sprintf("the compiled code is not kept for the next run: %v", err))
	}
	return code, nil
}

// run runs the command in a temporary folder, and returns what it wrote.
func (c command) run(ctx context.Context) (code []byte, err error) {
	scratch, err := newScratch()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, scratch.remove()) }()
	output := filepath.Join(scratch.path, outputName)
	words := c.writing(output)
	if err := execute(ctx, words, scratch.path); err != nil {
		return nil, err
	}
	code, err = settings.ReadFile(output, maxCodeBytes)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &commandError{"the command ended without an error, and wrote nothing to {output}: " + shown(words)}
	}
	return code, err
}

// commandError is a command that failed, and what it printed.
type commandError struct{ text string }

func (e *commandError) Error() string { return e.text }

// execute runs a command to its end.
func execute(ctx context.Context, words []string, folder string) error {
	limited, cancel := context.WithTimeoutCause(ctx, compileTimeout,
		fmt.Errorf("the command took longer than %v", compileTimeout))
	defer cancel()
	var printed bytes.Buffer
	cmd := exec.CommandContext(limited, words[0], words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = folder, &printed, &printed, drainTimeout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	killGroup := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = killGroup
	thread := spawn.NewThread()
	defer thread.Close()
	if err := thread.Start(ctx, cmd, nil); err != nil {
		return fmt.Errorf("running %s: %w", shown(words), err)
	}
	err := cmd.Wait()
	_ = killGroup() // what the command left behind; mostly there is nothing, which is an error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		return &commandError{fmt.Sprintf("%v: %s", context.Cause(limited), shown(words))}
	case err != nil:
		return &commandError{fmt.Sprintf("the command failed (%v): %s\n%s", err, shown(words), ending(printed.String()))}
	}
	return nil
}

// ending is the text, or its last part if it is long.
func ending(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > maxMessages {
		text = "...\n" + text[len(text)-maxMessages:]
	}
	return text
}
