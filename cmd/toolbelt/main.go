// Toolbelt is a daemon beside a local chat app that decides, before each turn's first token, which tools the
// model sees. This package is its command line: flags, wiring and lifecycle, one file a subcommand.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := untilSignal()
	log.SetOutput(io.Discard) // net/http says there, among other things, what an engine sent unasked
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "toolbelt: finding the working directory: %v\n", err)
		os.Exit(1)
	}
	err = Run(ctx, os.Args[1:], Process{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Dir: dir})
	stop()
	os.Exit(ExitStatus(err))
}

// untilSignal is a context that ends at an interrupt or a SIGTERM; a second one ends the process at once, however soon it comes. The caller calls stop.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan os.Signal, 2)
	signal.Notify(got, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-got
		cancel()
		end(<-got)
	}()
	return ctx, cancel
}

// end ends the process as the signal would have done.
func end(by os.Signal) {
	signal.Reset(by)
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(by) == nil {
		time.Sleep(time.Second) // it is on its way
	}
	os.Exit(1)
}
