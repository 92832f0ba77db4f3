//go:build linux

package privatedesk

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// keeperScript cleans up when the owner of a desktop dies without closing it (SIGKILL, crash, out of memory).
//
// The parent-death signal ends only what the owner started itself. Programs that those left in the background, and the
// directory with the cookie in it, need somebody who outlives the owner: this shell. It waits on a pipe whose other end
// only the owner holds, so that the end of the owner is the end of the file, with nothing to poll and no process id to
// mistake. It is a script and not a mode of our own executable, because a library cannot know whether the executable
// it is linked into has that mode. It recognises processes by the same two variables as sweep does.
//
// It ignores the signals it might be swept with, waits a second between asking and killing, never crosses into another
// file system when removing, and ends at once when told "done".
const keeperScript = `
trap '' HUP INT TERM
IFS= read -r word
[ "$word" = done ] && exit 0
dir=$1
ours() {
  grep -lszxF -e "XDG_RUNTIME_DIR=$dir/run" -e "XAUTHORITY=$dir/Xauthority" /proc/[0-9]*/environ
}
send() {
  for file in $(ours); do
    pid=${file#/proc/}
    kill -s "$1" "${pid%/environ}" 2>/dev/null
  done
}
send TERM
n=0
while [ $n -lt 10 ] && [ -n "$(ours)" ]; do
  sleep 0.1
  n=$((n + 1))
done
n=0
while [ $n -lt 10 ] && [ -n "$(ours)" ]; do
  send KILL
  sleep 0.05
  n=$((n + 1))
done
rm -rf --one-file-system -- "$dir"
`

// keeperWait is how long a dismissed keeper may take to end.
const keeperWait = 2 * time.Second

// keeper is the process that cleans up after a dead owner.
type keeper struct {
	cmd  *exec.Cmd
	life *os.File // closed by the kernel when we die
	done chan struct{}
}

func (d *Desktop) startKeeper(context.Context) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	path := callerPath()
	shell := find("sh", path)
	if shell == "" {
		shell = "/bin/sh"
	}
	cmd := &exec.Cmd{
		Path: shell, Args: []string{"sh", "-c", keeperScript, "fairlead-desktop-keeper", d.dir},
		// Not the desktop's environment: it would find, and end, itself.
		Env: []string{"PATH=" + path, "LC_ALL=C"}, Dir: "/", Stdin: r,
		// Out of the owner's session, so that what ends the owner's terminal or group does not end it too.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return err
	}
	k := &keeper{cmd: cmd, life: w, done: make(chan struct{})}
	d.keeper = k
	go func() {
		_ = cmd.Wait()
		close(k.done)
		// A desktop that would outlive its owner is not one to go on with.
		d.fail(PartKeeper)
	}()
	return nil
}

// dismiss ends the keeper without letting it clean up.
func (k *keeper) dismiss() {
	_, _ = k.life.WriteString("done\n")
	_ = k.life.Close()
	select {
	case <-k.done:
	case <-time.After(keeperWait):
		_ = k.cmd.Process.Kill()
		<-k.done
	}
}
