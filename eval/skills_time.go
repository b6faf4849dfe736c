package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"toolbelt/embed"
	"toolbelt/skills"
)

// SkillsTime is how long a recall takes among so many procedures, by one embedder, the message's embedding left out.
type SkillsTime struct {
	Procedures int         `json:"procedures"`
	RecallUS   Percentiles `json:"recall_us"`
	Agree      float64     `json:"agree"` // share of recalls whose best is that of a search through all
}

// timedRecalls is how many recalls are timed.
const timedRecalls = 200

// timeRecall times recalls among n generated procedures.
func timeRecall(ctx context.Context, e embed.Embedder, n int) (SkillsTime, error) {
	procedures := generatedProcedures(n)
	v, err := viewOf(ctx, procedures, e)
	if err != nil {
		return SkillsTime{}, err
	}
	set := skills.NewSet(procedures, []skills.View{v}, time.Time{})
	rng := rand.New(rand.NewPCG(uint64(n), 11))
	var times []float64
	agree := 0
	for range timedRecalls {
		at := rng.IntN(n)
		asked, err := e.Embed(ctx, embed.Query, []string{"could you please " + procedures[at].WhenToUse + " for me today"})
		if err != nil {
			return SkillsTime{}, err
		}
		q := skills.QueryVectors{v.Model: asked[0]}
		started := time.Now()
		recalled := set.Recall(q, 2, skills.DefaultFloor)
		times = append(times, microseconds(time.Since(started)))
		if best := set.Nearest(q); len(recalled) > 0 && best == recalled[0].Procedure.Name || len(recalled) == 0 && best == "" {
			agree++
		}
	}
	return SkillsTime{Procedures: n, RecallUS: percentilesOf(times), Agree: float64(agree) / timedRecalls}, nil
}

// generatedProcedures are n jobs in ordinary words.
func generatedProcedures(n int) []skills.Procedure {
	verbs := []string{"prepare", "send", "archive", "compare", "plan", "summarise", "check", "publish", "translate", "renew", "reconcile", "schedule", "audit", "book", "cancel", "import", "export", "measure", "invoice", "repair"}
	things := []string{"weekly report", "travel expenses", "sales figures", "customer tickets", "garden lights", "photo album", "tax papers", "team calendar", "database backup", "newsletter", "shopping list", "test results", "rental contract", "train tickets", "server logs", "school timetable", "warehouse stock", "meeting notes", "release notes", "insurance claim"}
	places := []string{"Lisbon", "the north office", "our parents", "the sales team", "project Falcon", "the new flat", "the school", "Oslo", "the board", "the clinic", "unit seven", "the harbour", "Anna", "the auditors", "the choir", "Kyoto"}
	times := []string{"every Monday", "before the holidays", "at the end of the month", "after lunch", "this quarter", "on the first of May", "tonight", "within the hour", "next spring", "as soon as it rains"}
	list := make([]skills.Procedure, n)
	for i := range list {
		text := fmt.Sprintf("%s the %s of %s %s", verbs[i%20], things[i/20%20], places[i/400%16], times[i/6400%10])
		list[i] = skills.Procedure{Name: fmt.Sprintf("job-%d", i), WhenToUse: text, ToolsRequired: []string{"a", "b"}, Enabled: true}
	}
	return list
}
