package conversation_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"

	"toolbelt/internal/enginetest"
)

// talk is one conversation of an app.
type talk struct {
	rig    *rig
	app    *app
	mind   *mind
	r      *rand.Rand
	header []string

	changes bool     // the history is edited now and then
	words   string   // all that the user ever says; "" for words of its own
	more    []string // members of every request, by pairs

	history []entry
	texts   []string // what the model said before calls of the daemon's tools
	unsaid  []string // of them in answers that failed: the app has not kept them
	before  *step    // the newest request to the engine
	changed bool     // the history was edited
	fresh   bool     // the next request does not go on with the one before
	newTurn bool
	kept    bool
	trace   strings.Builder
	asked   int // requests to the engine
	hidden  int // of them behind the first for a request of the app's
}

func (r *rig) talk(random *rand.Rand, tag string, c *catalogue, failing bool, header ...string) *talk {
	k := &talk{rig: r, app: newApp(random, r.protocol, c), r: random, header: append([]string{conversationHeader, tag}, header...), fresh: true}
	k.mind = &mind{tag: tag, tools: c.names, llama: r.style == enginetest.LlamaCpp, failing: failing, r: rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))}
	r.add(k.mind)
	return k
}

func (k *talk) coin() bool { return k.r.IntN(2) == 0 }

// converse has the conversation and returns what was wrong, "" for nothing.
func (k *talk) converse(turns int) string {
	for range turns {
		if k.changes && k.r.IntN(100) < 20 {
			k.change()
		}
		if k.words != "" {
			k.say(k.words)
		} else {
			k.say(fmt.Sprintf("please %s the %s <%s> and %s \u00e9", verbs()[k.r.IntN(len(verbs()))], words()[k.r.IntN(len(words()))], k.mind.tag, words()[k.r.IntN(len(words()))]))
		}
		if wrong := k.turn(); wrong != "" {
			return wrong
		}
	}
	return ""
}

func (k *talk) say(text string) {
	k.history = append(k.history, entry{role: "user", text: text})
	k.newTurn = true
}

// turn asks until the model calls no more tools.
func (k *talk) turn() string {
	for requests := 0; ; requests++ {
		v, wrong := k.request(requests >= 3)
		if wrong != "" {
			return wrong
		}
		k.kept = len(v.blocks) > 0
		if v.said("text") == "" && len(v.entry.calls()) == 0 {
			k.kept = false
			return ""
		}
		k.history = append(k.history, v.entry)
		if len(v.entry.calls()) == 0 {
			return ""
		}
		for _, c := range v.entry.calls() {
			k.history = append(k.history, entry{role: "tool", call: c, text: k.result()})
		}
	}
}

func (k *talk) result() string {
	return []string{"done <" + k.mind.tag + ">", `{"ok": true}`, "Error: no such thing", ""}[k.r.IntN(4)]
}

// request sends the history until it is answered.
func (k *talk) request(quiet bool) (*view, string) {
	stream := k.coin()
	body := k.app.body(k.history, stream, k.more...)
	for attempt := 0; ; attempt++ {
		k.mind.begin(quiet, attempt > 0)
		reply, err := k.rig.post(context.Background(), body, k.header...)
		rounds := k.mind.heard()
		fmt.Fprintf(&k.trace, "request of %d messages, stream %v, attempt %d, fresh %v\n%s", len(k.history), stream, attempt, k.fresh, shown(rounds))
		if err != nil && len(rounds) == 0 {
			return nil, fmt.Sprintf("the request: %v", err)
		}
		v := read(k.rig.protocol, stream, reply)
		if wrong := k.check(body, stream, v, reply, rounds, attempt > 0); wrong != "" {
			return nil, fmt.Sprintf("stream %v, attempt %d: %s\nso far:\n%s\nanswer: %d %s", stream, attempt, wrong, k.trace.String(), reply.status, reply.body)
		}
		k.newTurn, k.kept = false, false
		if v.ended && v.failure == "" {
			return v, ""
		}
		k.unsaid = append(k.unsaid, hiddenTexts(k.rig.setting, rounds)...)
		if attempt > 3 {
			return nil, fmt.Sprintf("no answer after %d attempts: %s\nrounds:\n%s", attempt, v.failure, shown(rounds))
		}
	}
}

