package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"go.uber.org/zap"
	"google.golang.org/grpc/peer"
)

// Refusals note whom a server has refused, and why. Each host and reason is logged once, and at most mostRefusals of
// them: strangers can make many. The methods of nil Refusals do nothing.
type Refusals struct {
	log   *zap.Logger
	mu    sync.Mutex
	notes []string // "192.0.2.7 (wrong token for this job)"
	more  bool     // there were others
}

const mostRefusals = 8

// NewRefusals logs refusals as warnings.
func NewRefusals(log *zap.Logger) *Refusals { return &Refusals{log: log} }

// Note notes that the peer at an address was refused. The reason may come from outside.
func (r *Refusals) Note(from net.Addr, reason string) {
	if r == nil {
		return
	}
	host, _, err := net.SplitHostPort(from.String())
	if err != nil {
		host = from.String()
	}
	note := fmt.Sprintf("%s (%s)", host, reason)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, known := range r.notes {
		if known == note {
			return
		}
	}
	if len(r.notes) == mostRefusals {
		r.more = true
		return
	}
	r.notes = append(r.notes, note)
	r.log.Warn("refused a node that wanted to join", zap.Stringer("from", from), zap.String("why", reason))
}

// NoteCall notes that the caller of a context was refused.
func (r *Refusals) NoteCall(ctx context.Context, reason string) {
	if from, ok := peer.FromContext(ctx); ok {
		r.Note(from.Addr, reason)
	}
}

// String reads "; refused: 192.0.2.7 (wrong token for this job)", to end a sentence; it is empty when there were none.
func (r *Refusals) String() string {
	if r == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.notes) == 0 {
		return ""
	}
	text := "; refused: " + strings.Join(r.notes, ", ")
	if r.more {
		text += " and others"
	}
	return text
}

// refusedHandshake says why a server refused a client's handshake. It is empty where the network failed or the client
// hung up, as port scanners do.
func (t *TLS) refusedHandshake(err error) string {
	var (
		untrusted *tls.CertificateVerificationError
		alert     *net.OpError
	)
	switch {
	case errors.As(err, &untrusted):
		return "its certificate " + t.problem(untrusted.Err, "client")
	case errors.As(err, new(tls.RecordHeaderError)):
		return "it does not speak TLS: give all nodes --tls-cert, --tls-key and --tls-ca"
	case errors.As(err, &alert) && alert.Op == "remote error":
		return fmt.Sprintf("it does not accept the certificate in %s: %v", t.files.Cert, alert.Err)
	case strings.Contains(err.Error(), "didn't provide a certificate"): // crypto/tls has no type for it
		return "it has no certificate"
	}
	return ""
}
