package learntest_test

import (
	"testing"

	"toolbelt/internal/learn"
	"toolbelt/internal/learn/learntest"
)

func TestMemory(t *testing.T) {
	learntest.TestStore(t, func(*testing.T) learn.Store { return learntest.NewMemory() })
}
