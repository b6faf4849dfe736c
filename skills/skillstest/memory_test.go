package skillstest_test

import (
	"testing"

	"toolbelt/skills"
	"toolbelt/skills/skillstest"
)

func TestMemory(t *testing.T) {
	skillstest.TestStore(t, func(*testing.T) skills.Store { return skillstest.NewMemory() })
}
