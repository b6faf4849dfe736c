package skills_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"toolbelt/skills"
)

func TestOffer(t *testing.T) {
	of := func(bodies ...string) (list []skills.Recalled) {
		for _, b := range bodies {
			list = append(list, skills.Recalled{Procedure: skills.Procedure{Name: "job", Body: b}})
		}
		return list
	}
	if got := skills.Offer(of("1. do\n2. check\n", "", "3. mail")); got != "How job was done before:\n1. do\n2. check\n\nHow job was done before:\n3. mail" {
		t.Errorf("%q", got)
	}
	if got := skills.Offer(of("", " \n")); got != "" {
		t.Errorf("of nothing: %q", got)
	}
	long := skills.Offer(of(strings.Repeat("1. ツール を 呼ぶ\n", 400), "more"))
	if n := utf8.RuneCountInString(long); n > skills.MaxOfferedCharacters || n < 1000 || !strings.HasSuffix(long, "呼ぶ") {
		t.Errorf("%d characters, ending in %q", n, long[len(long)-20:])
	}
	if got := skills.Offer(of(strings.Repeat("x", 5000))); got != "" {
		t.Errorf("of one endless line %d bytes are offered", len(got))
	}
}
