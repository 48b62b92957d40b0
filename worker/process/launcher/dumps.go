package launcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"gpurun/rendezvous/tcpstore"
	"gpurun/worker/process/agent"
	"gpurun/worker/process/dump"
	"gpurun/worker/process/dump/collect"
	"gpurun/worker/process/dump/flight"
	"gpurun/worker/process/dump/pyhook"
	"gpurun/worker/process/dump/request"
	"gpurun/worker/process/torchenv"
)

// Dumps says when the job says what its workers are doing. It does so at any time when asked, by SIGUSR1 or gpurun
// dump.
type Dumps struct {
	// Folder is for files that the workers need meanwhile. The caller removes it.
	Folder string
	// OnFailure and Hang are as those of agent.Dumps.
	OnFailure bool
	Hang      time.Duration
	// GPUs lists the machine's GPUs. It may be nil.
	GPUs func() ([]dump.GPU, error)
	// Stderr gets the pages.
	Stderr io.Writer
}

// heartbeatVariable has the path of a file that a worker may touch as a sign of life, see --hang-timeout.
const heartbeatVariable = "GPURUN_HEARTBEAT_FILE"

// dumper makes the dumps of a job. The methods of a nil dumper do nothing.
type dumper struct {
	Dumps
	log      *zap.Logger
	host     string
	listener *request.Listener // nil: nobody can ask
	written  int               // pages
	store    atomic.Pointer[tcpstore.Server]
}

// newDumper prepares dumps; it returns nil without Dumps.
func (j *Job) newDumper() (*dumper, error) {
	if j.Dumps == nil {
		return nil, nil
	}
	d := &dumper{Dumps: *j.Dumps, log: j.Agent.Logger}
	if err := pyhook.Install(d.pythonFolder()); err != nil {
		return nil, err
	}
	var err error
	if d.host, err = os.Hostname(); err != nil {
		d.host = "localhost"
	}
	if d.listener, err = request.Listen(); err != nil { // for example without Unix sockets; a signal still asks
		d.log.Debug("no requests for dumps", zap.Error(err))
	}
	return d, nil
}

func (d *dumper) close() error {
	if d == nil || d.listener == nil {
		return nil
	}
	return d.listener.Close()
}

func (d *dumper) pythonFolder() string { return filepath.Join(d.Folder, "python") }

// stacks is the file for the Python stacks of a worker.
func (d *dumper) stacks(localRank int) string {
	return filepath.Join(d.Folder, strconv.Itoa(localRank)+".stacks")
}

// python reports whether a process of a worker has written to that file, as each Python process does when it begins.
func (d *dumper) python(localRank int) bool {
	info, err := os.Stat(d.stacks(localRank))
	return err == nil && info.Size() > 0
}

// heartbeat is the file that a worker may touch.
func (d *dumper) heartbeat(localRank int) string {
	return filepath.Join(d.Folder, strconv.Itoa(localRank)+".heartbeat")
}

// attempt is the dumps of one attempt.
type attempt struct {
	*dumper
	collector   collect.Collector
	environment []string
	worldSize   int
	folder      string // for pages; empty: they are not kept
	nodes       *nodeDumps
}

// begin prepares the dumps of one attempt's workers. kept is the folder of its logs, if that is left to the user.
func (d *dumper) begin(torch torchenv.Job, kept string, nodes *nodeDumps) (*attempt, error) {
	if d == nil {
		return nil, nil
	}
	var errs []error
	for worker := range torch.Workers {
		localRank := torch.FirstLocalRank() + worker
		errs = append(errs, os.WriteFile(d.stacks(localRank), nil, 0o600))
		errs = append(errs, os.WriteFile(d.heartbeat(localRank), nil, 0o600))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("preparing to say what workers are doing: %w", err)
	}
	a := &attempt{
		dumper: d, worldSize: torch.WorldSize, folder: kept, nodes: nodes,
	}
	if nodes != nil {
		nodes.attempt = a
	}
	a.collector = collect.Collector{Host: d.host, Stacks: d.stacks, GPUs: d.GPUs, RAS: collect.DefaultRAS}
	if address, ok := os.LookupEnv("NCCL_RAS_ADDR"); ok {
		a.collector.RAS = address
	}
	recorders := d.Folder
	if kept != "" { // PyTorch writes its recorder there by itself, too, when a collective times out
		recorders = kept
	}
	a.collector.Flight, a.environment = collect.NewFlight(d.Folder, recorders, flight.Read, os.LookupEnv)
	return a, nil
}

// variables are those of one worker.
func (a *attempt) variables(localRank int) []string {
	if a == nil {
		return nil
	}
	own := append(pyhook.Environment(a.pythonFolder(), a.stacks(localRank), os.LookupEnv),
		heartbeatVariable+"="+a.heartbeat(localRank))
	return append(own, a.environment...)
}

// spec is what the agent needs to know.
func (a *attempt) spec() *agent.Dumps {
	if a == nil {
		return nil
	}
	s := &agent.Dumps{
		Write: a.write, OnFailure: a.OnFailure, Hang: a.Hang, Heartbeat: a.heartbeat, Python: a.python,
		Elsewhere: a.nodes != nil && a.nodes.round.Nodes > 1,
	}
	switch {
	case a.nodes != nil:
		s.Asked, s.Silent = a.nodes.asked, a.nodes.tellSilent
	case a.listener != nil:
		s.Asked = a.listener.Requests()
	}
	return s
}

// collectBound is how long the collection on a node may take, so that the nodes' parts arrive within agent.DumpTimeout.
const collectBound = 3 * time.Second

// write makes a dump.
func (a *attempt) write(ctx context.Context, request agent.DumpRequest, workers []collect.Worker) {
	var page []byte
	if a.nodes != nil {
		page = a.nodes.write(ctx, a, request, workers)
	} else {
		page = a.publish(request.Reason, a.collect(ctx, workers), nil)
	}
	if request.Page != nil {
		request.Page(page)
	}
}

// collect collects from this node's workers.
func (a *attempt) collect(ctx context.Context, workers []collect.Worker) []dump.Rank {
	ctx, cancel := context.WithTimeout(ctx, collectBound)
	defer cancel()
	ranks := a.collector.Ranks(ctx, workers)
	for i := range ranks {
		ranks[i].WorldSize = a.worldSize
	}
	return ranks
}
