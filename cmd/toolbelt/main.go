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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	log.SetOutput(io.Discard)    // net/http says there, among other things, what an engine sent unasked
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "toolbelt: finding the working directory: %v\n", err)
		os.Exit(1)
	}
	err = Run(ctx, os.Args[1:], Process{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Dir: dir})
	stop()
	os.Exit(ExitStatus(err))
}
