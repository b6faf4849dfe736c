package eval

import (
	"context"
	"fmt"
	"strings"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
	"toolbelt/selector"
)

// ScalePoint is how long choosing takes with a generated catalog of this size, by the builtin embedder.
type ScalePoint struct {
	Tools     int         `json:"tools"`
	PrepareMS float64     `json:"prepare_ms"` // once per catalog: words and vectors
	SelectUS  Percentiles `json:"select_us"`  // window, the message's own vectors, scores, the best 64 over the floor
	PlanUS    Percentiles `json:"plan_us"`    // a whole plan: the conversation found, all of the above, admission, order, the body rewritten
}

// ScaleSizes are the sizes of the scaling curve.
func ScaleSizes() []int { return []int{10, 100, 1_000, 10_000, 100_000} }

// scaleRequests is how many messages each size is measured with.
const scaleRequests = 40

// Scale measures the sizes one after the other. What was measured before an error is returned beside it.
func Scale(ctx context.Context, builtin embed.Embedder, sizes []int, progress Progress) ([]ScalePoint, error) {
	var points []ScalePoint
	for _, n := range sizes {
		point, err := scaleAt(ctx, builtin, n, func(done int) {
			if progress != nil {
				progress(fmt.Sprintf("%d generated tools", n), done, scaleRequests)
			}
		})
		if err != nil {
			return points, fmt.Errorf("measuring %d generated tools: %w", n, err)
		}
		points = append(points, point)
	}
	return points, nil
}

func scaleAt(ctx context.Context, builtin embed.Embedder, n int, progress func(done int)) (ScalePoint, error) {
	point := ScalePoint{Tools: n}
	tools := GeneratedTools(n)
	array, spans := toolsArray(tools)
	b := &bench{embedders: Embedders{First: builtin}, tools: array, clock: &clock{}}
	r := generatedRequest(tools, array, spans)
	started := time.Now()
	if err := b.prepare(ctx, r.Chat.Tools, nil); err != nil {
		return point, err
	}
	defer b.close()
	point.PrepareMS = float64(time.Since(started)) / float64(time.Millisecond)
	policy := turn.DefaultPolicy()
	planner := b.planner(policy, nil)
	floor := selector.Floor{Threshold: policy.Threshold, Words: policy.Words}
	var selects, plans []float64
	for i := range scaleRequests {
		if err := ctx.Err(); err != nil {
			return point, err
		}
		r.Chat.Users = []string{generatedMessage(i)}
		r.Identity.Explicit = fmt.Sprint(i)
		started := time.Now()
		scores, _, err := planner.Scores(ctx, b.snapshot, r.Chat)
		if err != nil {
			return point, err
		}
		selector.Select(scores, floor, 64)
		selects = append(selects, microseconds(time.Since(started)))
		plan, err := planner.Plan(ctx, r)
		if err != nil {
			return point, err
		}
		plans = append(plans, microseconds(plan.Elapsed))
		progress(i + 1)
	}
	point.SelectUS, point.PlanUS = percentilesOf(selects), percentilesOf(plans)
	return point, nil
}

// generatedRequest is what reading a request with these tools would give. It is put together here since chat.Decode leaves arrays of 20,000
// tools and more as they are.
func generatedRequest(tools []catalog.Tool, array []byte, spans [][2]int) turn.Request {
	body := requestBody(nil, array)
	start := len(body) - len(array) - 1
	r := &chat.Request{Protocol: chat.Ollama, Model: "eval", ToolsStart: start, ToolsEnd: start + len(array), MessageBytes: 100}
	for i, t := range tools {
		t.Bytes = spans[i][1] - spans[i][0]
		r.Tools = append(r.Tools, t)
		r.Elements = append(r.Elements, chat.Element{Start: start + spans[i][0], End: start + spans[i][1], Key: t.Name})
	}
	return turn.Request{Body: body, Chat: r, Identity: session.Identity{Family: chat.Ollama.Family(), Model: r.Model, Agent: "eval", Chain: []catalog.Hash{{1}}}}
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// GeneratedTools are n tools of distinct names, described in ordinary words; the same n gives the same tools.
func GeneratedTools(n int) []catalog.Tool {
	verbs, nouns := generatedWords()
	tools := make([]catalog.Tool, n)
	for i := range tools {
		v, o := verbs[i%len(verbs)], nouns[i/len(verbs)%len(nouns)]
		service := nouns[(i/7+i%11)%len(nouns)]
		tools[i] = catalog.Tool{
			Name:        fmt.Sprintf("%s%d__%s_%s", service, i/(len(verbs)*len(nouns)), v, o),
			Description: fmt.Sprintf("%s one %s or several of the %s service by identifier or by date, and return their state. Fails when the %s is locked by another user.", strings.ToUpper(v[:1])+v[1:], o, service, o),
			Schema:      catalog.Schema(fmt.Sprintf(`{"type":"object","properties":{"%s_id":{"type":"string","description":"Identifier of the %s"},"since":{"type":"string"},"limit":{"type":"integer"}},"required":["%s_id"]}`, o, o, o)),
		}
	}
	return tools
}

func generatedMessage(i int) string {
	verbs, nouns := generatedWords()
	return fmt.Sprintf("Could you %s the %s of last week, and then %s every %s that is still open?",
		verbs[(3*i+1)%len(verbs)], nouns[(5*i+2)%len(nouns)], verbs[(7*i+3)%len(verbs)], nouns[(11*i+4)%len(nouns)])
}

func generatedWords() (verbs, nouns []string) {
	return strings.Fields("list create delete update archive search export import share rename copy move approve reject schedule cancel assign measure compare convert"),
		strings.Fields("invoice ticket branch sensor playlist recipe booking contract shipment certificate dataset pipeline camera thermostat calendar contact message folder photo route vehicle patient lesson budget payment refund coupon meeting reminder survey")
}
