package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Server returns what a server asks of its clients.
func (t *TLS) Server(log *zap.Logger) credentials.TransportCredentials {
	if t == nil {
		return insecure.NewCredentials()
	}
	return doorkeeper{credentials.NewTLS(t.config()), log}
}

// Client returns what a client asks of a server. When the two cannot come to
// trust each other, however often they try, refused is told why.
func (t *TLS) Client(refused func(error)) credentials.TransportCredentials {
	if t == nil {
		return visitor{insecure.NewCredentials(), explainPlain, refused}
	}
	return visitor{credentials.NewTLS(t.config()), t.explain, refused}
}

// doorkeeper lets clients that it refuses know why, in the protocol's own way.
type doorkeeper struct {
	credentials.TransportCredentials
	log *zap.Logger
}

// ServerHandshake implements credentials.TransportCredentials.
func (d doorkeeper) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	kept := &keptOpen{Conn: raw, shaking: true}
	conn, info, err := d.TransportCredentials.ServerHandshake(kept)
	kept.shaking = false
	if err == nil {
		return conn, info, nil
	}
	d.log.Debug("refusing a connection", zap.Stringer("from", raw.RemoteAddr()), zap.Error(err))
	if errors.As(err, new(tls.RecordHeaderError)) {
		_ = raw.SetWriteDeadline(time.Now().Add(lingerTimeout))
		_, _ = io.WriteString(raw, alertHandshakeFailure) // a stranger may be gone
	}
	linger(raw)
	return nil, nil, err
}

// Clone implements credentials.TransportCredentials.
func (d doorkeeper) Clone() credentials.TransportCredentials {
	return doorkeeper{d.TransportCredentials.Clone(), d.log}
}

// keptOpen is a connection that a handshake which fails does not close.
type keptOpen struct {
	net.Conn
	shaking bool // until anybody else has the connection
}

// Close implements net.Conn.
func (c *keptOpen) Close() error {
	if c.shaking {
		return nil
	}
	return c.Conn.Close()
}

// alertHandshakeFailure is a record of TLS (RFC 8446, sections 5.1 and 6): by its
// first byte a client in plain text knows whom it talks to.
const alertHandshakeFailure = "\x15\x03\x03\x00\x02\x02\x28"

const recordAlert = 0x15

const (
	lingerTimeout = time.Second
	lingerBytes   = 1 << 20
)

// linger lets a client read the last that was sent to it: a connection that is
// closed before all of the other side's bytes are read is reset, and what
// was under way is lost.
func linger(c net.Conn) {
	under := c
	if counted, ok := c.(*Conn); ok {
		under = counted.Conn
	}
	if half, ok := under.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(lingerTimeout))
		_, _ = io.CopyN(io.Discard, c, lingerBytes)
	}
}

// visitor tells of failures that another attempt does not mend.
type visitor struct {
	credentials.TransportCredentials
	explain func(server string, first byte, err error) error // nil: try again
	refused func(error)
}

// ClientHandshake implements credentials.TransportCredentials.
func (v visitor) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	server := raw.RemoteAddr().String()
	conn, info, err := v.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		v.judge(server, 0, err)
		return nil, nil, err
	}
	return &firstAnswer{Conn: conn, judge: func(first byte, err error) { v.judge(server, first, err) }}, info, nil
}

func (v visitor) judge(server string, first byte, err error) {
	if why := v.explain(server, first, err); why != nil {
		v.refused(why)
	}
}

// Clone implements credentials.TransportCredentials.
func (v visitor) Clone() credentials.TransportCredentials {
	return visitor{v.TransportCredentials.Clone(), v.explain, v.refused}
}

// firstAnswer shows its judge what a server says first. With TLS 1.3 that is where a
// client learns that its certificate was refused.
type firstAnswer struct {
	net.Conn
	judge func(first byte, err error)
	heard bool
}

// Read implements net.Conn.
func (c *firstAnswer) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.heard && (n > 0 || err != nil) {
		c.heard = true
		var first byte
		if n > 0 {
			first = p[0]
		}
		c.judge(first, err)
	}
	return n, err
}
