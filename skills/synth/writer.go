package synth

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"toolbelt/skills"
)

// Writer writes the text of a procedure that was learned, in the words of a model: a title and steps, as Markdown. It may take as long as it likes.
type Writer interface {
	Write(ctx context.Context, p skills.Procedure) (string, error)
}

// written gives each new procedure the text that the writer makes, where that can be used; it keeps its own otherwise.
func (p Parts) written(ctx context.Context, proposals []Proposal) {
	if p.Writer == nil {
		return
	}
	for i := range proposals {
		if a := proposals[i].Action; a != Add && a != Supersede {
			continue
		}
		text, err := p.Writer.Write(ctx, proposals[i].Procedure)
		if err == nil {
			text, err = usable(text, proposals[i].Procedure)
		}
		if err != nil {
			if p.Log != nil {
				p.Log.Info("a learned skill keeps the text that was made for it", "skill", proposals[i].Procedure.Name, "why", err)
			}
			continue
		}
		proposals[i].Procedure.Body = text
	}
}

// usable is a model's text as far as it may be kept: at most as long as may be offered, cut at a line's end, and about the procedure's tools.
func usable(text string, p skills.Procedure) (string, error) {
	text = strings.TrimSpace(strings.ToValidUTF8(text, ""))
	if utf8.RuneCountInString(text) > skills.MaxOfferedCharacters {
		text = string([]rune(text)[:skills.MaxOfferedCharacters])
		text = strings.TrimSpace(text[:strings.LastIndexByte(text, '\n')+1])
	}
	for _, tool := range p.ToolsRequired {
		if !strings.Contains(text, tool) {
			return "", fmt.Errorf("the model's text does not name the tool %q", tool)
		}
	}
	return text, nil
}
