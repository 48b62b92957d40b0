package rendezvous

import (
	"context"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/credentials"

	"gpurun/rendezvous/transport"
)

// peerUID are transport credentials for Unix sockets. The process at the other end
// must belong to the wanted user, as the kernel reports it (SO_PEERCRED). Both ends
// check, so that another user's process cannot act as the server.
type peerUID struct {
	want int
}

// samePeerUID trusts the processes of the user who runs this one.
func samePeerUID() credentials.TransportCredentials {
	return peerUID{want: os.Geteuid()}
}

// peerInfo is what a handshake found out.
type peerInfo struct {
	credentials.CommonAuthInfo
}

func (peerInfo) AuthType() string { return "peer-uid" }

func (p peerUID) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return p.handshake(conn)
}

func (p peerUID) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return p.handshake(conn)
}

func (p peerUID) handshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	uid, err := readPeerUID(conn)
	if err != nil {
		return nil, nil, fmt.Errorf("reading peer credentials: %w", err)
	}
	if uid != p.want {
		return nil, nil, fmt.Errorf("the process at the other end of the socket belongs to uid %d, not %d", uid, p.want)
	}
	// The bytes stay in the kernel: other processes can neither read nor change them.
	info := peerInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}
	return conn, info, nil
}

func (p peerUID) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: peerInfo{}.AuthType()}
}

func (p peerUID) Clone() credentials.TransportCredentials { return p }

func (peerUID) OverrideServerName(string) error { return nil }

// readPeerUID asks the kernel who opened the other end.
func readPeerUID(conn net.Conn) (int, error) {
	if c, ok := conn.(*transport.Conn); ok {
		conn = c.Conn
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, fmt.Errorf("a %T is not a Unix socket", conn)
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, credErr
	}
	return int(cred.Uid), nil
}
