package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"gpurun/worker/process/output"
	"gpurun/worker/process/report"
)

// streams are a worker's standard output, standard error and reports, at the agent's end.
type streams struct {
	stdout, stderr output.Stream
	reports        *os.File // nil: the worker gets no report pipe
	tail           output.Tail
	// given are the worker's ends. The agent closes them once the worker has started, or
	// could not be started.
	given []*os.File
}

// consoles are the agent's own streams.
type consoles struct{ stdout, stderr *output.Console }

func newConsoles(spec *Spec) (c consoles) {
	c.stdout, c.stderr = output.Consoles(spec.Stdout, spec.Stderr)
	return c
}

// open opens a worker's extra files and streams, and passes them to its command.
func (s *streams) open(spec *Spec, localRank int, to consoles, cmd *exec.Cmd) (err error) {
	if spec.ExtraFiles != nil {
		if s.given, err = spec.ExtraFiles(localRank); err != nil {
			return fmt.Errorf("opening its files: %w", err)
		}
		cmd.ExtraFiles = append(cmd.ExtraFiles, s.given...)
	}
	prefix, raw := spec.prefix(localRank)
	s.stdout = output.Stream{Console: to.stdout, Prefix: prefix, Raw: raw}
	s.stderr = output.Stream{Console: to.stderr, Prefix: prefix, Raw: raw, Tail: &s.tail}
	if s.stdout.Destination, s.stderr.Destination, err = spec.destinations(localRank); err != nil {
		return err
	}
	s.stderr.Raw = raw && s.stderr.Destination.Pass == nil
	stdout, outErr := s.connect(&s.stdout)
	stderr, errErr := s.connect(&s.stderr)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := errors.Join(outErr, errErr); err != nil || spec.Reports == nil {
		return err
	}
	var reports *os.File
	if s.reports, reports, err = s.pipe(); err != nil {
		return err
	}
	const firstExtraFile = 3
	fd := firstExtraFile + len(cmd.ExtraFiles)
	cmd.ExtraFiles = append(cmd.ExtraFiles, reports)
	cmd.Env = append(cmd.Env, report.FDVariable+"="+strconv.Itoa(fd))
	return nil
}

// connect returns what the worker writes a stream to: a pipe, or the file of its
// destination.
func (s *streams) connect(to *output.Stream) (write *os.File, err error) {
	if to.Destination.Direct() {
		s.given = append(s.given, to.Destination.File)
		return to.Destination.File, nil
	}
	to.Pipe, write, err = s.pipe()
	return write, err
}

// pipe makes a pipe of which the worker gets the writing end.
func (s *streams) pipe() (read, write *os.File, err error) {
	read, write, err = os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("making a pipe: %w", err)
	}
	s.given = append(s.given, write)
	return read, write, nil
}

// lastWrite is when the worker last wrote to stdout or stderr; zero: never.
func (s *streams) lastWrite() time.Time {
	at := s.stdout.LastWrite()
	if other := s.stderr.LastWrite(); other.After(at) {
		at = other
	}
	return at
}

// closeGiven closes the worker's ends.
func (s *streams) closeGiven() { closeAll(s.given...) }

// piped returns the streams that the agent copies: those that the worker does not write
// to a file itself.
func (s *streams) piped() (all []*output.Stream) {
	for _, stream := range []*output.Stream{&s.stdout, &s.stderr} {
		if stream.Pipe != nil {
			all = append(all, stream)
		}
	}
	return all
}

// reportPipe returns the agent's end of the report pipe, or nil.
func (s *streams) reportPipe() *os.File { return s.reports }

// pipes returns the agent's ends.
func (s *streams) pipes() (all []*os.File) {
	for _, pipe := range []*os.File{s.stdout.Pipe, s.stderr.Pipe, s.reports} {
		if pipe != nil {
			all = append(all, pipe)
		}
	}
	return all
}

// closePipes closes the agent's ends.
func (s *streams) closePipes() { closeAll(s.pipes()...) }

// closeFiles closes the files that nothing has been written to, of a worker that could
// not be started.
func (s *streams) closeFiles() { closeAll(s.stdout.Destination.File, s.stderr.Destination.File) }

// lastStderr returns the worker's last lines of standard error.
func (s *streams) lastStderr() []string {
	if to := s.stderr.Destination; to.Direct() {
		return output.LastLines(to.File.Name())
	}
	return s.tail.Lines()
}

// fullDisk returns a file that the worker itself writes to, and whose file system has no room left, or "". The agent
// does not see the worker's failed writes.
func (s *streams) fullDisk() string {
	for _, stream := range []*output.Stream{&s.stdout, &s.stderr} {
		if !stream.Destination.Direct() {
			continue
		}
		var system unix.Statfs_t
		file := stream.Destination.File.Name()
		if err := unix.Statfs(file, &system); err == nil && system.Blocks > 0 && system.Bavail == 0 {
			return file
		}
	}
	return ""
}

// closeAll closes files, some of which may be nil.
func closeAll(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			file.Close()
		}
	}
}
