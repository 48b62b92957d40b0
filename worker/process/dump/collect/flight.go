package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"gpurun/worker/process/dump"
)

// Flight asks PyTorch's flight recorders, which record the last collectives of each rank. PyTorch makes a named pipe
// for each rank; a byte in the pipe has its watchdog write the recorder to a file. Both are by rank: PipeStem + rank +
// ".pipe", and FileStem + rank.
type Flight struct {
	PipeStem, FileStem string
	// Read reads a recorder's file: a Python pickle.
	Read func(io.Reader) ([]dump.Collective, error)
}

// The variables that have the stems and the number of recorded collectives. PyTorch 2.8 renamed the last two.
const (
	flightPipeVariable = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"
	flightFileVariable = "TORCH_FR_DUMP_TEMP_FILE"
	flightSizeVariable = "TORCH_FR_BUFFER_SIZE"
	oldFileVariable    = "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"
	oldSizeVariable    = "TORCH_NCCL_TRACE_BUFFER_SIZE"
	flightSize         = "2000" // PyTorch's own default where it records by default
)

// NewFlight returns the flight recorders of workers whose pipes and files are in these folders, and the variables that
// have the workers do so. What the user has set stays.
func NewFlight(pipes, files string, read func(io.Reader) ([]dump.Collective, error), lookup func(string) (string, bool),
) (f *Flight, environment []string) {
	f = &Flight{PipeStem: pipes + "/flight_", FileStem: files + "/flight_", Read: read}
	set := func(name, value string, to *string, others ...string) {
		for _, variable := range append([]string{name}, others...) {
			if inherited, ok := lookup(variable); ok {
				*to = inherited
				return
			}
		}
		*to = value
		environment = append(environment, name+"="+value)
	}
	var size string
	set(flightPipeVariable, f.PipeStem, &f.PipeStem)
	set(flightFileVariable, f.FileStem, &f.FileStem, oldFileVariable)
	set(flightSizeVariable, flightSize, &size, oldSizeVariable)
	return f, environment
}

const (
	// flightBound is how long a flight recorder may take. PyTorch looks into the pipe once a second, and the dump can
	// wait for Python's lock.
	flightBound    = 2500 * time.Millisecond
	flightInterval = 20 * time.Millisecond
)

// read asks the recorder of one rank. A process without NCCL has no pipe, and nothing is missing then.
func (f *Flight) read(ctx context.Context, rank int) func(*dump.Rank) {
	pipe, path := f.PipeStem+strconv.Itoa(rank)+".pipe", f.FileStem+strconv.Itoa(rank)
	before, _ := os.Stat(path)
	switch err := request(pipe); {
	case errors.Is(err, os.ErrNotExist):
		return func(*dump.Rank) {}
	case err != nil:
		return missing("PyTorch's flight recorder: %v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, flightBound)
	defer cancel()
	for lastErr := error(nil); ; {
		select {
		case <-ctx.Done():
			return missing("PyTorch's flight recorder: %v", errors.Join(
				fmt.Errorf("no dump in %s within %v: another thread holds Python's lock, or Python runs with -I, -E or -S, "+
					"where the first dump imports torch._inductor; ask again with gpurun dump", path, flightBound), lastErr))
		case <-time.After(flightInterval):
		}
		now, err := os.Stat(path)
		if err != nil || before != nil && now.ModTime().Equal(before.ModTime()) {
			continue
		}
		var collectives []dump.Collective
		if collectives, lastErr = f.readFile(path); lastErr == nil { // else the file is perhaps not complete
			return func(r *dump.Rank) { r.Collectives = collectives }
		}
	}
}

// request writes to the pipe, if a process reads it.
func request(pipe string) error {
	fd, err := syscall.Open(pipe, syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errors.Is(err, syscall.ENXIO) {
		return errors.New("no process reads its pipe " + pipe)
	}
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	_, err = syscall.Write(fd, []byte("1\n"))
	if errors.Is(err, syscall.EAGAIN) {
		return errors.New("its pipe " + pipe + " is full")
	}
	return err
}

// mostFlight bounds the size of a recorder's file: 2000 collectives with their stacks are a few megabytes.
const mostFlight = 64 << 20

func (f *Flight) readFile(path string) ([]dump.Collective, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostFlight))
	if err != nil {
		return nil, err
	}
	return f.Read(bytes.NewReader(text))
}

// missing adds a sentence about what is missing.
func missing(format string, args ...any) func(*dump.Rank) {
	text := fmt.Sprintf(format, args...)
	return func(r *dump.Rank) { r.Missing = append(r.Missing, text) }
}
