package turn_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// generatedTools are n tools of distinct services, described in ordinary words.
func generatedTools(n int) []string {
	verbs := strings.Fields("list create delete update archive search export import share rename copy move approve reject schedule cancel assign measure compare convert")
	nouns := strings.Fields("invoice ticket branch sensor playlist recipe booking contract shipment certificate dataset pipeline camera thermostat calendar contact message folder photo route vehicle patient lesson budget payment refund coupon meeting reminder survey")
	tools := make([]string, n)
	for i := range tools {
		v, o := verbs[i%len(verbs)], nouns[i/len(verbs)%len(nouns)]
		tools[i] = fmt.Sprintf(`{"type":"function","function":{"name":"svc%d__%s_%s","description":"%s one %s or several by identifier or by date, and return their state. Fails when the %s is locked by another user.","parameters":{"type":"object","properties":{"%s_id":{"type":"string","description":"Identifier of the %s"},"since":{"type":"string"},"limit":{"type":"integer"}},"required":["%s_id"]}}}`, i/600, v, o, v, o, o, o, o, o)
	}
	return tools
}

// BenchmarkPlan is a whole plan of a new user message with the builtin embedder and a warm snapshot: conversation looked up, message
// embedded, tools scored, admitted, ordered, body rendered. Decoding the body is not in it (see internal/chat). It reports the median beside the mean.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{38, 1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			tools := demoTools(b)
			if n > len(tools) {
				tools = append(tools, generatedTools(n-len(tools))...)
			}
			h := newHarness(b, setup{policy: core("get_current_time", "web_search", "read_file", "save_note", "set_reminder")})
			h.planner.Now = time.Now
			questions := []string{
				"The parcel from the bookshop still has not arrived, where is it?", "Turn the heating in the living room up to 21 degrees, please.",
				"Approve the invoice of last month and schedule a meeting about the refund.", "What is the exchange rate of the dollar?",
			}
			requests := make([][]byte, 64)
			for i := range requests {
				requests[i] = body(b, tools, "", user(fmt.Sprintf("%s (%d)", questions[i%len(questions)], rand.IntN(1e9))), answer("Done."), user(questions[(i+1)%len(questions)]))
			}
			h.plan(requests[0])
			decoded := request(b, requests[0])
			b.ReportAllocs()
			b.ResetTimer()
			times := make([]time.Duration, 0, b.N)
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				if i%4 == 0 {
					decoded = request(b, requests[i/4%len(requests)])
				}
				decoded.Identity.Credential = fmt.Sprint(i) // a conversation of its own
				b.StartTimer()
				started := time.Now()
				if _, err := h.planner.Plan(context.Background(), decoded); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(started))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(times[len(times)*95/100].Microseconds()), "p95-µs")
		})
	}
}
