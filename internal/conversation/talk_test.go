package conversation_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"toolbelt/internal/enginetest"
)

// talk is one conversation of an app.
type talk struct {
	rig    *rig
	app    *app
	mind   *mind
	r      *rand.Rand
	header []string
	habits

	words string   // all that the user ever says; "" for words of its own
	more  []string // members of every request, by pairs

	history []entry
	points  []point  // answers that the engine can go on from
	texts   []string // what the model said before calls of the daemon's tools
	unsaid  []string // of them in answers that failed: the app has not kept them
	refused bool     // an edited request, so that nothing of ours is put into the messages any more
	before  *step    // the newest request to the engine
	now     step     // what is true of all rounds of the request that is under way
	changed bool     // the history was edited
	fresh   bool     // the next request does not go on with the one before
	newTurn bool
	kept    bool
	restart string // "kept" or "lost" where the daemon has been started anew since the request before
	hasty   int    // so many requests are sent at once behind one that was given up: they may overtake what is noted of it
	asides  int
	trace   strings.Builder
	asked   int // requests to the engine
	hidden  int // of them behind the first for a request of the app's
}

// habits are what an app and its user do now and then.
type habits struct {
	changes   bool // edit the history, or branch off
	chooses   bool // say what tools are to be called
	wanders   bool // ask other things between: titles, completions
	impatient bool // give up and send the same again
	restarts  bool // have the daemon start anew, its file kept or lost
}

