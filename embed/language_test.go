package embed_test

import (
	"testing"

	"toolbelt/embed"
)

func TestReads(t *testing.T) {
	b, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"":                                         true,
		"hi":                                       true,
		"42 + 17":                                  true,
		"what is the weather tomorrow?":            true,
		"ping Anna that I'm late":                  true,
		"we're out of milk":                        true,
		"Please move the file to my archive":       true,
		"Spotify":                                  true,
		"Wie wird das Wetter morgen?":              false,
		"Mach bitte das Licht in der Küche an":     false,
		"Quel temps fera-t-il demain ?":            false,
		"¿Qué tiempo hará mañana?":                 false,
		"Accendi la luce in cucina":                false,
		"Hoe laat vertrekt de trein naar Utrecht?": false,
		"Jaka będzie jutro pogoda?":                false,
		"Где моя посылка?":                         false,
		"明天天气怎么样":                                  false,
		"電気をつけて":                                   false,
		"오늘 날씨 어때":                                 false,
		"ما هو الطقس غدا":                          false,
		"\xff\xfe":                                 true,
		"translate 明天 for me, please, into plain text": true,
	} {
		if got := b.Reads(text); got != want {
			t.Errorf("Reads(%q) = %v", text, got)
		}
	}
}

func TestMultilingual(t *testing.T) {
	for name, want := range map[string]bool{
		"builtin": false, "all-minilm": false, "nomic-embed-text": false, "embeddinggemma": true, "bge-m3": true, "qwen3-embedding:0.6b": true,
		"hf.co/x/multilingual-e5-small": true, "snowflake-arctic-embed2": true,
	} {
		if got := (embed.Model{Name: name}).Multilingual(); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
