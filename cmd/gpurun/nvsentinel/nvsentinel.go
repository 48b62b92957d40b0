// Package nvsentinel tells NVSentinel, which cordons and drains nodes of a Kubernetes cluster, what a check of this
// node has found. It speaks the protocol of NVSentinel's checks before a job: one health event by gRPC to the platform
// connector's Unix socket. The variables are those that NVSentinel sets in the containers of these checks.
package nvsentinel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	pb "gpurun/cmd/gpurun/nvsentinel/v1"
)

// The variables. The last two may be empty.
const (
	SocketVariable   = "PLATFORM_CONNECTOR_SOCKET"
	NodeVariable     = "NODE_NAME"
	StrategyVariable = "PROCESSING_STRATEGY"
	TokenVariable    = "PLATFORM_CONNECTOR_TOKEN_PATH"
)

// Reporter is where events of this node go.
type Reporter struct {
	socket, node string
	tokenFile    string // of a service account; empty: none is needed
	strategy     pb.ProcessingStrategy
	patience     patience
}

// patience bounds the delivery of an event.
type patience struct {
	attempts int
	call     time.Duration // of one attempt
	pause    time.Duration // after the first attempt; each further one is half as long again
}

// FromEnvironment reads the variables.
func FromEnvironment(lookup func(string) string) (*Reporter, error) {
	r := &Reporter{
		socket: strings.TrimPrefix(lookup(SocketVariable), "unix://"), node: lookup(NodeVariable),
		tokenFile: lookup(TokenVariable), strategy: pb.ProcessingStrategy_EXECUTE_REMEDIATION,
		patience: patience{attempts: 5, call: 30 * time.Second, pause: 2 * time.Second},
	}
	for variable, value := range map[string]string{SocketVariable: r.socket, NodeVariable: r.node} {
		if value == "" {
			return nil, fmt.Errorf("%s is not set: NVSentinel's preflight webhook sets %s and %s in the containers of its "+
				"checks", variable, SocketVariable, NodeVariable)
		}
	}
	switch word := lookup(StrategyVariable); word {
	case "", "EXECUTE_REMEDIATION":
	case "STORE_ONLY":
		r.strategy = pb.ProcessingStrategy_STORE_ONLY
	default:
		return nil, fmt.Errorf("%s is %q: want EXECUTE_REMEDIATION or STORE_ONLY", StrategyVariable, word)
	}
	return r, nil
}

// StoreOnly reports whether the cluster only keeps events, and wants no check to hold up a pod.
func (r *Reporter) StoreOnly() bool { return r.strategy == pb.ProcessingStrategy_STORE_ONLY }

// Event is what a check has found.
type Event struct {
	Healthy   bool
	ErrorCode string // a word, if not healthy
	Message   string
}

// maxMessage is the length of a message in bytes: it becomes part of a node's condition.
const maxMessage = 1024

// Send delivers an event, in several attempts.
func (r *Reporter) Send(ctx context.Context, e Event) error {
	connection, err := grpc.NewClient("unix:"+r.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return r.undelivered(err)
	}
	defer connection.Close()
	client, events := pb.NewPlatformConnectorClient(connection), r.events(e)
	pause := r.patience.pause
	for attempt := 1; ; attempt++ {
		if err = r.attempt(ctx, client, events); err == nil {
			return nil
		}
		if attempt == r.patience.attempts || ctx.Err() != nil {
			return r.undelivered(err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return r.undelivered(errors.Join(err, context.Cause(ctx)))
		}
		pause += pause / 2
	}
}

func (r *Reporter) undelivered(err error) error {
	return fmt.Errorf("telling NVSentinel at %s: %w", r.socket, err)
}

// attempt makes one call. The token is read each time: it is replaced before it expires.
func (r *Reporter) attempt(ctx context.Context, client pb.PlatformConnectorClient, events *pb.HealthEvents) error {
	ctx, cancel := context.WithTimeout(ctx, r.patience.call)
	defer cancel()
	if r.tokenFile != "" {
		token, err := os.ReadFile(r.tokenFile)
		if err != nil {
			return err
		}
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	_, err := client.HealthEventOccurredV1(ctx, events)
	return err
}

// events is the message for an event.
func (r *Reporter) events(e Event) *pb.HealthEvents {
	const version = 1
	event := &pb.HealthEvent{
		Version: version, Agent: "preflight-gpurun-smoke", ComponentClass: "Node", CheckName: "GpurunSmoke",
		IsHealthy: e.Healthy, IsFatal: !e.Healthy,
		Message:            strings.ToValidUTF8(e.Message[:min(len(e.Message), maxMessage)], ""),
		GeneratedTimestamp: timestamp(time.Now()), NodeName: r.node, ProcessingStrategy: r.strategy,
	}
	if !e.Healthy {
		event.RecommendedAction, event.ErrorCode = pb.RecommendedAction_CONTACT_SUPPORT, []string{e.ErrorCode}
	}
	return &pb.HealthEvents{Version: version, Events: []*pb.HealthEvent{event}}
}

func timestamp(t time.Time) *pb.Timestamp {
	return &pb.Timestamp{Seconds: t.Unix(), Nanos: int32(t.Nanosecond())}
}
