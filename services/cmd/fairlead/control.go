package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	hostv1 "fairlead.dev/gen/fairlead/host/v1"
)

// errNoSession is told for a session that is not there.
var errNoSession = errors.New("there is no such session; it may have ended already")

// errWhichSession is told when what was typed begins the ids of several sessions.
var errWhichSession = errors.New("more than one session begins like that; type more of its id")

// errNotHeld is told for a session that may go on anyway.
var errNotHeld = errors.New("this session is neither stopped nor paused")

// errNoneHeld is told when there is nothing to resume at all.
var errNoneHeld = errors.New("nothing is stopped or paused")

// user is the user's socket: the words, and looks at what is true after them.
type user struct {
	hostv1.ControlServiceClient
	hostv1.StatusServiceClient
}

// saying says one of the user's words and returns what happened and what can be done next.
// The suffix makes the commands it names find this instance.
type saying func(ctx context.Context, u user, session, suffix string) (string, error)

// word is one of the user's words (C12.1), as a command.
type word struct {
	verb, short, long string
	one               saying
	// all is the word to every session, with what it does; nil where there is no such word.
	all      saying
	allDoes  string
	examples string
}

func stopCommand() *cobra.Command {
	return word{
		verb:  "stop",
		short: "Stop an agent's session now, or all of them",
		long: `Stops a session: what it asked for until now is refused, its act in flight is cancelled, its
leases and its turn end. It may do nothing until you resume it. Its agent may open another
session; only --all prevents that.

With --all it is the kill switch: every session is stopped, and none can be opened until
you resume all. Pressed again it changes nothing.`,
		examples: `
  fairlead stop --all                            everything, at once`,
		one: order{
			stops: true, happened: "Stopped; its leases ended.", until: "It may do nothing until:",
			call: func(ctx context.Context, c hostv1.ControlServiceClient, session string) (answered, error) {
				return c.Stop(ctx, &hostv1.StopRequest{SessionId: session})
			},
		}.say,
		all: stopAll, allDoes: "stop every session and let none be opened",
	}.command()
}

func pauseCommand() *cobra.Command {
	return word{
		verb:  "pause",
		short: "Hold an agent's session; it keeps its leases",
		long: `Holds a session: its act in flight is cancelled, and it may do nothing until you resume it. It
keeps its leases and the menus it opened. Resumed, it goes on with them, after it has
looked again. What a stop or a take-over ended before does not come back.`,
		one: order{
			happened: "Paused; it keeps the leases it still has.", until: "Let it go on with:",
			call: func(ctx context.Context, c hostv1.ControlServiceClient, session string) (answered, error) {
				return c.Pause(ctx, &hostv1.PauseRequest{SessionId: session})
			},
		}.say,
	}.command()
}

func takeoverCommand() *cobra.Command {
	return word{
		verb:  "takeover",
		short: "Take the work over; the session gives up its leases",
		long: `Holds a session as pause does, and takes what it was given: its leases, its keyboard and the
menus it opened are given up. Resumed, it goes on without leases and has to ask for each
again.`,
		one: order{
			happened: "Taken over; its leases, its keyboard and its menus are given up.",
			until:    "Let it go on without them with:",
			call: func(ctx context.Context, c hostv1.ControlServiceClient, session string) (answered, error) {
				return c.TakeOver(ctx, &hostv1.TakeOverRequest{SessionId: session})
			},
		}.say,
	}.command()
}

func resumeCommand() *cobra.Command {
	return word{
		verb:  "resume",
		short: "Let a stopped or paused session go on, or all of them",
		long: `Lifts your stop, pause or take-over. The agent has to look again before it acts. After a stop
it has to begin a new turn first; after a stop or a take-over it starts without leases.

With --all it lifts them from every session, and after "fairlead stop --all" sessions can
be opened again.`,
		examples: `
  fairlead resume --all                          everything, also after stop --all`,
		one: resumeOne,
		all: resumeAll, allDoes: "resume every session and let agents open sessions again",
	}.command()
}

// command makes the word's command.
func (w word) command() *cobra.Command {
	var dir string
	var all bool
	c := &cobra.Command{
		Use: w.verb + " SESSION", Short: w.short, Long: w.long, Args: one("session"),
		Example: fmt.Sprintf("  fairlead %s s-2mzq4c6vbnhd3xq7k5jt2w6y4e\n  fairlead %-37s by the beginning of its id%s",
			w.verb, w.verb+" s-2mzq4c6v", w.examples),
		RunE: func(cmd *cobra.Command, args []string) error {
			return control(cmd, dir, func(ctx context.Context, u user) (string, error) {
				if all {
					return w.all(ctx, u, "", suffix(dir))
				}
				return w.one(ctx, u, args[0], suffix(dir))
			})
		},
	}
	if w.all != nil {
		c.Use, c.Args = w.verb+" {SESSION | --all}", oneOrAll(&all)
		c.Flags().BoolVar(&all, "all", false, w.allDoes)
	}
	runtimeDirFlag(c, &dir)
	return c
}

// answered is what the host answers to an order.
type answered interface {
	GetKnown() bool
	GetActInFlight() bool
}

// order is a word that takes something from one session.
type order struct {
	call func(ctx context.Context, c hostv1.ControlServiceClient, session string) (answered, error)
	// happened says what it did, and until what ends it; the command for that follows.
	happened, until string
	// stops says that it is the stop. Any other order changes nothing for a stopped session.
	stops bool
}

