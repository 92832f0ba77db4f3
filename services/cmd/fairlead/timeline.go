package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
)

// errLagged is told when the host let go of us because we read too slowly.
var errLagged = errors.New(
	"events came faster than they could be shown, so the stream ended; see them all with: fairlead timeline")

// timelineOptions are the flags of timeline.
type timelineOptions struct {
	dir          string
	follow, json bool
}

func timelineCommand() *cobra.Command {
	var o timelineOptions
	c := &cobra.Command{
		Use:   "timeline [SESSION]",
		Short: "Show what happened to sessions, and go on showing it",
		Long: `Shows what happened, to one session or lately to all, one line for each event, oldest first:
when, to which session ("all" for what you said to all), and what. It tells codes and ids,
never what stands on the desk. The host forgets the oldest events and says how many.

With --follow it goes on with what happens, until you interrupt it or the host ends.`,
		Example: `  fairlead timeline
  fairlead timeline s-2mzq4c6v --follow
  fairlead timeline --json                       one JSON object on each line`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return one("session")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, restore := signal.NotifyContext(context.WithoutCancel(cmd.Context()), os.Interrupt, syscall.SIGTERM)
			defer restore()
			return o.show(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr(), strings.Join(args, ""))
		},
	}
	c.Flags().BoolVar(&o.follow, "follow", false, "go on until interrupted")
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object on each line")
	runtimeDirFlag(c, &o.dir)
	return c
}

// show prints the timeline of one session, or of all where none is named. An interrupt
// and the end of fairlead end it well.
func (o timelineOptions) show(ctx context.Context, out, notes io.Writer, typed string) error {
	conn, err := connect(ctx, orDefault(o.dir), "user")
	if err != nil {
		return err
	}
	defer conn.Close()
	p := &printer{
		control: hostv1.NewControlServiceClient(conn), out: out, notes: notes, json: o.json, seen: map[string]bool{},
	}
	session, err := p.whose(ctx, typed)
	switch {
	case err != nil:
	case o.follow:
		err = p.follow(ctx, session)
	default:
		err = p.past(ctx, session)
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, io.EOF) || errors.Is(err, errBroken) && !answers(ctx, o.dir):
		_, err = fmt.Fprintln(notes, "The host has ended, and every session with it.")
	}
	return err
}

// errBroken is a stream that broke off. What has ended in order ends it with io.EOF.
var errBroken = errors.New("the host let go of the stream; try again, then see the log")

// answers reports whether a host answers, by asking now (C0.9).
func answers(ctx context.Context, dir string) bool {
	conn, err := connect(ctx, orDefault(dir), "user")
	return err == nil && conn.Close() == nil
}

// printer prints events.
type printer struct {
	control    hostv1.ControlServiceClient
	out, notes io.Writer
	json       bool
	// seen is the sessions whose ids have to be told apart.
	seen map[string]bool
	// last is the number of the latest event that was printed.
	last uint64
}

