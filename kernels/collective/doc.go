// Package collective says what a collective, an algorithm and a call are, and
// holds what an algorithm's host side works with: the parameter block of the
// kernels and the communicator. The algorithms themselves have folders of
// their own beside this one.
package collective
