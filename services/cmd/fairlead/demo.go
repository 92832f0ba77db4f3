package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
)

const (
	// demoMax bounds the demo without the installing before it.
	demoMax = 3 * time.Minute
	// treeWait is how long a new window may take to describe itself: GTK 4 builds its tree
	// late on a slow machine.
	treeWait = 60 * time.Second
	// treeEvery is how often it is looked at meanwhile.
	treeEvery = 250 * time.Millisecond
)

func demoCommand() *cobra.Command {
	var platform string
	c := &cobra.Command{
		Use:   "demo",
		Short: "See an agent use a calculator, and be stopped",
		Long: `Starts fairlead on a desktop of its own, apart from yours, and plays an agent: it opens a
session, gets leases, sees a calculator, presses 7 × 6 =, and reads 42. Then it tries to
act on what it saw long ago, and you stop it. Nothing of yours is touched.

On Debian and as root it installs what the private desktop needs. Where there can be
no private desktop it plays on the virtual desk.`,
		Example: `  fairlead demo
  fairlead demo --platform virtual`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd, platform) },
	}
	c.Flags().StringVar(&platform, "platform", platformAuto, "where to play: auto, virtual or x11")
	return c
}

func demo(cmd *cobra.Command, asked string) (err error) {
	ctx, restore := signal.NotifyContext(context.WithoutCancel(cmd.Context()), os.Interrupt, syscall.SIGTERM)
	defer restore()
	out := cmd.OutOrStdout()
	platform, err := chooseStage(ctx, asked, out)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, demoMax)
	defer cancel()
	p := &play{paper: newPaper(out)}
	p.begin("Start the three processes, attested, on a desktop of their own.")
	p.stage, err = setStage(ctx, platform)
	if err != nil {
		p.failed()
		return err
	}
	defer func() { err = errors.Join(err, p.stage.strike()) }()
	if err := p.perform(ctx); err != nil {
		p.failed()
		return p.stage.keepLogs(ctx, fmt.Errorf("step %d did not go as it should: %w", p.step, err))
	}
	fmt.Fprintln(out)
	_, err = fmt.Fprintln(out, p.stage.drove(ctx))
	return err
}

// play is one performance of the demo.
type play struct {
	*paper
	stage *stage
	agent *agent
	user  hostv1.ControlServiceClient
	// first is the first frame, and stale an element of it.
	first *commonv1.FrameRef
	stale uint32
}

func (p *play) perform(ctx context.Context) error {
	dir := filepath.Dir(filepath.Dir(p.stage.launcher.AgentSocket()))
	if err := p.processes(ctx, dir); err != nil {
		return err
	}
	agent, err := connect(ctx, dir, "agent")
	if err != nil {
		return err
	}
	defer agent.Close()
	user, err := connect(ctx, dir, "user")
	if err != nil {
		return err
	}
	defer user.Close()
	p.agent, p.user = newAgent(agent), hostv1.NewControlServiceClient(user)
	for _, act := range []func(context.Context) error{
		p.open, p.leases, p.forbidden, p.launch, p.look, p.press, p.read, p.actOnOld, p.stop, p.actAfterStop,
	} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *play) processes(ctx context.Context, dir string) error {
	s, err := getStatus(ctx, dir)
	if err != nil {
		return err
	}
	attested := 0
	for _, x := range s.GetProcesses() {
		if x.GetAttested() {
			attested++
		}
	}
	p.ok(fmt.Sprintf("%d of %d attested", attested, len(s.GetProcesses())))
	return nil
}

func (p *play) open(ctx context.Context) error {
	p.begin("Open a session and begin a turn.")
	if err := p.agent.open(ctx); err != nil {
		return err
	}
	if err := p.agent.begin(ctx); err != nil {
		return err
	}
	p.ok("session " + p.agent.session.GetSessionId())
	return nil
}

func (p *play) leases(ctx context.Context) error {
	for _, want := range []struct {
		sentence, app string
		class         commonv1.LeaseClass
	}{
		{"Ask to see which apps there are.", "", commonv1.LeaseClass_LEASE_CLASS_METADATA_READ},
		{"Ask to read the calculator.", p.stage.app, commonv1.LeaseClass_LEASE_CLASS_METADATA_READ},
		{"Ask to press its buttons.", p.stage.app, commonv1.LeaseClass_LEASE_CLASS_SEMANTIC_MUTATION},
	} {
		p.begin(want.sentence)
		l, err := p.agent.acquire(ctx, want.class, want.app)
		if err != nil {
			return err
		}
		life := time.Duration(l.GetExpiresInMs()) * time.Millisecond
		p.ok(fmt.Sprintf("%s for %s by rule %s", name(l.GetClass()), life.Round(time.Second), l.GetRuleId()))
	}
	return nil
}

