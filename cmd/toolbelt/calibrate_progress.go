package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"toolbelt/embed"
)

// embedding tells how far an engine's embedder is, which takes minutes on a slow machine: a line each time that every has passed, none where it is
// done before that.
type embedding struct {
	out   io.Writer
	every time.Duration

	opened atomic.Bool
	texts  atomic.Int64 // embedded
}

// begin starts to tell. Once the func that it returns has returned, nothing is written any more.
func (e *embedding) begin() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	begun, done := time.Now(), make(chan struct{})
	go func() {
		defer close(done)
		every(ctx, e.every, func() {
			fmt.Fprintf(e.out, "%7s  %s\n", time.Since(begun).Round(time.Second), e.doing())
		})
	}()
	return func() {
		cancel()
		<-done
	}
}

func (e *embedding) doing() string {
	if !e.opened.Load() {
		return "opening the engine's embedder"
	}
	return "by the engine's embedder: " + count(int(e.texts.Load()), "text")
}

// counted is the embedder, which is open, with its texts counted.
func (e *embedding) counted(by embed.Embedder) embed.Embedder {
	e.opened.Store(true)
	return countedEmbedder{by, &e.texts}
}

// countedEmbedder counts the texts that it embedded.
type countedEmbedder struct {
	embed.Embedder
	texts *atomic.Int64
}

func (c countedEmbedder) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	vectors, err := c.Embedder.Embed(ctx, kind, texts)
	if err == nil {
		c.texts.Add(int64(len(texts)))
	}
	return vectors, err
}
