//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package sqlite

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockFolder keeps other processes from opening a database in the folder until the returned function is called, so that
// two that start at once do not both set the same file aside. It gives up waiting after a while: some file systems have no
// such locks, and then the rest of Open still holds for one process.
func lockFolder(ctx context.Context, folder string) (unlock func()) {
	file, err := os.Open(folder)
	if err != nil {
		return func() {}
	}
	for deadline := time.Now().Add(busyTimeout); ; {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR || time.Now().After(deadline) || ctx.Err() != nil {
			return func() { file.Close() }
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// mayWrite reports whether this process may write to the file at path and beside it. The file is not opened for it: closing it would end the locks that
// this process holds on it.
func mayWrite(path string) bool {
	const toWrite = 2
	return syscall.Access(path, toWrite) == nil && syscall.Access(filepath.Dir(path), toWrite) == nil
}

// The bytes that SQLite locks in a database file.
const (
	lockStart = 0x40000000
	lockBytes = 512
)

// inUse reports whether another process has the database open in a way that renaming it would harm: it would go on writing into
// the renamed file and delete the fresh one's log when it ends.
func inUse(path string) bool {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: lockStart, Len: lockBytes}
	err = syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &lock)
	return err == nil && lock.Type != syscall.F_UNLCK
}
