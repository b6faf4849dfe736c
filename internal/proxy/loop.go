package proxy

import (
	"net/http"
	"strings"
)

// loop recognises requests that have been here before. Each daemon adds its own name to Via, so that a
// chain of different daemons is fine and a circle is not.
type loop struct {
	name string
}

func newLoop(instance string) loop {
	if instance == "" {
		instance = randomName()
	}
	return loop{name: "toolbelt-" + instance}
}

// via is the header's value for a request that goes on.
func (l loop) via() string { return "1.1 " + l.name }

// check refuses a request that this daemon itself has sent.
func (l loop) check(r *http.Request) *refusal {
	for _, line := range r.Header.Values("Via") {
		for hop := range strings.SplitSeq(line, ",") {
			if fields := strings.Fields(hop); len(fields) >= 2 && fields[1] == l.name {
				return refuse(http.StatusLoopDetected, "this request has been here before: toolbelt's upstream leads back to toolbelt. "+
					"OLLAMA_HOST was probably set for the app and read by the daemon or the engine too: set TOOLBELT_UPSTREAM to the engine's own address")
			}
		}
	}
	return nil
}