// whose returns the session that was meant: by its whole id, or by the beginning of the
// id of one that is open or that the timeline still knows.
func (p *printer) whose(ctx context.Context, typed string) (string, error) {
	if typed == "" {
		return "", nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	known, err := openSessions(ctx, p.control)
	if err != nil {
		return "", notAnswered(err)
	}
	for _, session := range []string{typed, ""} {
		r, err := p.control.GetTimeline(ctx, &hostv1.GetTimelineRequest{SessionId: session})
		if err != nil {
			return "", notAnswered(err)
		}
		for _, e := range r.GetEvents() {
			known = append(known, e.GetSessionId())
		}
	}
	return complete(typed, known)
}

func notAnswered(err error) error {
	return fmt.Errorf("the host did not answer; try again, then see the log: %w", err)
}

// past prints what happened until now.
func (p *printer) past(ctx context.Context, session string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	r, err := p.control.GetTimeline(ctx, &hostv1.GetTimelineRequest{SessionId: session})
	if err != nil {
		return notAnswered(err)
	}
	if n := r.GetForgotten(); n > 0 {
		fmt.Fprintf(p.notes, "Forgotten: %s before these.\n", count(n, "event"))
	}
	if len(r.GetEvents()) == 0 {
		fmt.Fprintln(p.notes, "Nothing happened yet.")
	}
	for _, e := range r.GetEvents() {
		p.seen[e.GetSessionId()] = true
	}
	for _, e := range r.GetEvents() {
		if err := p.print(e); err != nil {
			return err
		}
	}
	return nil
}

// follow prints what happened and what happens, until the stream ends. The subscription
// stands before the past is asked for, so that nothing falls between the two.
func (p *printer) follow(ctx context.Context, session string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(callMax, cancel)
	defer late.Stop()
	stream, err := p.control.WatchSessions(ctx, &hostv1.WatchSessionsRequest{SessionId: session})
	if err != nil {
		return notAnswered(err)
	}
	if md, err := stream.Header(); err != nil || md == nil {
		_, err = stream.Recv() // it was refused, and this says why
		return notAnswered(err)
	}
	late.Stop()
	if err := p.past(ctx, session); err != nil {
		return err
	}
	for {
		r, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return err
		case err != nil:
			return errBroken
		case r.GetLagged():
			return errLagged
		case r.GetEvent().GetSeq() <= p.last:
			continue // it was in the past already
		}
		if err := p.print(r.GetEvent()); err != nil {
			return err
		}
	}
}

// print prints one event on one line.
func (p *printer) print(e *hostv1.TimelineEvent) error {
	p.last = e.GetSeq()
	if p.json {
		return p.printJSON(e)
	}
	at := time.UnixMilli(int64(e.GetUnixMs())).Local().Format("Jan _2 15:04:05.000")
	_, err := fmt.Fprintf(p.out, "%s  %-*s  %s\n", at, labelMin, p.label(e.GetSessionId()), told(e))
	return err
}

func (p *printer) printJSON(e *hostv1.TimelineEvent) error {
	b, err := protojson.Marshal(e)
	if err != nil {
		return fmt.Errorf("writing an event as JSON: %w", err)
	}
	// protojson varies its spaces on purpose; a line that scripts read should not.
	var line bytes.Buffer
	if err := json.Compact(&line, b); err != nil {
		return fmt.Errorf("writing an event as JSON: %w", err)
	}
	_, err = fmt.Fprintln(p.out, line.String())
	return err
}

// labelMin is how much of a session's id is shown at least.
const labelMin = len("s-2mzq4c6v")

// label is as much of a session's id as tells it apart from the others seen. The
// commands take it in place of the whole id. An event without one concerns all.
func (p *printer) label(id string) string {
	if id == "" {
		return "all"
	}
	n := min(labelMin, len(id))
	for other := range p.seen {
		for other != id && n < len(id) && strings.HasPrefix(other, id[:n]) {
			n++
		}
	}
	p.seen[id] = true
	return id[:n]
}

// told is an event in words.
func told(e *hostv1.TimelineEvent) string {
	said, known := happened[e.GetKind()]
	if !known {
		return name(e.GetKind())
	}
	if id := e.GetActId(); id != "" {
		said += " " + harmless(id)
	}
	var how []string
	switch o := e.GetOutcome(); o {
	case commonv1.Outcome_OUTCOME_UNSPECIFIED:
	case commonv1.Outcome_OUTCOME_UNKNOWN:
		how = append(how, name(commonv1.RefusalCode_REFUSAL_CODE_OUTCOME_UNKNOWN))
	default:
		how = append(how, name(o))
	}
	if c := e.GetCode(); c != 0 && !slices.Contains(how, name(c)) {
		how = append(how, name(c))
	}
	if why, known := lost[e.GetKeyboardLoss()]; known {
		how = append(how, why)
	}
	if len(how) == 0 {
		return said
	}
	return said + ": " + strings.Join(how, ", ")
}

