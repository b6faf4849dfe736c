package eval

import (
	"context"
	"fmt"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// beatEvery is how often whoever waits is told that the wait goes on.
const beatEvery = 15 * time.Second

// beating calls tell with the time since now each time that beatEvery has passed, until stop is called. Once stop has returned, tell is not called any more.
func beating(tell func(time.Duration)) (stop func()) {
	begun, ended, done := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(beatEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				tell(time.Since(begun).Round(time.Second))
			case <-ended:
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}

// cold makes the engine cold, and tells while that takes long.
func (p *Player) cold(ctx context.Context, way string) error {
	p.tell("%s: unloading and loading %s, so that nothing of the prompt is cached", way, p.Model)
	defer beating(func(d time.Duration) { p.tell("%s: still loading, %s", way, waited(d)) })()
	return p.Engine.Cold(ctx, p.Model, p.Options)
}

// ask sends a turn's request and reads the answer, and tells while that takes long. An engine's answer begins when it has read the prompt.
func (p *Player) ask(ctx context.Context, client *Ollama, turn string, r ChatRequest) (Timing, error) {
	p.tell("%s", turn)
	var answering atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { answering.Store(true) }})
	defer beating(func(d time.Duration) {
		doing := "still reading the prompt"
		if answering.Load() {
			doing = "answering"
		}
		p.tell("%s: %s, %s", turn, doing, waited(d))
	})()
	return client.Chat(ctx, r)
}

// waited is a time in whole seconds.
func waited(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }
