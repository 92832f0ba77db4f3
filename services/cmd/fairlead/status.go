package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
	"fairlead.dev/services/shared/peersock"
	"fairlead.dev/services/shared/rpc"
)

func statusCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "status",
		Short: "Show what runs, what works, and which sessions are open",
		Long: `Shows the processes and what they were attested as, what works on this desktop and why
not, how much is queued, held and in flight, and the open sessions with what holds each.`,
		Example: `  fairlead status`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), callMax)
			defer cancel()
			s, err := getStatus(ctx, orDefault(dir))
			if err != nil {
				return err
			}
			if err := printStatus(cmd.OutOrStdout(), s, suffix(dir)); err != nil {
				return err
			}
			return printSessions(ctx, cmd.OutOrStdout(), dir)
		},
	}
	runtimeDirFlag(c, &dir)
	return c
}

func runtimeDirFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "runtime-dir", "", "where the sockets are (default: below XDG_RUNTIME_DIR)")
}

func orDefault(dir string) string {
	if dir == "" {
		return peersock.RuntimeDir()
	}
	return dir
}

// suffix makes the commands we name find this instance.
func suffix(dir string) string {
	if dir == "" {
		return ""
	}
	return " --runtime-dir " + dir
}

// connect opens one audience's socket. It says plainly when nothing listens there.
func connect(ctx context.Context, dir, audience string) (*grpc.ClientConn, error) {
	path := filepath.Join(dir, audience, "host.sock")
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("%s belongs to another user; ask them, or name your own with --runtime-dir", path)
	}
	if err != nil {
		return nil, fmt.Errorf("nothing answers at %s; start fairlead with: fairlead up", path)
	}
	if err := c.Close(); err != nil {
		return nil, fmt.Errorf("closing a socket: %w", err)
	}
	return rpc.DialSocket(path, noop.NewTracerProvider())
}

func getStatus(ctx context.Context, dir string) (*hostv1.GetStatusResponse, error) {
	conn, err := connect(ctx, dir, "user")
	if err != nil {
		// An agent of another account has the agent socket only.
		agent, second := connect(ctx, dir, "agent")
		if second != nil {
			return nil, err
		}
		conn = agent
	}
	defer conn.Close()
	s, err := hostv1.NewStatusServiceClient(conn).GetStatus(ctx, &hostv1.GetStatusRequest{})
	if err != nil {
		return nil, fmt.Errorf("the host did not answer; try again, then see the log: %w", err)
	}
	return s, nil
}

// name is the last part of an enum member's name, in plain words.
func name(e protoreflect.Enum) string {
	v := e.Descriptor().Values().ByNumber(e.Number())
	if v == nil || e.Number() == 0 {
		return "-"
	}
	zero := string(e.Descriptor().Values().ByNumber(0).Name())
	prefix := strings.TrimSuffix(zero, "UNSPECIFIED")
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(string(v.Name()), prefix), "_", " "))
}

func printStatus(out io.Writer, s *hostv1.GetStatusResponse, suffix string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ROLE\tPID\tVERSION\tDIGEST\tGENERATION\tHEALTH\tATTESTED")
	for _, p := range s.GetProcesses() {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%d\t%s\t%s\n", name(p.GetRole()), p.GetPid(), dash(p.GetVersion()),
			dash(short(hex.EncodeToString(p.GetSha256()))), p.GetGeneration(), name(p.GetHealth()), yes(p.GetAttested()))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, p := range s.GetProcesses() {
		if p.GetRole() == commonv1.ProcessRole_PROCESS_ROLE_EXECUTOR {
			printAbilities(out, p)
		}
	}
	l := s.GetLimits()
	fmt.Fprintf(out, "\nRules     %s\n", dash(short(s.GetBundleSha256())))
	fmt.Fprintf(out, "Sessions  %d of %d\n", s.GetSessions(), l.GetSessions())
	fmt.Fprintf(out, "Held      %s\n", held(s.GetHolds()))
	fmt.Fprintf(out, "Stop all  %s\n", allStopped(s.GetStoppedAll(), suffix))
	fmt.Fprintf(out, "Calls     %d waiting; at most %d per session and %d in all\n",
		s.GetCallsWaiting(), l.GetQueueSession(), l.GetQueueHost())
	fmt.Fprintf(out, "Windows   %d in use, %d acts waiting; at most %d per window\n",
		s.GetLanesHeld(), s.GetLanesWaiting(), l.GetQueueWindow())
	fmt.Fprintf(out, "Acts      %d in flight\n", s.GetActsInFlight())
	fmt.Fprintf(out, "Frames    %d current, %d with the keyboard; at most one per session\n",
		s.GetFrames(), s.GetKeyboards())
	fmt.Fprintf(out, "Streams   %s\n", count(uint64(s.GetSubscribers()), "subscriber"))
	fmt.Fprintf(out, "Limits    %d elements, depth %d, %d characters per field, %d to type, %d ms per request\n",
		l.GetElements(), l.GetDepth(), l.GetText(), l.GetTextToType(), l.GetRequestMs())
	_, err := fmt.Fprintf(out, "Debug     %s\n", yes(s.GetDebug()))
	return err
}

