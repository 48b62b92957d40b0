// Package tcpstore serves the store of PyTorch's torch.distributed. It speaks
// the protocol of TCPStore to clients of every PyTorch from 1.13 to 2.11.
// Workers connect to MASTER_ADDR:MASTER_PORT, where the agent serves the store,
// if their environment has TORCHELASTIC_USE_AGENT_STORE=True.
//
// The package has its own table, apart from package store, because PyTorch's
// semantics differ: keys may be empty, values can be appended to, a queue can
// be waited for like a key, and a client can cancel a wait.
//
// # Security
//
// The protocol has no authentication: every program that reaches the port can
// read and write. [Limits] bounds the memory, the connections and the time that
// such a program can take. The server closes a connection at the first byte
// that is not of the protocol. If all workers run on one machine, the listener
// should be on loopback.
//
// # Concurrency
//
// Each connection has a goroutine, which reads requests, carries them out, and
// writes the replies. Server.mu guards the table. No goroutine does I/O while it
// holds mu, so that a slow client delays only itself. A client that waits for
// keys has a second goroutine until the wait ends: it writes the reply, while
// the first one reads, because the client may cancel the wait.
//
// A client that does not take its replies is not served further. After
// Limits.RequestTime the server closes its connection.
//
// # Speed
//
// An event loop on epoll that spun before it slept was measured against this
// design, with PyTorch 2.11's client and up to 64 client processes on 16 CPUs.
// Per second, the goroutines answered 1.5 to 1.7 times as many requests of 8
// clients, and 2.1 to 2.6 times as many of 64. The loop was faster for one client,
// by 10 us a request, and for unanswered SETs, by 1 to 3 us each. The nodes of a
// job have 8 clients or more, so that the simpler design remained.
package tcpstore
