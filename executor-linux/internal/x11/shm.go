package x11

import (
	"errors"
	"fmt"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/shm"
	"golang.org/x/sys/unix"
)

// segmentKeep is how much shared memory is kept between pictures.
const segmentKeep = 64 << 20

// segment is SysV shared memory that the server writes pictures into.
type segment struct {
	id  shm.Seg
	mem []byte
}

// grow makes the segment at least n bytes long.
func (s *segment) grow(x *xgb.Conn, n int) error {
	if len(s.mem) >= n {
		return nil
	}
	if err := s.drop(x); err != nil {
		return err
	}
	if s.id == 0 {
		id, err := shm.NewSegId(x)
		if err != nil {
			return err
		}
		s.id = id
	}
	key, err := unix.SysvShmGet(unix.IPC_PRIVATE, n, unix.IPC_CREAT|0o600)
	if err != nil {
		return fmt.Errorf("get shared memory: %w", err)
	}
	mem, err := unix.SysvShmAttach(key, 0, 0)
	if err == nil {
		err = shm.AttachChecked(x, s.id, uint32(key), false).Check()
	}
	// Marked for removal once both sides hold it, so that no crash leaves it behind.
	_, rmErr := unix.SysvShmCtl(key, unix.IPC_RMID, nil)
	if err = errors.Join(err, rmErr); err != nil {
		if mem != nil {
			err = errors.Join(err, unix.SysvShmDetach(mem))
		}
		return fmt.Errorf("attach shared memory: %w", err)
	}
	s.mem = mem
	return nil
}

// drop lets go of the memory on both sides; the id is used again. After a lost
// connection x may be nil.
func (s *segment) drop(x *xgb.Conn) error {
	if s.mem == nil {
		return nil
	}
	if x != nil {
		shm.Detach(x, s.id)
	}
	err := unix.SysvShmDetach(s.mem)
	s.mem = nil
	return err
}
