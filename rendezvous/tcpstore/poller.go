package tcpstore

import (
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// poller waits for many sockets at once: epoll, a bell by which other goroutines
// end the wait, and an alarm that ends it in less than epoll's milliseconds.
type poller struct{ epoll, bell, alarm int }

func newPoller() (*poller, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making an epoll instance: %w", err)
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making an eventfd: %w", err), unix.Close(epoll))
	}
	alarm, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a timerfd: %w", err), unix.Close(epoll), unix.Close(bell))
	}
	p := &poller{epoll: epoll, bell: bell, alarm: alarm}
	if err := errors.Join(p.watch(bell), p.watch(alarm)); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// readable is what a socket is watched for as a rule.
const readable = unix.EPOLLIN

// watch waits for what can be read, too.
func (p *poller) watch(fd int) error { return p.control(unix.EPOLL_CTL_ADD, fd, readable) }

func (p *poller) change(fd int, events uint32) error {
	return p.control(unix.EPOLL_CTL_MOD, fd, events)
}

func (p *poller) control(op, fd int, events uint32) error {
	err := unix.EpollCtl(p.epoll, op, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
	if err != nil {
		return fmt.Errorf("watching a socket: %w", err)
	}
	return nil
}

// wait fills events and returns how many there are. A negative time is for ever.
func (p *poller) wait(events []unix.EpollEvent, d time.Duration) (int, error) {
	milliseconds := -1
	if d >= 0 { // not too early, which would be a wait for nothing
		milliseconds = int(min((d+time.Millisecond-1)/time.Millisecond, math.MaxInt32))
	}
	n, err := unix.EpollWait(p.epoll, events, milliseconds)
	if errors.Is(err, unix.EINTR) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("waiting for clients: %w", err)
	}
	return n, nil
}

// ring ends a wait.
func (p *poller) ring() error {
	_, err := unix.Write(p.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	return err
}

// rung makes the bell silent.
func (p *poller) rung() error {
	var b [8]byte
	_, err := unix.Read(p.bell, b[:])
	return err
}

// setAlarm ends a wait after some time, which is more than none.
func (p *poller) setAlarm(d time.Duration) error {
	if err := unix.TimerfdSettime(p.alarm, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil); err != nil {
		return fmt.Errorf("setting the store's alarm: %w", err)
	}
	return nil
}

// alarmed makes the alarm silent.
func (p *poller) alarmed() error {
	var b [8]byte
	_, err := unix.Read(p.alarm, b[:])
	return err
}

func (p *poller) close() error {
	return errors.Join(unix.Close(p.alarm), unix.Close(p.bell), unix.Close(p.epoll))
}
