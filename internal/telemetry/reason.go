package telemetry

import "strings"

// reasonOf is a fallback's reason without its details: one of a few words, since what an embedder says of a failure may be anything.
func reasonOf(fallback string) string {
	switch fallback {
	case "", "mode off", "memory off", "embedder off", "empty catalog", "small array", "tool_choice none", "strategy all":
		return fallback
	}
	if strings.HasPrefix(fallback, "embedder: ") {
		return "embedder failed"
	}
	return "other"
}
