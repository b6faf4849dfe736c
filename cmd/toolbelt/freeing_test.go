package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryIsGivenBackAfterALargeBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var freed atomic.Int32
		f := &freeing{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }), free: func() { freed.Add(1) }}
		ask := func(size int, known bool) {
			r := httptest.NewRequest("POST", "/api/chat", io.LimitReader(endless{}, int64(size)))
			if r.ContentLength = -1; known {
				r.ContentLength = int64(size)
			}
			f.ServeHTTP(httptest.NewRecorder(), r)
		}
		after := func(d time.Duration, want int, what string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := int(freed.Load()); got != want {
				t.Errorf("%s: given back %d times, want %d", what, got, want)
			}
		}
		ask(largeBytes, true)
		ask(largeBytes, false)
		after(time.Hour, 0, "small bodies")
		ask(largeBytes+1, true)
		after(0, 0, "at once")
		ask(largeBytes+1, true)
		after(freeAfter, 1, "two large bodies")
		ask(largeBytes+1, false)
		after(freeEvery/2, 1, "soon again")
		after(freeEvery/2, 2, "a minute later")
		after(time.Hour, 2, "nothing more came")
		ask(largeBytes+1, true)
		after(freeAfter, 3, "long after")
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	return strings.NewReader(strings.Repeat("x", min(len(p), 32<<10))).Read(p)
}
