package launcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"gpurun/rendezvous/elastic"
	"gpurun/rendezvous/tcpstore"
	"gpurun/worker/process/agent"
	"gpurun/worker/process/guard"
)

// OtherNodeError says that the job ended because of another node.
type OtherNodeError struct {
	Code int // of the worker that failed there
	Err  error
}

func (e *OtherNodeError) Error() string { return e.Err.Error() }

// Unwrap makes the reason visible to errors.As.
func (e *OtherNodeError) Unwrap() error { return e.Err }

// MeetingError says that the nodes did not find each other, or lost the node that serves
// the rendezvous.
type MeetingError struct{ Err error }

func (e *MeetingError) Error() string { return e.Err.Error() }

// Unwrap makes the reason visible to errors.As.
func (e *MeetingError) Unwrap() error { return e.Err }

// RunNodes is Run together with the agents of other nodes: they meet before every
// attempt, and a failure or departure anywhere ends it everywhere. The job's
// ranks, restarts and master come from the rendezvous. When another node was the
// reason for the end, the error is an *OtherNodeError; when they did not meet, a *MeetingError.
// A spare that was not needed has neither a Result nor an error.
func RunNodes(ctx context.Context, job Job, meeting elastic.Config) (result *Result, err error) {
	if err := job.check(); err != nil {
		return nil, err
	}
	if err := job.fit(ctx); err != nil {
		return nil, err
	}
	member, err := elastic.Enter(ctx, meeting)
	if err != nil {
		return nil, &MeetingError{fmt.Errorf("meeting the other nodes: %w", err)}
	}
	if meeting.TLS != nil {
		job.Agent.Logger.Warn("the nodes meet by TLS, but the workers' store, at MASTER_ADDR, speaks PyTorch's protocol, " +
			"which has none: keep strangers from its port")
	}
	departure := departure{member: member, log: job.Agent.Logger}
	defer func() {
		reason := "its workers have ended"
		switch {
		case err != nil:
			reason = err.Error()
		case ctx.Err() != nil:
			reason = endRequest(context.Cause(ctx))
		case result != nil && (errors.Is(result.Cause, guard.ErrGone) || errors.As(result.Cause, new(*agent.HangError))):
			reason = result.Cause.Error()
		}
		departure.announce(reason)
	}()
	folders, err := job.Logs.create(job.Torch.RunID)
	if err != nil {
		return nil, err
	}
	if job.Logs.Scratch == "" {
		job.Agent.Logger.Info("logs of the workers are in " + folders.root)
	}
	if job.dumper, err = job.newDumper(); err != nil {
		return nil, errors.Join(err, folders.remove())
	}
	result, err = job.rounds(ctx, folders, &departure)
	return result, errors.Join(err, job.dumper.close(), folders.remove())
}

// rounds runs the workers, once per rendezvous round, until the job is over for this node.
func (j *Job) rounds(ctx context.Context, folders *folders, departure *departure) (result *Result, err error) {
	for number := 0; ; number++ {
		if number > 0 {
			if err := j.fit(ctx); err != nil {
				return nil, err
			}
		}
		round, err := departure.member.NextRound(ctx)
		if end := new(elastic.End); errors.As(err, &end) && end.Kind == elastic.Finished {
			j.Agent.Logger.Info("the job has finished without this node, which was a spare")
			return nil, nil
		}
		if err != nil {
			return result, otherNode(err)
		}
		var again bool
		if result, again, err = j.runRound(ctx, folders, number, round, departure); !again || err != nil {
			return result, err
		}
	}
}