func (p *play) forbidden(ctx context.Context) error {
	p.begin("Ask for a pointer, which no rule gives.")
	_, err := p.agent.acquire(ctx, commonv1.LeaseClass_LEASE_CLASS_POINTER_MUTATION, p.stage.app)
	return p.expect(err, commonv1.RefusalCode_REFUSAL_CODE_POLICY_FORBIDDEN,
		commonv1.RefusalCode_REFUSAL_CODE_APPROVAL_REQUIRED)
}

// expect ends a step that should be refused with one of the codes.
func (p *play) expect(err error, codes ...commonv1.RefusalCode) error {
	var no *refusedError
	switch {
	case err == nil:
		return errors.New("it was allowed and should have been refused")
	case !errors.As(err, &no):
		return err
	}
	for _, c := range codes {
		if no.refusal.GetCode() == c {
			p.refused(code(no.refusal), no.refusal.GetSentence())
			return nil
		}
	}
	return fmt.Errorf("it was refused for another reason than it should: %w", err)
}

func (p *play) launch(ctx context.Context) error {
	p.begin("Look whether the calculator runs; launch it if not.")
	runs, err := p.agent.running(ctx, p.stage.app)
	if err != nil {
		return err
	}
	if runs {
		p.ok("it runs")
		return nil
	}
	r, err := p.agent.launch(ctx, p.stage.app)
	if err != nil {
		return err
	}
	if r.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
		return fmt.Errorf("its launch ended %s", name(r.GetOutcome()))
	}
	p.ok("launched, in the background")
	return nil
}

func (p *play) look(ctx context.Context) error {
	p.begin("Observe it: this is the frame that acts are grounded in.")
	wait, cancel := context.WithTimeout(ctx, treeWait)
	defer cancel()
	var err error
	for {
		if err = p.agent.look(wait, p.stage.app); err == nil {
			if p.stale, err = key(p.agent.seen, "6"); err == nil {
				break
			}
		}
		select {
		case <-time.After(treeEvery):
		case <-wait.Done():
			return err
		}
	}
	p.first = p.agent.seen.GetFrame()
	p.ok(fmt.Sprintf("frame %d, %d elements", p.first.GetEpoch(), p.agent.seen.GetElementCount()))
	p.outline(p.agent.seen.GetOutline())
	return nil
}

func (p *play) press(ctx context.Context) error {
	for _, k := range []string{"7", "×", "6", "="} {
		p.begin("Press " + k + " on the frame just seen.")
		id, err := key(p.agent.seen, k)
		if err != nil {
			return err
		}
		r, err := p.agent.press(ctx, p.agent.seen.GetFrame(), id)
		if err != nil {
			return err
		}
		if !r.GetVerified() {
			return fmt.Errorf("it was not verified: outcome %s, effect %s", name(r.GetOutcome()), name(r.GetEffect()))
		}
		p.ok(fmt.Sprintf("verified by %s, via %s", name(r.GetVerification().GetMethod()), name(r.GetRoute())))
	}
	return nil
}

func (p *play) read(ctx context.Context) error {
	p.begin("Observe again and read the result.")
	if err := p.agent.look(ctx, p.stage.app); err != nil {
		return err
	}
	where, ok := shows(p.agent.seen, "42")
	if !ok {
		return errors.New("no element shows 42")
	}
	p.ok("42, in " + where)
	return nil
}

func (p *play) actOnOld(ctx context.Context) error {
	p.begin("Press 6 on the very first frame, which is long spent.")
	_, err := p.agent.press(ctx, p.first, p.stale)
	return p.expect(err, commonv1.RefusalCode_REFUSAL_CODE_STALE_FRAME, commonv1.RefusalCode_REFUSAL_CODE_STALE_EPOCH)
}

func (p *play) stop(ctx context.Context) error {
	p.begin("You stop the session, from your own socket.")
	ctx, cancel := bounded(ctx)
	defer cancel()
	r, err := p.user.Stop(ctx, &hostv1.StopRequest{SessionId: p.agent.session.GetSessionId()})
	if err != nil {
		return fmt.Errorf("the host did not answer: %w", err)
	}
	if !r.GetKnown() {
		return errNoSession
	}
	p.ok("stopped")
	return nil
}

func (p *play) actAfterStop(ctx context.Context) error {
	p.begin("Press 7 all the same.")
	id, err := key(p.agent.seen, "7")
	if err != nil {
		return err
	}
	frame := p.agent.seen.GetFrame()
	_, err = p.agent.press(ctx, frame, id)
	var no *refusedError
	if errors.As(err, &no) && no.refusal.GetCode() == commonv1.RefusalCode_REFUSAL_CODE_STALE_GENERATION {
		// The stop moved the session's generation (C1.1). The answer carries the current one;
		// knowing it does not help the agent.
		_, err = p.agent.press(ctx, frame, id)
	}
	return p.expect(err, commonv1.RefusalCode_REFUSAL_CODE_USER_STOPPED)
}
