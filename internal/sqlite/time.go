package sqlite

import (
	"math"
	"time"
)

// nanos is t as it is stored. The zero time, and times that nanoseconds cannot tell, are stored as the smallest number.
func nanos(t time.Time) int64 {
	if t.Year() < 1678 || t.Year() > 2261 {
		return math.MinInt64
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == math.MinInt64 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