func (o order) say(ctx context.Context, u user, typed, suffix string) (string, error) {
	flying, met := false, ""
	err := byName(ctx, u, typed, errNoSession, func(session string) (bool, error) {
		r, err := o.call(ctx, u, session)
		if err != nil {
			return false, err
		}
		flying, met = r.GetActInFlight(), session
		return r.GetKnown(), nil
	})
	if err != nil {
		return "", err
	}
	said, until := o.happened, o.until
	if !o.stops && u.isStopped(ctx, met) {
		said, until = "It stays stopped; its leases ended with the stop.", "It may do nothing until:"
	}
	if flying {
		said += " An act was in flight; its outcome is still told."
	}
	said += " " + until + " fairlead resume " + typed + suffix
	if o.stops && !u.allStopped(ctx) {
		// A stop of one session holds no OpenSession; only the stop of all does (C4.3).
		said += "\nIts agent may open another session. To prevent that: fairlead stop --all" + suffix
	}
	return said, nil
}

func stopAll(ctx context.Context, u user, _, suffix string) (string, error) {
	r, err := u.StopAll(ctx, &hostv1.StopAllRequest{})
	if err != nil {
		return "", err
	}
	said := fmt.Sprintf("Stopped everything: %s.", count(uint64(r.GetStopped()), "session"))
	if r.GetStopped() == 0 {
		said = "Everything is stopped; no session was running."
		if len(u.open(ctx)) > 0 {
			said = "Every session was stopped already."
		}
	}
	if n := r.GetActsInFlight(); n > 0 {
		said += fmt.Sprintf(" In flight: %s; what came of it is still told.", count(uint64(n), "act"))
	}
	return said + " No session can be opened until: fairlead resume --all" + suffix, nil
}

func resumeOne(ctx context.Context, u user, typed, suffix string) (string, error) {
	err := byName(ctx, u, typed, errNotHeld, func(session string) (bool, error) {
		r, err := u.Resume(ctx, &hostv1.ResumeRequest{SessionId: session})
		return r.GetResumed(), err
	})
	if err != nil {
		return "", err
	}
	said := "Resumed. The agent looks again before it acts; after a stop or a take-over it has no leases."
	if u.allStopped(ctx) {
		said += "\nYour stop of everything still stands: no session can be opened until: fairlead resume --all" + suffix
	}
	return said, nil
}

// lookMax bounds a look at what is true after a word. The word was said by then: a look
// that fails or is late must not look like a word that was not heard, so we only say less.
const lookMax = 2 * time.Second

// open looks which sessions are open.
func (u user) open(ctx context.Context) []*hostv1.OpenSession {
	ctx, cancel := context.WithTimeout(ctx, lookMax)
	defer cancel()
	list, err := u.ListSessions(ctx, &hostv1.ListSessionsRequest{})
	if err != nil {
		return nil
	}
	return list.GetSessions()
}

// isStopped looks whether the user's stop holds a session.
func (u user) isStopped(ctx context.Context, session string) bool {
	return slices.ContainsFunc(u.open(ctx), func(s *hostv1.OpenSession) bool {
		return s.GetSessionId() == session && slices.Contains(s.GetHolds(), hostv1.Hold_HOLD_STOPPED)
	})
}

// allStopped looks whether the stop of everything stands.
func (u user) allStopped(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookMax)
	defer cancel()
	s, err := u.GetStatus(ctx, &hostv1.GetStatusRequest{})
	return err == nil && s.GetStoppedAll()
}

func resumeAll(ctx context.Context, u user, _, _ string) (string, error) {
	r, err := u.Resume(ctx, &hostv1.ResumeRequest{})
	switch {
	case err != nil:
		return "", err
	case !r.GetResumed():
		return "", errNoneHeld
	}
	return "Resumed all. Sessions can be opened again; after a stop or a take-over they have no leases.", nil
}

// byName calls with a session as it was typed. When that meets nothing it calls with the
// one open session whose id begins so, and says otherwise when that meets nothing
// either. A stop by its whole id never waits for a list.
func byName(
	ctx context.Context, c hostv1.ControlServiceClient, typed string, otherwise error,
	call func(session string) (met bool, err error),
) error {
	if met, err := call(typed); err != nil || met {
		return err
	}
	open, err := openSessions(ctx, c)
	if err != nil {
		return err
	}
	session, err := complete(typed, open)
	if err != nil {
		return err
	}
	met, err := call(session)
	if err == nil && !met {
		return otherwise
	}
	return err
}

// openSessions returns the ids of the open sessions.
func openSessions(ctx context.Context, c hostv1.ControlServiceClient) ([]string, error) {
	list, err := c.ListSessions(ctx, &hostv1.ListSessionsRequest{})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, s := range list.GetSessions() {
		ids = append(ids, s.GetSessionId())
	}
	return ids, nil
}

// complete returns the one id that begins with what was typed.
func complete(typed string, ids []string) (string, error) {
	found := ""
	for _, id := range ids {
		switch {
		case !strings.HasPrefix(id, typed) || id == found:
		case found != "":
			return "", errWhichSession
		default:
			found = id
		}
	}
	if found == "" {
		return "", errNoSession
	}
	return found, nil
}

// oneOrAll wants one session, or none with --all. An empty name is none: to the host it
// would mean all, and a script's unset variable must not.
func oneOrAll(all *bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case !*all && one("session")(cmd, args) != nil:
			return &usageError{"name exactly one session, or use --all"}
		case *all && len(args) > 0:
			return &usageError{"name a session or use --all, not both"}
		}
		return nil
	}
}

// count is a number of things in words.
func count(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// control makes one call on the user's socket and prints what came of it.
func control(cmd *cobra.Command, dir string, call func(context.Context, user) (string, error)) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), callMax)
	defer cancel()
	conn, err := connect(ctx, orDefault(dir), "user")
	if err != nil {
		return err
	}
	defer conn.Close()
	said, err := call(ctx, user{hostv1.NewControlServiceClient(conn), hostv1.NewStatusServiceClient(conn)})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
	return err
}
