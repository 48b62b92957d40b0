package nvsentinel

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "gpurun/cmd/gpurun/nvsentinel/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connector stands for NVSentinel's. The first calls are refused.
type connector struct {
	pb.UnimplementedPlatformConnectorServer
	refuse int
	heard  []*pb.HealthEvents
	tokens []string
}

func (c *connector) HealthEventOccurredV1(ctx context.Context, e *pb.HealthEvents) (*pb.Empty, error) {
	c.refuse--
	if c.refuse >= 0 {
		return nil, status.Error(codes.Unavailable, "not yet")
	}
	c.heard = append(c.heard, e)
	md, _ := metadata.FromIncomingContext(ctx)
	c.tokens = append(c.tokens, md.Get("authorization")...)
	return &pb.Empty{}, nil
}

// serve serves a connector on a Unix socket until the test ends.
func serve(t *testing.T, c *connector) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "connector.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	pb.RegisterPlatformConnectorServer(s, c)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return socket
}

// reporter is one whose attempts follow each other fast.
func reporter(t *testing.T, variables map[string]string) *Reporter {
	t.Helper()
	r, err := FromEnvironment(func(name string) string { return variables[name] })
	if err != nil {
		t.Fatal(err)
	}
	r.patience = patience{attempts: 3, call: 10 * time.Second, pause: time.Millisecond}
	return r
}

func TestEvents(t *testing.T) {
	c := &connector{refuse: 2}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := reporter(t, map[string]string{
		SocketVariable: "unix://" + serve(t, c), NodeVariable: "n1", StrategyVariable: "STORE_ONLY", TokenVariable: token,
	})
	for _, e := range []Event{{Healthy: true, Message: "fine"}, {ErrorCode: "WRONG", Message: strings.Repeat("é", 1000)}} {
		if err := r.Send(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.heard) != 2 || len(c.tokens) != 2 || c.tokens[0] != "Bearer secret" || !r.StoreOnly() {
		t.Fatalf("heard %v with tokens %q", c.heard, c.tokens)
	}
	fine, wrong := c.heard[0].Events[0], c.heard[1].Events[0]
	if !fine.IsHealthy || fine.IsFatal || len(fine.ErrorCode) > 0 || fine.Message != "fine" || fine.NodeName != "n1" ||
		fine.RecommendedAction != pb.RecommendedAction_NONE || fine.Version != 1 || c.heard[0].Version != 1 ||
		fine.ProcessingStrategy != pb.ProcessingStrategy_STORE_ONLY ||
		time.Since(time.Unix(fine.GeneratedTimestamp.Seconds, 0)) > time.Minute {
		t.Errorf("of a healthy node: %v", fine)
	}
	if wrong.IsHealthy || !wrong.IsFatal || len(wrong.ErrorCode) != 1 || wrong.ErrorCode[0] != "WRONG" ||
		len(wrong.Message) > maxMessage || wrong.RecommendedAction != pb.RecommendedAction_CONTACT_SUPPORT {
		t.Errorf("of an unhealthy node: %v", wrong)
	}
}

// The names and numbers are NVSentinel's: another's server must understand the message.
func TestWire(t *testing.T) {
	if got := pb.PlatformConnector_HealthEventOccurredV1_FullMethodName; got !=
		"/datamodels.PlatformConnector/HealthEventOccurredV1" {
		t.Error(got)
	}
	fields := (&pb.HealthEvent{}).ProtoReflect().Descriptor().Fields()
	for name, number := range map[string]int{
		"version": 1, "agent": 2, "componentClass": 3, "checkName": 4, "isFatal": 5, "isHealthy": 6, "message": 7,
		"recommendedAction": 8, "errorCode": 9, "generatedTimestamp": 12, "nodeName": 13, "processingStrategy": 16,
	} {
		if f := fields.ByJSONName(name); f == nil || int(f.Number()) != number {
			t.Errorf("%s is %v, want field %d", name, f, number)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	r := reporter(t, map[string]string{SocketVariable: filepath.Join(t.TempDir(), "none"), NodeVariable: "n1"})
	if err := r.Send(t.Context(), Event{}); err == nil || !strings.Contains(err.Error(), "telling NVSentinel at /") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.patience.pause = time.Hour
	if err := r.Send(ctx, Event{}); err == nil {
		t.Error("sent after the end")
	}
}

func TestVariables(t *testing.T) {
	for want, variables := range map[string]map[string]string{
		"NODE_NAME is not set":                 {SocketVariable: "s"},
		"PLATFORM_CONNECTOR_SOCKET is not set": {NodeVariable: "n"},
		`PROCESSING_STRATEGY is "DRAIN"`:       {SocketVariable: "s", NodeVariable: "n", StrategyVariable: "DRAIN"},
	} {
		if _, err := FromEnvironment(func(name string) string { return variables[name] }); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", variables, err)
		}
	}
}
