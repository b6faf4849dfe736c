package chat_test

import (
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

func TestKept(t *testing.T) {
	const said = "Let me look for a tool that does this. "
	for name, c := range map[string]struct {
		answer       string // the message's content, as JSON
		before, text string
		want         chat.Keeping
		cut          string
	}{
		"at the start":                     {`"Let me look for a tool that does this. Done."`, "", said, chat.AtStart, said},
		"spelt otherwise":                  {`"\u004cet me look for a tool that does this. Done."`, "", said, chat.AtStart, said},
		"over two parts":                   {`[{"type":"text","text":"Let me look "},{"type":"text","text":"for a tool that does this. Done."}]`, "", said, chat.AtStart, said},
		"trimmed":                          {`"Let me look for a tool that does this. Done."`, "", "\n\n" + said, chat.AtStart, said},
		"nothing but space, which is gone": {`"Done."`, "", "\n\n", chat.Lost, ""},
		"nothing but space, which is kept": {`"\n\nDone."`, "", "\n\n", chat.AtStart, "\n\n"},
		"behind what was said before":      {`"First. Let me look for a tool that does this. Done."`, "First. ", said, chat.AtStart, "First. " + said},
		"lost":                             {`"Done."`, "", said, chat.Lost, ""},
		"lost, what was before is kept":    {`"First. Done."`, "First. ", said, chat.Lost, "First. "},
		"other space":                      {`"Let me look\nfor a tool that does this.\nDone."`, "", said, chat.Within, ""},
		"further on":                       {`"So: Let me look for a tool that does this. Done."`, "", said, chat.Within, ""},
		"its end alone":                    {`"a tool that does this. Done."`, "", "<think>hm</think>Let me find a tool that does this. ", chat.Lost, ""},
		"its long end alone":               {`"Let me look for a tool that does this. Done."`, "", "<think>hm</think>" + said, chat.Within, ""},
		"a part of it":                     {`"look for a tool that"`, "", said, chat.Within, ""},
		"a word of it":                     {`"tool"`, "", said, chat.Lost, ""},
		"no content":                       {`null`, "", said, chat.Lost, ""},
		"an empty part first":              {`[{"type":"text","text":""},{"type":"text","text":"Let me look for a tool that does this. Done."}]`, "", said, chat.Within, ""},
	} {
		body := []byte(`{"messages":[{"role":"user","content":"` + strings.TrimSpace(said) + `"},{"role":"assistant","content":` + c.answer + `}]}`)
		r := decode(t, chat.OpenAI, string(body))
		got, cut := chat.Kept(body, r, 1, c.before, c.text)
		if got != c.want || cut != c.cut {
			t.Errorf("%s: %d, cut %q; want %d, %q", name, got, cut, c.want, c.cut)
		}
		if cut != "" && got == chat.AtStart {
			if _, err := chat.Apply(body, r, chat.Edits{Cut: []chat.Cut{{Message: 1, Text: cut}}}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, index := range []int{-1, 0, 2} {
			if got, cut := chat.Kept(body, r, index, c.before, c.text); got != chat.Lost || cut != c.before {
				t.Errorf("%s: of message %d, which is not the model's: %d, %q", name, index, got, cut)
			}
		}
	}
}
