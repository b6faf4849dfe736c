package storetest_test

import (
	"testing"

	"toolbelt/embed"
	"toolbelt/embed/storetest"
)

func TestMemory(t *testing.T) {
	storetest.TestStore(t, func(*testing.T) embed.Store { return storetest.NewMemory() })
}