// hiddenTexts are what the model said before calls of the daemon's tools.
func hiddenTexts(set setting, rounds []said) []string {
	var texts []string
	for _, one := range rounds {
		if _, ours := fates(set, one); ours && one.round.Text != "" {
			texts = append(texts, one.round.Text)
		}
	}
	return texts
}

func shown(rounds []said) string {
	var b strings.Builder
	for _, one := range rounds {
		fmt.Fprintf(&b, "  tools %q\n  %+v\n", one.request.Tools, one.round)
	}
	return b.String()
}

// check looks at all that one request led to.
func (k *talk) check(body []byte, stream bool, v *view, reply reply, rounds []said, retried bool) string {
	if len(rounds) == 0 {
		return "the engine was not asked"
	}
	k.texts = append(k.texts, hiddenTexts(k.rig.setting, rounds)...)
	for _, name := range []string{loadTools, toolSearch, callTool} {
		if bytes.Contains(whole(reply, stream), []byte(name)) {
			return "the client was told of " + name
		}
	}
	w, wrong := expect(k.rig.setting, stream, v.ended, rounds)
	if wrong != "" {
		return wrong
	}
	if wrong := compare(k.rig.setting, stream, v, w); wrong != "" {
		return wrong
	}
	for i, one := range rounds {
		now := step{said: one, fresh: k.fresh, newTurn: k.newTurn && i == 0, retried: retried, kept: k.kept && i == 0 || i > 0, last: i >= 4}
		if wrong := k.checkRound(body, now); wrong != "" {
			return fmt.Sprintf("round %d: %s\nsent: %s", i, wrong, one.request.Body)
		}
		k.before, k.fresh = &now, false
	}
	k.asked += len(rounds)
	k.hidden += len(rounds) - 1
	return ""
}

// whole is what of an answer came to the end of a line.
func whole(r reply, stream bool) []byte {
	switch {
	case !r.broken:
		return r.body
	case !stream:
		return nil
	}
	return r.body[:bytes.LastIndexByte(r.body, '\n')+1]
}

func (k *talk) checkRound(body []byte, now step) string {
	sent := now.request.Body
	if wrong := undo(k.app, sent, body, k.texts); wrong != "" {
		return wrong
	}
	if wrong := unanswered(now.request.Messages); wrong != "" {
		return wrong
	}
	if other := strangers(sent, k.mind.tag); other != "" {
		return fmt.Sprintf("%s is in the conversation of %s", other, k.mind.tag)
	}
	if k.before == nil {
		return ""
	}
	unsaid := k.unsaid
	if len(unsaid) > 0 || k.changed { // where one text is not at its place, all hidden turns go without theirs
		unsaid = k.texts
	}
	return lostPrefix(k.rig.setting, *k.before, now, unsaid)
}

// tags are the tags of all conversations.
var tags = regexp.MustCompile(`c[0-9]+z`)

// strangers finds the tag of another conversation.
func strangers(body []byte, tag string) string {
	for _, found := range tags.FindAll(body, -1) {
		if string(found) != tag {
			return string(found)
		}
	}
	return ""
}

// change edits or branches the history, as a user may.
func (k *talk) change() {
	k.changed = true
	var users, said []int
	for i, e := range k.history {
		switch {
		case e.role == "user":
			users = append(users, i)
		case e.role == "assistant" && e.said("text") != "":
			said = append(said, i)
		}
	}
	switch k.r.IntN(3) {
	case 0: // from an earlier message on in another way
		if len(users) > 1 {
			k.history = append([]entry(nil), k.history[:users[1+k.r.IntN(len(users)-1)]]...)
			k.fresh = true
		}
	case 1: // an answer is rewritten
		if len(said) > 0 {
			i := said[k.r.IntN(len(said))]
			k.history = append([]entry(nil), k.history...)
			e := entry{role: "assistant", blocks: []block{{kind: "text", text: "rewritten"}}}
			for _, c := range k.history[i].calls() {
				e.blocks = append(e.blocks, block{kind: "call", call: c})
			}
			k.history[i] = e
			k.fresh = true
		}
	default: // a message of the user's is
		if len(users) > 0 {
			i := users[k.r.IntN(len(users))]
			k.history = append([]entry(nil), k.history...)
			k.history[i].text += " now"
			k.fresh = true
		}
	}
}
