package skills

import (
	"math"
	"time"
)

// The numbers of a procedure's standing.
const (
	priorUses   = 2                    // successes that every procedure begins with
	idleHalf    = 180 * 24 * time.Hour // after so long without use, age counts half
	leastByAge  = 0.75                 // of the weight stays whatever the age
	TrustFloor  = 0.4                  // below it a procedure is disabled
	unusedShare = 0.5                  // of a failure that a recall for nothing counts as
)

// Trust is the share of recalls that were of use, in (0, 1]: (successes + 2) / (attempts + unused / 2 + 2).
func (p Procedure) Trust() float64 {
	return float64(p.Successes+priorUses) / (float64(p.Attempts+priorUses) + unusedShare*float64(p.Unused))
}

// Weight is what a recall's height counts, in (0, 1]: the root of Trust, less up to a quarter for what was not used or changed for long.
// A clock that was set back makes nothing older.
func (p Procedure) Weight(now time.Time) float64 {
	touched := p.Updated
	if p.LastUsed.After(touched) {
		touched = p.LastUsed
	}
	age := 1.0
	if !touched.IsZero() && now.After(touched) {
		age = math.Exp2(-float64(now.Sub(touched)) / float64(idleHalf))
	}
	return math.Sqrt(p.Trust()) * (leastByAge + (1-leastByAge)*age)
}

// Superseded returns the names of those that another procedure of the list is recalled in place of. One whose successor is
// missing is not among them, nor are those that supersede each other in a circle: nobody would be left.
func Superseded(all []Procedure) map[string]bool {
	by := make(map[string]string, len(all))
	for _, p := range all {
		by[p.Name] = p.SupersededBy
	}
	superseded := map[string]bool{}
	for _, p := range all {
		next, there := by[p.SupersededBy]
		if p.SupersededBy == "" || !there {
			continue
		}
		steps := 0
		for next != "" && steps <= len(all) {
			if _, there = by[next]; !there {
				break
			}
			next, steps = by[next], steps+1
		}
		if steps <= len(all) {
			superseded[p.Name] = true
		}
	}
	return superseded
}