// held is how many sessions are under each hold; one session may be under several.
func held(counts []*hostv1.HoldCount) string {
	var said []string
	for _, c := range counts {
		if c.GetSessions() > 0 {
			said = append(said, fmt.Sprintf("%d %s", c.GetSessions(), name(c.GetHold())))
		}
	}
	if len(said) == 0 {
		return "none"
	}
	return strings.Join(said, ", ")
}

// allStopped says whether the kill switch is pressed.
func allStopped(pressed bool, suffix string) string {
	if pressed {
		return "yes: no session can be opened until: fairlead resume --all" + suffix
	}
	return "no"
}

func printAbilities(out io.Writer, p *commonv1.ProcessStatus) {
	fmt.Fprintf(out, "\nOn the %s desktop it can:\n", dash(p.GetPlatform()))
	for _, a := range p.GetAbilities() {
		word := "yes"
		if !a.GetAble() {
			word = "no, " + name(a.GetReason())
		}
		fmt.Fprintf(out, "  %-10s %s\n", name(a.GetKind()), word)
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// printSessions lists the open sessions, which only the user's socket tells. The name a
// client gives itself is its own word, so it stands in quotes.
func printSessions(ctx context.Context, out io.Writer, dir string) error {
	conn, err := connect(ctx, orDefault(dir), "user")
	if err != nil {
		return nil // another account's agent sees no sessions
	}
	defer conn.Close()
	list, err := hostv1.NewControlServiceClient(conn).ListSessions(ctx, &hostv1.ListSessionsRequest{})
	if err != nil {
		return fmt.Errorf("the host did not answer; try again, then see the log: %w", err)
	}
	return printTable(out, list.GetSessions(), suffix(dir))
}

func printTable(out io.Writer, sessions []*hostv1.OpenSession, suffix string) error {
	if len(sessions) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nSESSION\tCLIENT\tUID\tTURN\tHELD\tACT\tAPP")
	for _, s := range sessions {
		var holds []string
		for _, h := range s.GetHolds() {
			holds = append(holds, name(h))
		}
		act := ""
		if s.GetActInFlight() {
			act = "in flight"
		}
		fmt.Fprintf(w, "%s\t%q\t%d\t%s\t%s\t%s\t%s\n", s.GetSessionId(), s.GetClientName(), s.GetUid(),
			name(s.GetBase()), dash(strings.Join(holds, ", ")), dash(act), dash(harmless(s.GetAppId())))
	}
	fmt.Fprintf(w, "\nHold one with: fairlead pause SESSION%s; stop one with: fairlead stop SESSION%s\n", suffix, suffix)
	return w.Flush()
}

// harmless returns a text of somebody else's choice such that it can neither steer a
// terminal nor look like more than one word of ours.
func harmless(s string) string {
	odd := func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '"' }
	if strings.ContainsFunc(s, odd) || !utf8.ValidString(s) {
		return strconv.QuoteToASCII(s)
	}
	return s
}
