package chat_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"toolbelt/internal/chat"
)

func TestWindow(t *testing.T) {
	for name, test := range map[string]struct{ users, want []string }{
		"nothing said": {nil, nil},
		"images only":  {[]string{"", " \n"}, nil},
		"one message":  {[]string{"what time is it?"}, []string{"what time is it?"}},
		"two":          {[]string{"in Oslo", "what time is it?"}, []string{"what time is it?", "in Oslo\nwhat time is it?"}},
		"three":        {[]string{"hello", "in Oslo", "and now?"}, []string{"and now?", "hello\nin Oslo\nand now?"}},
		"enough was said": {[]string{"not this", strings.Repeat("word ", 30) + "x", "and now?"},
			[]string{"and now?", strings.Repeat("word ", 30) + "x\nand now?"}},
		"six messages at most":   {[]string{"1", "2", "3", "4", "5", "6", "7"}, []string{"7", "2\n3\n4\n5\n6\n7"}},
		"the last is an image":   {[]string{"hello", "what is this?", ""}, []string{"what is this?", "hello\nwhat is this?"}},
		"one between is":         {[]string{"hello", "", "and this?"}, []string{"and this?", "hello\nand this?"}},
		"space around":           {[]string{" hello\n", "\tyou "}, []string{"you", "hello\nyou"}},
		"one sentence":           {[]string{"Open the file please."}, []string{"Open the file please."}},
		"two sentences":          {[]string{"Open the file please. Read it to me."}, []string{"Open the file please. Read it to me.", "Read it to me.", "Open the file please."}},
		"two clauses":            {[]string{"Find my keys in the house and then feed the old cat"}, []string{"Find my keys in the house and then feed the old cat", "and then feed the old cat", "Find my keys in the house"}},
		"a short clause":         {[]string{"Find my keys, wallet, and the blue hat"}, []string{"Find my keys, wallet, and the blue hat", "and the blue hat", "Find my keys, wallet,"}},
		"clauses all too short":  {[]string{"cats and dogs, mice"}, []string{"cats and dogs, mice"}},
		"no clause word within":  {[]string{"the sand castle thenar weather android"}, []string{"the sand castle thenar weather android"}},
		"full-width commas":      {[]string{"明日の会議を予定に入れて，それから上司にメールを送って"}, []string{"明日の会議を予定に入れて，それから上司にメールを送って", "それから上司にメールを送って", "明日の会議を予定に入れて，"}},
		"a name with stops":      {[]string{"read a.b.c.d.e.f.g"}, []string{"read a.b.c.d.e.f.g"}},
		"many lines of one word": {[]string{"1\n2\n3\n4\n5\n6\n7"}, []string{"1\n2\n3\n4\n5\n6\n7"}},
	} {
		if got := chat.Window(&chat.Request{Users: test.users}); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestAPathStandsForAFile(t *testing.T) {
	const file = "read or write a file"
	for message, want := range map[string]bool{
		"Put what you found into /srv/reports/may.md, please":  true,
		"(see ~/notes for the rest of it, and summarise it)":   true,
		"what does ./run.sh do when it is given no argument?":  true,
		"compare it with `../old/run.sh` and tell me":          true,
		`the list is in "C:\Users\me\list.txt", sort it`:       false,
		"öffne bitte die Datei /home/jörg/übersicht für mich":  true,
		"is it true that cats and/or dogs like to swim?":       false,
		"what does the command /help do in this application?":  false,
		"read https://example.org/a/b/c.html and tell me":      false,
		"read example.org/a/b/c.html and tell me what it says": false,
		"it is 3/4 full, or 12/31/2024 at the latest, ok?":     false,
		"nothing here ~ or . or / or // or ./ or :\\ at all":   false,
		"cat /etc/hosts": false, // shorter than the clause: it is as near to a file tool as the clause is
		"":               false,
	} {
		got := chat.Window(&chat.Request{Users: []string{message}})
		if n := len(got); (n > 0 && got[n-1] == file) != want {
			t.Errorf("%q: %q, a file: %v", message, got, want)
		}
	}
}

func TestWindowOfALongMessageHasItsClauses(t *testing.T) {
	message := "Book me a flight to Rome. The meeting is on Monday at nine! Do I need a visa for it? Tell Anna that I come. Water the plants at home; and then play some jazz."
	want := []string{message,
		"and then play some jazz.", "The meeting is on Monday at nine!", "Do I need a visa for it?",
		"Book me a flight to Rome.", "Tell Anna that I come.", "Water the plants at home;"}
	if got := chat.Window(&chat.Request{Users: []string{message}}); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	longer := "Hello there. I am on my way. " + message + " That is all."
	if got := chat.Window(&chat.Request{Users: []string{longer}}); len(got) != 7 || got[1] != "and then play some jazz. That is all." || slices.Contains(got, "Hello there. I am on my way.") {
		t.Errorf("what says least is kept: %q", got)
	}
	got := chat.Window(&chat.Request{Users: []string{"hello", message}})
	if len(got) != 8 || got[1] != "hello\n"+message || got[2] != want[1] {
		t.Errorf("with one before: %q", got)
	}
	got = chat.Window(&chat.Request{Users: []string{message + " Thanks!"}})
	if got[1] != "and then play some jazz. Thanks!" {
		t.Errorf("a word of thanks stands alone: %q", got)
	}
	japanese := strings.Repeat("次の会議の資料を準備してください。", 5) + "最後に音楽を再生してください。"
	if got = chat.Window(&chat.Request{Users: []string{japanese}}); len(got) < 3 || got[1] != "最後に音楽を再生してください。" {
		t.Errorf("without spaces: %q", got)
	}
	endless := "words"
	for n := range 150 {
		endless += fmt.Sprint(" and ", n)
	}
	if got = chat.Window(&chat.Request{Users: []string{endless}}); len(got) < 3 || !strings.HasSuffix(endless, got[1]) || len(strings.Fields(got[1])) > 40 {
		t.Errorf("one endless sentence: %q", got)
	}
}

func TestTheLastSentenceOfAVeryLongMessageComesFirst(t *testing.T) {
	var b strings.Builder
	for n := range 2500 {
		fmt.Fprintf(&b, "Please go through line %d and tell me what is wrong. ", n+1)
	}
	b.WriteString("Now send the summary to the team channel.")
	got := chat.Window(&chat.Request{Users: []string{"hello", b.String()}})
	if len(got) < 6 || got[2] != "Now send the summary to the team channel." || !slices.Contains(got, "and tell me what is wrong.") || !slices.Contains(got, "Please go through line 1") {
		t.Fatalf("%d texts: %q", len(got), got[2:])
	}
	for i, text := range got {
		if len(text) > 8<<10 || text == "" {
			t.Errorf("text %d has %d bytes", i, len(text))
		}
	}
	if !strings.HasSuffix(got[0], "team channel.") || !strings.HasSuffix(got[1], "team channel.") {
		t.Error("the end of the message is lost")
	}
}

func TestWindowCutsAtRunes(t *testing.T) {
	for shift := range 4 {
		text := strings.Repeat("x", shift) + strings.Repeat("検", 10_000) + strings.Repeat("🎵", 5_000)
		for i, got := range chat.Window(&chat.Request{Users: []string{text, text}}) {
			if !utf8.ValidString(got) || len(got) > 8<<10 {
				t.Errorf("shift %d: text %d of %d bytes, valid %v", shift, i, len(got), utf8.ValidString(got))
			}
		}
	}
	for _, got := range chat.Window(&chat.Request{Users: []string{strings.Repeat("\x80", 50_000)}}) {
		if got == "" || len(got) > 8<<10 {
			t.Errorf("no text at all: %d bytes of it", len(got))
		}
	}
}

func FuzzWindow(f *testing.F) {
	f.Add("hello", "One. Two? Three! Four; five\nsix 七。八", uint16(3))
	f.Add("", "\x80\xff. .\n.", uint16(9000))
	f.Add("\xe3", "\x80\x80", uint16(1)) // no space by themselves: the bytes of one between them
	f.Fuzz(func(t *testing.T, before, last string, times uint16) {
		last = strings.Repeat(last, min(int(times), 200_000/(len(last)+1)))
		r := &chat.Request{Users: []string{before, last}}
		got := chat.Window(r)
		if len(got) > 9 || (len(got) == 0) != (strings.TrimSpace(before)+strings.TrimSpace(last) == "") {
			t.Fatalf("%d texts", len(got))
		}
		for i, text := range got {
			if text == "" || len(text) > 8<<10 {
				t.Fatalf("text %d has %d bytes", i, len(text))
			}
		}
		if !reflect.DeepEqual(chat.Window(r), got) {
			t.Fatal("another result for the same request")
		}
	})
}
