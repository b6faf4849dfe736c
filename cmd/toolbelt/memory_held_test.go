package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
)

// One large request must not stay in memory once it is answered, whatever it is large of.
func TestALargeRequestIsNotHeld(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"model":"m","message":{"role":"assistant","content":"hi"},"done":true,"prompt_eval_count":100,"eval_count":3}`)
	}))
	defer engine.Close()
	const size = 24 << 20
	text := strings.Repeat("send the mail to Ann ", size/21)
	body := func(description, system, user, images string) string {
		var tools []string
		for i := range 40 {
			tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"tool_%d","description":"does %d %s","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}}`, i, i, description))
		}
		return `{"model":"m","stream":false,"tools":[` + strings.Join(tools, ",") + `],"messages":[{"role":"system","content":"` + system + `"},{"role":"user","content":"` + user + `"` + images + `}]}`
	}
	words := strings.Repeat("word ", 30)
	for name, make := range map[string]func() string{
		"a message": func() string { return body(words, "s", text, "") },
		"an image": func() string {
			return body(words, "s", "what is this", `,"images":["`+strings.Repeat("QUJD", size/4)+`"]`)
		},
		"the system": func() string { return body(words, text, "send a mail", "") },
		"the tools":  func() string { return body(text[:size/40], "s", "send a mail", "") },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, engine.URL)
			before := held()
			res, err := http.Post(r.url+"/api/chat", "application/json", strings.NewReader(make()))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != 200 {
				t.Fatalf("%s %v", res.Status, err)
			}
			res.Body.Close()
			http.DefaultClient.CloseIdleConnections()
			var after uint64
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) { // what is done behind the answer takes a moment
				if after = held(); after < before+size/2 || time.Now().After(deadline) {
					break
				}
			}
			if after >= before+size/2 {
				t.Errorf("of a body of %d MB, %d MB stay", size>>20, (after-before)>>20)
			}
		})
	}
}

// held is the size of what lives in memory.
func held() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
