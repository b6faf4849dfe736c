package embed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"toolbelt/catalog"
)

// maxAnswerBytes bounds what is read of an engine's answer: 32 vectors of 8,192 numbers as JSON are 6 MB.
const maxAnswerBytes = 32 << 20

// batchTexts is how many texts go into one request.
const batchTexts = 32

// maxDim bounds the length of an engine's vectors.
const maxDim = 1 << 16

// unavailable makes the error of an engine that did not do what it was asked to.
func unavailable(doing string, err error) error {
	return catalog.NewError(catalog.Unavailable, doing, err)
}

// statusError is an engine's error answer.
type statusError struct {
	at     string // the address asked, "" where it goes without saying
	status int
	said   string // by the engine; it may repeat the text that it was to embed
}

func (e statusError) Error() string {
	text := fmt.Sprintf("HTTP %d: %s", e.status, e.said)
	if e.at != "" {
		text = e.at + ": " + text
	}
	return text
}

// outline is an error's text for the log: without what the engine said, which may be what a user said.
func outline(err error) string {
	var answer statusError
	if !errors.As(err, &answer) {
		return err.Error()
	}
	text := fmt.Sprintf("the engine answered HTTP %d", answer.status)
	var e *catalog.Error
	if errors.As(err, &e) {
		text = e.Message + ": " + text
	}
	return text
}

// errorText returns what an engine's error answer says, in one short line: the message of a JSON error, or the beginning
// of anything else. Other parts of a JSON answer are left out: some engines repeat the request in them.
func errorText(body []byte) string {
	const most = 200
	body = bytes.TrimSpace(body)
	text := string(body[:min(len(body), 4*most)])
	if gjson.ValidBytes(body) && len(body) > 0 && body[0] == '{' {
		text = "an error without a message"
		for _, path := range []string{"error.message", "error", "message", "detail"} {
			if m := gjson.GetBytes(body, path); m.Type == gjson.String {
				text = m.Str
				break
			}
		}
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(text) > most {
		text = text[:runeStart(text, most)] + "…"
	}
	return text
}

// checkVectors normalises the answer to n texts and returns an error of kind Unavailable where it is not n vectors of
// dim numbers each with a direction. dim 0 takes the first vector's length.
func checkVectors(vectors []Vector, n, dim int) error {
	if len(vectors) != n {
		return unavailable(fmt.Sprintf("the engine gave %d vectors for %d texts", len(vectors), n), nil)
	}
	for i, v := range vectors {
		if dim == 0 {
			dim = len(v)
		}
		if len(v) != dim || dim > maxDim {
			return unavailable(fmt.Sprintf("the engine gave a vector of %d numbers for text %d, expected %d", len(v), i+1, dim), nil)
		}
		if err := Normalize(v); err != nil {
			return err
		}
	}
	return nil
}

// embedBatches embeds the texts that are not blank through call, batchTexts at a time, and puts each vector in its text's place.
func embedBatches(ctx context.Context, texts []string, prepare func(string) string, call func(context.Context, []string) ([]Vector, error)) ([]Vector, error) {
	vectors := make([]Vector, len(texts))
	var batch []string
	var places []int
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		got, err := call(ctx, batch)
		if err != nil {
			return err
		}
		for i, place := range places {
			vectors[place] = got[i]
		}
		batch, places = batch[:0], places[:0]
		return nil
	}
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		batch, places = append(batch, prepare(text)), append(places, i)
		if len(batch) == batchTexts {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return vectors, nil
}

// checkAnswer trusts no Embedder: n vectors, each nil or of dim numbers and unit length. It changes nothing.
func checkAnswer(vectors []Vector, n, dim int) error {
	if len(vectors) != n {
		return unavailable(fmt.Sprintf("the embedder gave %d vectors for %d texts", len(vectors), n), nil)
	}
	for i, v := range vectors {
		if v != nil && !v.isUnit(dim) {
			return unavailable(fmt.Sprintf("the embedder gave a vector for text %d that is not of %d numbers and unit length", i+1, dim), nil)
		}
	}
	return nil
}

// isUnit reports whether v has dim numbers and a length of 1 within 1 %.
func (v Vector) isUnit(dim int) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return len(v) == dim && sum > 0.98 && sum < 1.02
}
