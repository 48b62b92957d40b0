package main

//go:generate go test . -run TestReference -update