// happened is what each kind of event says to the user.
var happened = map[hostv1.TimelineKind]string{
	hostv1.TimelineKind_TIMELINE_KIND_SESSION_OPENED:    "session opened",
	hostv1.TimelineKind_TIMELINE_KIND_TURN_BEGUN:        "turn begun",
	hostv1.TimelineKind_TIMELINE_KIND_TURN_ENDED:        "turn ended",
	hostv1.TimelineKind_TIMELINE_KIND_OBSERVED:          "observed a window",
	hostv1.TimelineKind_TIMELINE_KIND_ACT_SENT:          "act sent",
	hostv1.TimelineKind_TIMELINE_KIND_ACT_ENDED:         "act ended",
	hostv1.TimelineKind_TIMELINE_KIND_STOPPED:           "stopped by the user",
	hostv1.TimelineKind_TIMELINE_KIND_STOPPED_ALL:       "stopped by the user with --all",
	hostv1.TimelineKind_TIMELINE_KIND_RESUMED:           "resumed by the user",
	hostv1.TimelineKind_TIMELINE_KIND_PAUSED:            "paused by the user",
	hostv1.TimelineKind_TIMELINE_KIND_TAKEN_OVER:        "taken over by the user",
	hostv1.TimelineKind_TIMELINE_KIND_LOCKED:            "screen locked",
	hostv1.TimelineKind_TIMELINE_KIND_UNLOCKED:          "screen unlocked",
	hostv1.TimelineKind_TIMELINE_KIND_INTERVENED:        "the user used its window during an act",
	hostv1.TimelineKind_TIMELINE_KIND_INTERVENTION_OVER: "the user left its window alone again",
	hostv1.TimelineKind_TIMELINE_KIND_BLOCKED:           "reached a blocked destination",
	hostv1.TimelineKind_TIMELINE_KIND_EXECUTOR_GONE:     "the executor ended",
	hostv1.TimelineKind_TIMELINE_KIND_POLICY_GONE:       "policy ended, or its rules changed",
	hostv1.TimelineKind_TIMELINE_KIND_LEASE_GRANTED:     "lease given",
	hostv1.TimelineKind_TIMELINE_KIND_LEASE_ENDED:       "lease ended",
	hostv1.TimelineKind_TIMELINE_KIND_KEYBOARD_GRANTED:  "keyboard given",
	hostv1.TimelineKind_TIMELINE_KIND_KEYBOARD_REVOKED:  "keyboard lost",
	hostv1.TimelineKind_TIMELINE_KIND_CLIENT_GONE:       "its client is gone",
	hostv1.TimelineKind_TIMELINE_KIND_SESSION_ENDED:     "session ended",
}

// lost is why the keyboard was lost.
var lost = map[hostv1.KeyboardLoss]string{
	hostv1.KeyboardLoss_KEYBOARD_LOSS_FAILURE:      "the act failed",
	hostv1.KeyboardLoss_KEYBOARD_LOSS_REFUSED:      "the act was refused",
	hostv1.KeyboardLoss_KEYBOARD_LOSS_OBSERVATION:  "it observed again",
	hostv1.KeyboardLoss_KEYBOARD_LOSS_INPUT:        "the user used the window",
	hostv1.KeyboardLoss_KEYBOARD_LOSS_INTERVENTION: "the user used the window during an act",
	hostv1.KeyboardLoss_KEYBOARD_LOSS_GENERATION:   "something restarted",
	hostv1.KeyboardLoss_KEYBOARD_LOSS_TURN:         "the turn ended",
	hostv1.KeyboardLoss_KEYBOARD_LOSS_SESSION:      "the session ended",
	hostv1.KeyboardLoss_KEYBOARD_LOSS_STOP:         "stopped",
	hostv1.KeyboardLoss_KEYBOARD_LOSS_PAUSE:        "paused or taken over",
	hostv1.KeyboardLoss_KEYBOARD_LOSS_LOCK:         "the screen was locked",
	hostv1.KeyboardLoss_KEYBOARD_LOSS_ABORT:        "the caller left",
	hostv1.KeyboardLoss_KEYBOARD_LOSS_TARGET:       "the window or page changed",
	hostv1.KeyboardLoss_KEYBOARD_LOSS_REPLACED:     "another act got it",
	hostv1.KeyboardLoss_KEYBOARD_LOSS_CLIENT_GONE:  "the client is gone",
}
