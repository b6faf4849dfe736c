//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package sqlite

import "context"

// lockFolder does nothing here: two processes that start at once on a damaged file may both set one aside.
func lockFolder(context.Context, string) (unlock func()) { return func() {} }

// mayWrite is true here: what may not be written is found when it is tried.
func mayWrite(string) bool { return true }

// inUse is false here: the system itself refuses to rename a file that is open.
func inUse(string) bool { return false }