// runRound runs the workers once, and reports whether all nodes begin again. Where this
// node is the master, it serves the workers' store until those of all nodes have ended.
func (j *Job) runRound(ctx context.Context, folders *folders, number int, round *elastic.Round,
	departure *departure,
) (result *Result, again bool, err error) {
	if listener := round.Master(); listener != nil {
		store, err := tcpstore.Serve(context.WithoutCancel(ctx), listener, tcpstore.Options{Logger: j.Agent.Logger})
		if err != nil {
			return nil, false, fmt.Errorf("serving the workers' store: %w", errors.Join(err, listener.Close()))
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		j.dumper.watch(store)
	}
	dumps := j.dumper.beginNodeDumps(round)
	defer dumps.end()
	stop := departure.announceAtEnd(ctx)
	outcome, err := j.runWorkers(ctx, folders, number, round, dumps)
	stop()
	if outcome == nil {
		return nil, false, err
	}
	dumps.takeOver(outcome)
	result = &Result{Outcome: outcome, Restarts: round.Restarts, Failed: recorded(outcome.Failures)}
	if err = errors.Join(err, j.fault(outcome)); err != nil {
		return result, false, errors.Join(err, forwardFailure(outcome.First))
	}
	if again, err = j.conclude(ctx, round, outcome); !again {
		err = errors.Join(err, forwardFailure(outcome.First))
	}
	if dumps.jobHangs() && outcome.First == nil {
		outcome.Cause, err = &agent.HangError{Silence: j.dumper.Hang}, nil
	}
	return result, again, err
}

// runWorkers runs the workers of a round.
func (j *Job) runWorkers(ctx context.Context, folders *folders, number int,
	round *elastic.Round, dumps *nodeDumps,
) (*agent.Outcome, error) {
	host, port, err := net.SplitHostPort(round.Place.Master)
	if err != nil {
		return nil, fmt.Errorf("reading the workers' master %q: %w", round.Place.Master, err)
	}
	torch := j.Torch
	torch.FirstRank, torch.WorldSize = round.FirstRank, round.WorldSize
	torch.GroupRank, torch.GroupSize = round.GroupRank, round.Nodes
	torch.FirstRoleRank, torch.RoleWorldSize = round.FirstRoleRank, round.RoleWorldSize
	torch.RestartCount, torch.AgentStore, torch.MasterAddr = round.Restarts, true, host
	if torch.MasterPort, err = strconv.Atoi(port); err != nil {
		return nil, fmt.Errorf("reading the workers' master %q: %w", round.Place.Master, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(round.Context(), func() { cancel(context.Cause(round.Context())) })
	defer stop()
	early, local := announcer{round: round, log: j.Agent.Logger, fault: j.Fault}, *j
	local.Agent.Failed = func(f *agent.Failure) {
		stop() // the node ends for this failure, even if the round ends too
		early.failed(f)
	}
	defer early.cancel()
	return local.workers(ctx, folders, number, torch, dumps)
}

// quietWait is how long a node waits for the others before it says so.
const quietWait = 2 * time.Second

// conclude exchanges with the other nodes how the workers ended, and reports whether all
// nodes begin again.
func (j *Job) conclude(ctx context.Context, round *elastic.Round, outcome *agent.Outcome) (again bool, err error) {
	restart := new(elastic.Restart)
	switch {
	case outcome.First != nil:
		err := round.Fail(ctx, failureOf(outcome.First))
		if err == nil {
			j.Agent.Logger.Warn(fmt.Sprintf("%v; all nodes start their workers again", outcome.First))
		}
		return err == nil && ctx.Err() == nil, nil // this node's failure is in the outcome
	case outcome.Signal != 0 || ctx.Err() != nil:
		return false, nil
	case errors.As(outcome.Cause, &restart):
		j.Agent.Logger.Warn(restart.Error())
		return true, nil
	case outcome.Cause != nil:
		if err := otherNode(outcome.Cause); errors.As(err, new(*OtherNodeError)) {
			return false, err
		}
		return false, nil // the cause is in the outcome
	}
	waits := time.AfterFunc(quietWait, func() {
		j.Agent.Logger.Info("the workers of this node have succeeded; waiting for the workers of the other nodes")
	})
	err = round.Finish(ctx)
	waits.Stop()
	if errors.As(err, &restart) {
		j.Agent.Logger.Warn(restart.Error())
		return true, nil
	}
	if err != nil {
		j.Agent.Logger.Warn("the workers of this node have succeeded, but the nodes did not leave together: " + err.Error())
	}
	return false, nil
}

// otherNode returns an OtherNodeError if another node's failure ended the job, and else a
// MeetingError.
func otherNode(err error) error {
	end := new(elastic.End)
	if errors.As(err, &end) && end.Failure != nil {
		return &OtherNodeError{Code: end.Failure.ExitCode, Err: err}
	}
	return &MeetingError{err}
}
