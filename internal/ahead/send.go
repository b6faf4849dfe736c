package ahead

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// sender sends requests to the engine and tells the belief of them.
type sender struct {
	upstream *url.URL
	loaded   func(ctx context.Context, model string) bool
	belief   *kvcache.Belief
	client   *http.Client

	mu      sync.Mutex
	prompts map[string]kvcache.Prompt // by a job's key
}

// maxPrompts bounds what is remembered of jobs.
const maxPrompts = 64

func (s *sender) remember(a turn.Ahead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.prompts) >= maxPrompts {
		clear(s.prompts)
	}
	s.prompts[a.Key] = a.Prompt
}

// Loaded implements kvcache.Sender.
func (s *sender) Loaded(ctx context.Context, model string) bool { return s.loaded(ctx, model) }

// Send implements kvcache.Sender.
func (s *sender) Send(ctx context.Context, j kvcache.Job) error {
	s.mu.Lock()
	prompt, known := s.prompts[j.Key]
	s.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.upstream.JoinPath(j.Path).String(), bytes.NewReader(j.Body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	for _, name := range []string{"Authorization", "X-Api-Key", "Anthropic-Version", "Openai-Organization"} {
		if values := j.Header.Values(name); len(values) > 0 {
			req.Header[name] = values
		}
	}
	if known {
		s.belief.Sent(prompt)
	}
	answer, err := s.exchange(req)
	if known {
		answer.Dropped = ctx.Err() != nil
		s.belief.Answered(prompt, answer)
	}
	return err
}

// exchange sends the request and reads the answer to its end.
func (s *sender) exchange(req *http.Request) (kvcache.Answer, error) {
	res, err := s.client.Do(req)
	if err != nil {
		return kvcache.Answer{Dropped: true}, err
	}
	defer res.Body.Close()
	scanner := chat.NewScanner(chat.ProtocolOf(req.URL.Path), res.Header.Get("Content-Type"))
	_, err = io.Copy(scanner, io.LimitReader(res.Body, 1<<20))
	scanner.Close()
	if res.StatusCode != http.StatusOK {
		return kvcache.Answer{Refused: true}, catalog.NewError(catalog.Unavailable, fmt.Sprintf("the engine answered %s", res.Status), nil)
	}
	u := scanner.Usage()
	return kvcache.Answer{PromptTokens: u.PromptTokens, CachedTokens: u.CachedTokens, EvaluatedTokens: u.Evaluated, OutputTokens: u.OutputTokens, PromptDuration: u.PromptDuration}, err
}
