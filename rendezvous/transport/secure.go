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

// Server returns the credentials of a server, which notes whom it refuses.
func (t *TLS) Server(log *zap.Logger, refused *Refusals) credentials.TransportCredentials {
	if t == nil {
		return plainServerCredentials{insecure.NewCredentials(), refused}
	}
	return serverCredentials{credentials.NewTLS(t.config()), t, log, refused}
}

// Client returns the credentials of a client. It calls refused with the reason when
// the two sides do not accept each other, which a retry does not change.
func (t *TLS) Client(refused func(error)) credentials.TransportCredentials {
	if t == nil {
		return clientCredentials{insecure.NewCredentials(), explainPlain, refused}
	}
	return clientCredentials{credentials.NewTLS(t.config()), t.explain, refused}
}

// serverCredentials tells a client that it refuses why, by a TLS alert.
type serverCredentials struct {
	credentials.TransportCredentials
	tls     *TLS
	log     *zap.Logger
	refused *Refusals
}

// ServerHandshake implements credentials.TransportCredentials.
func (d serverCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	kept := &handshakeConn{Conn: raw, handshaking: true}
	conn, info, err := d.TransportCredentials.ServerHandshake(kept)
	kept.handshaking = false
	if err == nil {
		return conn, info, nil
	}
	d.log.Debug("refusing a connection", zap.Stringer("from", raw.RemoteAddr()), zap.Error(err))
	if why := d.tls.refusedHandshake(err); why != "" {
		d.refused.Note(raw.RemoteAddr(), why)
	}
	if errors.As(err, new(tls.RecordHeaderError)) {
		_ = raw.SetWriteDeadline(time.Now().Add(lingerTimeout))
		_, _ = io.WriteString(raw, alertHandshakeFailure) // the client may be gone
	}
	linger(raw)
	return nil, nil, err
}

// Clone implements credentials.TransportCredentials.
func (d serverCredentials) Clone() credentials.TransportCredentials {
	return serverCredentials{d.TransportCredentials.Clone(), d.tls, d.log, d.refused}
}

// plainServerCredentials note a client that speaks TLS.
type plainServerCredentials struct {
	credentials.TransportCredentials
	refused *Refusals
}

// ServerHandshake implements credentials.TransportCredentials.
func (d plainServerCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := d.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	return &firstReadConn{Conn: conn, report: func(first byte, _ error) {
		if first == recordHandshake {
			d.refused.Note(raw.RemoteAddr(), "it speaks TLS and this node does not: give all nodes --tls-cert, --tls-key and "+
				"--tls-ca, or none of them")
		}
	}}, info, nil
}

// Clone implements credentials.TransportCredentials.
func (d plainServerCredentials) Clone() credentials.TransportCredentials {
	return plainServerCredentials{d.TransportCredentials.Clone(), d.refused}
}

// handshakeConn is a connection that stays open when its handshake fails.
type handshakeConn struct {
	net.Conn
	handshaking bool // until the handshake has ended
}

// Close implements net.Conn.
func (c *handshakeConn) Close() error {
	if c.handshaking {
		return nil
	}
	return c.Conn.Close()
}

// alertHandshakeFailure is a record of TLS (RFC 8446, sections 5.1 and 6): by its
// first byte a client without TLS recognizes a server with TLS.
const alertHandshakeFailure = "\x15\x03\x03\x00\x02\x02\x28"

// First bytes of records of TLS.
const (
	recordAlert     = 0x15
	recordHandshake = 0x16
)

const (
	lingerTimeout = time.Second
	lingerBytes   = 1 << 20
)

// linger lets a client read the alert. A connection that is closed before all received
// bytes are read is reset, and a reset discards the bytes in flight.
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

// clientCredentials reports failures that a retry does not repair.
type clientCredentials struct {
	credentials.TransportCredentials
	explain func(server string, first byte, err error) error // nil: try again
	refused func(error)
}

// ClientHandshake implements credentials.TransportCredentials.
func (v clientCredentials) ClientHandshake(ctx context.Context, authority string,
	raw net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	server := raw.RemoteAddr().String()
	conn, info, err := v.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		v.report(server, 0, err)
		return nil, nil, err
	}
	return &firstReadConn{Conn: conn, report: func(first byte, err error) { v.report(server, first, err) }}, info, nil
}

func (v clientCredentials) report(server string, first byte, err error) {
	if why := v.explain(server, first, err); why != nil {
		v.refused(why)
	}
}

// Clone implements credentials.TransportCredentials.
func (v clientCredentials) Clone() credentials.TransportCredentials {
	return clientCredentials{v.TransportCredentials.Clone(), v.explain, v.refused}
}

// firstReadConn reports the first byte that the other side sends. With TLS 1.3 a client
// learns only there that its certificate was refused.
type firstReadConn struct {
	net.Conn
	report func(first byte, err error)
	heard  bool
}

// Read implements net.Conn.
func (c *firstReadConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.heard && (n > 0 || err != nil) {
		c.heard = true
		var first byte
		if n > 0 {
			first = p[0]
		}
		c.report(first, err)
	}
	return n, err
}
