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
// An event loop on epoll, which spun before it slept, was measured against this
// design: PyTorch 2.11's client, client processes on a host with 16 CPUs. With 8
// clients the goroutines answer 1.5 to 1.7 times as many requests a second, with 64
// clients 2.1 to 2.6 times. In a ping-pong of waits the ratio is 1.0 and 1.4.
//
// The loop was faster for fewer clients. A request of a single client takes 30 us
// here and took 22 us there. A wait that another client ends takes 147 us and took
// 83 us. A SET, which has no answer, takes 1 to 3 us more here. A node with 8 GPUs
// has 8 clients or more, so the simpler design was kept.
package tcpstore
