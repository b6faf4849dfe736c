package main

import (
	"math"
	"time"

	"toolbelt/internal/telemetry"
)

// reportDocument is what "report --json" prints.
type reportDocument struct {
	From     time.Time            `json:"from"`
	Until    time.Time            `json:"until"`
	Apps     []reportApp          `json:"apps"`
	Modes    []reportMode         `json:"modes"`
	Missed   []telemetry.Missed   `json:"missed"`
	Core     []telemetry.CoreTool `json:"core"`
	CoreYAML *string              `json:"core_yaml"` // null where nothing is to be added
	Next     []string             `json:"next"`
}

// reportApp is one app's turns.
type reportApp struct {
	telemetry.App
	appView
}

type reportMode struct {
	Mode      string             `json:"mode"`
	Turns     int                `json:"turns"`
	Sessions  int                `json:"sessions"`
	Lists     int                `json:"with_list"`
	Fallbacks map[string]int     `json:"fallbacks"`
	Truncated int                `json:"truncated"`
	Recall    reportRecall       `json:"recall"`
	Tools     reportTools        `json:"tools_per_turn"`
	Hidden    int                `json:"hidden_tokens"`
	Saving    reportSaving       `json:"saving"`
	Unseen    reportHidden       `json:"hidden_turns"`
	PerSecond map[string]float64 `json:"tokens_per_second"` // by model
}

type reportRecall struct {
	Calls   int      `json:"calls"`
	Missed  int      `json:"missed"`
	Written int      `json:"written"` // of those missed, called in writing
	Asked   int      `json:"asked"`
	Share   *float64 `json:"share"` // null without calls
	Low     *float64 `json:"low"`
	High    *float64 `json:"high"`
}

type reportTools struct {
	Offered       float64 `json:"offered"`
	Visible       float64 `json:"visible"`
	OfferedTokens float64 `json:"offered_tokens"`
	VisibleTokens float64 `json:"visible_tokens"`
}

type reportSaving struct {
	Estimated bool     `json:"estimated"`
	Turns     int      `json:"turns"`
	Unjudged  int      `json:"unjudged_turns"`
	Tokens    *int     `json:"tokens"` // null where no turn could be judged
	Price     int      `json:"price_tokens"`
	Hidden    int      `json:"hidden_turns_tokens"` // at most 0, as the price
	Seconds   *float64 `json:"seconds"`             // null where no pace is known
}

// reportHidden is what clients saw nothing of.
type reportHidden struct {
	Turns     int `json:"turns"`
	Asked     int `json:"asked"`
	Guesses   int `json:"guesses"`
	Evaluated int `json:"evaluated_tokens"`
	Generated int `json:"generated_tokens"`
}

func documentOf(r appReport, core []string) reportDocument {
	d := reportDocument{From: r.From.UTC(), Until: r.Until.UTC(), Apps: []reportApp{}, Modes: []reportMode{}, Missed: r.Missed, Core: r.Core, Next: r.Advice(core)}
	if with := r.CoreWith(core); len(with) > len(core) {
		yaml := telemetry.CoreYAML(with)
		d.CoreYAML = &yaml
	}
	for _, a := range r.Apps {
		d.Apps = append(d.Apps, reportApp{a, viewOf(r.Labels[a.App])})
	}
	for _, m := range r.Modes {
		d.Modes = append(d.Modes, modeOf(m))
	}
	return d
}

func modeOf(m telemetry.Mode) reportMode {
	out := reportMode{
		Mode: m.Mode, Turns: m.Turns, Sessions: m.Sessions, Lists: m.Lists(), Fallbacks: m.Fallbacks, Truncated: m.Truncated, PerSecond: m.PerSecond,
		Recall: reportRecall{Calls: m.Recall.Calls, Missed: m.Recall.Misses, Written: m.Recall.Written, Asked: m.Recall.Asked},
		Tools:  reportTools{m.Tools.Offered, m.Tools.Visible, m.Tools.OfferedTokens, m.Tools.VisibleTokens}, Hidden: m.Tools.HiddenTokens,
		Saving: reportSaving{Estimated: true, Turns: m.Saving.Judged, Unjudged: m.Saving.Unjudged, Price: m.Saving.Price, Hidden: m.Saving.Hidden},
		Unseen: reportHidden(m.Hidden),
	}
	if m.Recall.Calls > 0 {
		share, low, high := m.Recall.Share()
		out.Recall.Share, out.Recall.Low, out.Recall.High = &share, &low, &high
	}
	if m.Saving.Judged > 0 {
		out.Saving.Tokens = &m.Saving.Tokens
	}
	if m.Saving.Timed {
		seconds := math.Round(m.Saving.Time.Seconds()*10) / 10
		out.Saving.Seconds = &seconds
	}
	return out
}
