package sessiontest_test

import (
	"testing"

	"toolbelt/internal/session"
	"toolbelt/internal/session/sessiontest"
)

func TestMemory(t *testing.T) {
	sessiontest.TestStore(t, func(*testing.T) session.Store { return sessiontest.NewMemory() })
}
