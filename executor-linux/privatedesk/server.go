//go:build linux

package privatedesk

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// lineMax bounds what a program may say about itself when it is ready.
	lineMax = 4096
	// displayMax is the highest display number that makes sense; X adds it to TCP port 6000.
	displayMax = 59535
	// readyFD is the first descriptor a program inherits besides the standard ones.
	readyFD = "3"
)

// startServer starts the X server and asks it whether it keeps out clients without the cookie.
func (d *Desktop) startServer(ctx context.Context) error {
	d.cookie = make([]byte, cookieSize)
	_, _ = rand.Read(d.cookie) // never fails (crypto/rand)
	// Two files: a server that finds its authority file empty lets in every local client of its user, so the file it
	// reads must not be the one that programs on the desktop are told to use and may rewrite.
	serverFile := filepath.Join(d.dir, "Xserver")
	for _, file := range []string{serverFile, authorityFile(d.dir)} {
		if err := writeAuthority(file, d.cookie); err != nil {
			return err
		}
	}
	args := []string{
		"Xvfb", "-displayfd", readyFD, // picks a free number without a race
		"-screen", "0", fmt.Sprintf("%vx%d", d.options.Size, d.options.Depth),
		"-auth", serverFile, "-nolisten", "tcp", "-noreset",
		"-s", "0", // no screen saver: it would blank the pictures of an idle desktop after ten minutes
		"+extension", "GLX", "+extension", "RANDR", "+extension", "Composite",
	}
	p, line, err := d.startAnnounced(ctx, Command{Args: args, ended: func() { d.fail(PartServer) }})
	d.server = p
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(line)
	if err != nil || number < 0 || number > displayMax {
		return errors.New("reported no display number")
	}
	d.display = ":" + strconv.Itoa(number)
	d.socket, _ = os.Lstat(serverSocket(d.display))
	d.env = environment(surroundings{dir: d.dir, path: callerPath(), display: d.display})
	return checkServer(ctx, d.display, d.cookie)
}

// startBus starts the session bus. The display must be in the environment by now: what the bus activates inherits it.
func (d *Desktop) startBus(ctx context.Context) error {
	args := []string{
		"dbus-daemon", "--session", "--nofork", "--nopidfile", "--nosyslog",
		"--address=unix:path=" + filepath.Join(d.runtime(), "bus"), "--print-address=" + readyFD,
	}
	p, line, err := d.startAnnounced(ctx, Command{Args: args, ended: func() { d.fail(PartBus) }})
	d.bus = p
	if err != nil {
		return err
	}
	if !strings.HasPrefix(line, "unix:path=") {
		return errors.New("reported no address")
	}
	d.busAddress = line
	d.env = environment(surroundings{dir: d.dir, path: callerPath(), display: d.display, bus: line})
	return nil
}

// startAnnounced starts a program that writes one line to descriptor 3 when it is ready, and waits for that line.
func (d *Desktop) startAnnounced(ctx context.Context, c Command) (*Program, string, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	p, err := d.start(c, w)
	// Our copy of the writing end goes at once, so that the program's end is the end of the pipe.
	_ = w.Close()
	if err != nil {
		return nil, "", err
	}
	line, err := readLine(ctx, r)
	return p, line, err
}

// readLine reads one line, until the context ends.
func readLine(ctx context.Context, r *os.File) (string, error) {
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Now()) })
	defer stop()
	line, err := bufio.NewReader(io.LimitReader(r, lineMax)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		return "", ErrEndedEarly
	}
	return strings.TrimSpace(line), err
}