func (r *rig) talk(random *rand.Rand, tag string, c *catalogue, failing bool, header ...string) *talk {
	k := &talk{rig: r, app: newApp(random, r.protocol, c), r: random, header: append([]string{conversationHeader, tag}, header...), fresh: true}
	k.mind = &mind{name: tag, tag: tag, tools: c.names, llama: r.style == enginetest.LlamaCpp, failing: failing, r: rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))}
	k.mind.apart = r.chains
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
		if k.mind.alike = k.words != ""; k.mind.alike {
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
		if wrong := k.between(); wrong != "" {
			return wrong
		}
		v, wrong := k.request(requests >= 3)
		if wrong != "" {
			return wrong
		}
		k.kept = len(v.blocks) > 0
		if v.said("text") == "" && len(v.entry.calls()) == 0 {
			k.kept = false
			k.goesOn(v)
			return ""
		}
		k.history = append(k.history, v.entry)
		k.goesOn(v)
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

// goesOn notes an answer that the engine can go on from.
func (k *talk) goesOn(v *view) {
	if k.rig.archive != nil && v.id != "" {
		k.points = append(k.points, point{v.id, len(k.history)})
	}
}

// request sends the history until it is answered.
func (k *talk) request(quiet bool) (*view, string) {
	stream := k.coin()
	choice := k.choose()
	body, whole := k.chainedBody(stream, slices.Concat(k.more, choice.members))
	for attempt := 0; ; attempt++ {
		if wrong := k.begin(choice, attempt); wrong != "" {
			return nil, wrong
		}
		k.mind.begin(quiet, attempt > 0)
		ctx, cancel := context.WithCancel(context.Background())
		if k.impatient && attempt < 2 && k.r.IntN(100) < 15 {
			k.mind.beGivenUp(1+k.r.IntN(2), cancel)
		}
		reply, err := k.rig.post(ctx, body, k.header...)
		cancel()
		rounds := k.mind.heard()
		if wrong := k.ended(rounds); wrong != "" {
			return nil, wrong
		}
		fmt.Fprintf(&k.trace, "request of %d messages, stream %v, attempt %d, fresh %v\n%s", len(k.history), stream, attempt, k.fresh, shown(rounds))
		if err != nil && len(rounds) == 0 {
			return nil, fmt.Sprintf("the request: %v", err)
		}
		v := &view{} // nothing, where the client is gone before the answer
		if err == nil {
			v = read(k.rig.protocol, stream, reply)
		}
		if wrong := k.check(sentBy{body, whole}, stream, v, reply, rounds); wrong != "" {
			return nil, fmt.Sprintf("stream %v, attempt %d: %s\nso far:\n%s\nanswer: %d %s", stream, attempt, wrong, k.trace.String(), reply.status, reply.body)
		}
		k.newTurn, k.kept = false, false
		if n := len(rounds); rounds[n-1].round.Stall != nil {
			k.hasty = 2
		}
		if v.ended && v.failure == "" {
			return v, ""
		}
		k.unsaid = append(k.unsaid, hiddenTexts(k.rig.setting, rounds)...)
		if attempt > 4 {
			return nil, fmt.Sprintf("no answer after %d attempts: %s\nrounds:\n%s", attempt, v.failure, shown(rounds))
		}
	}
}

// ended waits for the end of rounds that the client did not wait for: the engine is not to go on for nobody.
func (k *talk) ended(rounds []said) string {
	for _, one := range rounds {
		if one.round.Stall == nil {
			continue
		}
		select {
		case <-one.request.Done():
		case <-time.After(patience):
			return "the client has given up, and the engine goes on"
		}
	}
	return ""
}

// begin is what comes before each attempt at a request.
func (k *talk) begin(c choice, attempt int) string {
	if k.restarts && k.r.IntN(100) < 12 {
		k.restart = []string{"kept", "kept", "lost"}[k.r.IntN(3)]
		if wrong := k.rig.restart(k.restart == "kept" && k.rig.keeps); wrong != "" {
			return wrong
		}
		if !k.rig.keeps {
			k.restart = "lost"
		}
		fmt.Fprintf(&k.trace, "the daemon starts anew, its file %s\n", k.restart)
		k.fresh, k.changed = true, true // hidden turns are not kept
	}
	if k.hasty > 0 {
		k.hasty--
		k.fresh = true
	}
	k.now = step{choice: c, retried: attempt > 0}
	return ""
}

// sentBy is a request of the app's: as it is sent, and with the whole history.
type sentBy struct{ body, whole []byte }

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
func (k *talk) check(theirs sentBy, stream bool, v *view, reply reply, rounds []said) string {
	if len(rounds) == 0 {
		return "the engine was not asked"
	}
	if k.rig.shadow {
		return k.checkShadow(theirs, v, reply, rounds)
	}
	k.texts = append(k.texts, hiddenTexts(k.rig.setting, rounds)...)
	for _, name := range []string{loadTools, toolSearch, callTool} {
		if bytes.Contains(whole(reply, stream), []byte(name)) {
			return "the client was told of " + name
		}
	}
	w, wrong := expect(k.rig.setting, theirs.body, stream, v.ended, rounds)
	if wrong != "" {
		return wrong
	}
	if wrong := compare(k.rig.setting, stream, v, w); wrong != "" {
		return wrong
	}
	for i, one := range rounds {
		k.refused = k.refused || faulty(one) && !bytes.Equal(one.sent(), theirs.body)
		now := k.now
		now.said, now.fresh, now.newTurn, now.restart = one, k.fresh, k.newTurn && i == 0, k.restart
		now.kept, now.last = k.kept && i == 0 || i > 0, i >= 4
		now.begun = hiddenTexts(k.rig.setting, rounds[:i])
		if now.untouched = bytes.Equal(one.sent(), theirs.body); now.untouched && i > 0 { // in the end, without what was hidden
			k.unsaid, now.begun = append(k.unsaid, now.begun...), nil
		}
		if wrong := k.checkRound(theirs, now); wrong != "" {
			return fmt.Sprintf("round %d: %s\nsent: %s", i, wrong, one.sent())
		}
		k.before, k.fresh, k.restart = &now, false, ""
	}
	k.asked += len(rounds)
	k.hidden += len(rounds) - 1
	return ""
}

// checkShadow: every byte goes on as it came, both ways.
func (k *talk) checkShadow(theirs sentBy, v *view, reply reply, rounds []said) string {
	k.asked++
	if len(rounds) != 1 {
		return fmt.Sprintf("the engine was asked %d times", len(rounds))
	}
	wire := k.rig.wire(k.mind.name)
	answer := wire.answer.String()
	switch {
	case !bytes.Equal(wire.request, theirs.body):
		return fmt.Sprintf("the engine was sent\n%s\nthe client sent\n%s", wire.request, theirs.body)
	case !rounds[0].failed() && answer != string(reply.body), !strings.HasPrefix(answer, string(reply.body)):
		return fmt.Sprintf("the engine said\n%s\nthe client got\n%s", answer, reply.body)
	}
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

func (k *talk) checkRound(theirs sentBy, now step) string {
	sent := now.sent()
	if wrong := undo(k.app, sent, theirs.body, k.texts); wrong != "" {
		return wrong
	}
	if k.rig.archive != nil {
		if wrong := k.app.sameConversation(now.request.Body, theirs.whole, now.begun, k.unsaid); wrong != "" {
			return wrong
		}
	}
	for _, wrong := range []string{unanswered(now.request.Messages), unknown(now.request, k.rig.archive != nil && (k.restarts || k.refused || now.untouched)), now.choice.unheeded(now.request)} {
		if wrong != "" {
			return wrong
		}
	}
	if other := strangers(sent, k.mind.tag); other != "" {
		return fmt.Sprintf("%s is in the conversation of %s", other, k.mind.tag)
	}
	if k.before == nil || k.rig.archive != nil {
		return ""
	}
	unsaid := k.unsaid
	if len(unsaid) > 0 || k.changed { // where one text is not at its place, all hidden turns go without theirs
		unsaid = k.texts
	}
	return lostPrefix(k.rig.setting, *k.before, now, unsaid)
}

// tags are the tags of all conversations, and of what is asked beside them.
var tags = regexp.MustCompile(`c[0-9]+z(t[0-9]+t)?`)

// strangers finds the tag of another conversation.
func strangers(body []byte, tag string) string {
	for _, found := range tags.FindAll(body, -1) {
		if !strings.HasPrefix(tag, string(found)) {
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
			i := users[1+k.r.IntN(len(users)-1)]
			k.history = append([]entry(nil), k.history[:i]...)
			k.forgets(i)
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
			k.forgets(i)
			k.fresh = true
		}
	default: // a message of the user's is
		if len(users) > 0 {
			i := users[k.r.IntN(len(users))]
			k.history = append([]entry(nil), k.history...)
			k.history[i].text += " now"
			k.forgets(i)
			k.fresh = true
		}
	}
}
