package proxy

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTrafficIsQuietAfterTheLastRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var traffic Traffic
		if err := traffic.Quiet(t.Context(), 2*time.Second); err != nil {
			t.Fatalf("before any request: %v", err)
		}
		started := time.Now()
		first, second := traffic.begin(), traffic.begin()
		time.AfterFunc(10*time.Second, first)
		time.AfterFunc(20*time.Second, second)
		time.AfterFunc(21*time.Second, func() { time.AfterFunc(5*time.Second, traffic.begin()) })
		if err := traffic.Quiet(t.Context(), 2*time.Second); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(started); waited != 28*time.Second {
			t.Errorf("quiet after %v, the last request ended after 26s", waited)
		}
	})
}

func TestTrafficStopsWaitingWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var traffic Traffic
		defer traffic.begin()()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := traffic.Quiet(ctx, time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}
