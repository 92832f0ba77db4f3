package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/refusal"
)

const (
	replaces = commonv1.TextMode_TEXT_MODE_REPLACE
	appends  = commonv1.TextMode_TEXT_MODE_APPEND
	byPage   = commonv1.VerificationMethod_VERIFICATION_METHOD_PAGE_READBACK
)

func paste(s string) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_Paste{Paste: &commonv1.Paste{Text: s}}}
}

func pressKeys(keys string, repeat uint32) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_PressKeys{PressKeys: &commonv1.PressKeys{Keys: keys, Repeat: repeat}}}
}

func holdKeys(keys string, ms uint32) *commonv1.Act {
	return &commonv1.Act{Act: &commonv1.Act_HoldKeys{HoldKeys: &commonv1.HoldKeys{Keys: keys, DurationMs: ms}}}
}

func submitting(s string, mode commonv1.TextMode) *commonv1.Act {
	a := typeText(s, mode)
	a.GetTypeText().Submit = true
	return a
}

// typing is a desk whose field is typed into by keys.
func typing() *fake {
	f := openFake()
	f.deliver = func(Performance) Delivery { return Refused(refusal.AnswerNotSupported) }
	f.focus = "field"
	return f
}

func pressed(f *fake) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.keys, "|")
}

func TestTextByKeysIsReadBack(t *testing.T) {
	unsure := commonv1.Effect_EFFECT_UNVERIFIABLE
	cases := []struct {
		name   string
		act    *commonv1.Act
		owned  bool
		bend   func(*fake)
		keys   string
		value  string
		effect commonv1.Effect
	}{
		{"named, over", typeText("grüße", replaces), false, nil, "grüß|e", "grüße", 1},
		{"named, over by default", typeText("new", 0), false, nil, "new", "new", 1},
		{"named, on", typeText(" one", appends), false, nil, " one", "old one", 1},
		{"owned, over", typeText("grüße", replaces), true, nil, "grüß|e", "grüße", 1},
		{"owned, on", typeText(" one", appends), true, nil, " one", "old one", 1},
		{"pasted", paste("XY"), true, func(f *fake) { f.node("field").Selection = &TextRange{1, 1} }, "XY", "oXYd", 1},
		{"pasted at the end", paste("XY"), false, func(f *fake) { f.node("field").Selection = &TextRange{3, 0} }, "XY", "oldXY", 1},
		{"pasted who knows where", paste("XY"), true, nil, "XY", "oldXY", unsure},
		{"the app makes something else of it", typeText("new", replaces), true, func(f *fake) {
			f.point = func(f *fake, _ Input) { f.node("field").Value = "NEW" }
		}, "new", "NEW", unsure},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := typing()
			if c.bend != nil {
				c.bend(desk)
			}
			r := ready(t, desk)
			o := r.order(r.snapshot(editor), nodeField, c.act).by(seat)
			if c.owned {
				o = r.onOwned(r.snapshot(editor), nodeField, c.act)
			}
			resp := r.send(o)
			if resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK || resp.GetEffect() != c.effect {
				t.Fatalf("got %v %v %v", resp.GetCode(), resp.GetOutcome(), resp.GetEffect())
			}
			if c.effect == 1 {
				confirmed(t, resp, byText)
			}
			if pressed(desk) != c.keys || desk.node("field").Value != c.value || resp.GetRoute() != seat {
				t.Fatalf("keys %q, value %q", pressed(desk), desk.node("field").Value)
			}
			in := desk.inputs[0]
			if in.Focus == c.owned || in.Object != "field" || !slices.Equal(in.Routes, []commonv1.Route{seat}) {
				t.Fatalf("sent %+v", in)
			}
		})
	}
}

// A named element is written by its own text interface where that is permitted; an owned
// one is typed into. What one way does not offer the other does, once.
func TestWaysOfATyping(t *testing.T) {
	both := []commonv1.Route{seat, textual}
	cases := []struct {
		name             string
		act              *commonv1.Act
		owned            bool
		routes           []commonv1.Route
		offered          bool
		performed, typed int
		want             refusal.Answer
	}{
		{"named", typeText("new", 0), false, both, true, 1, 0, 0},
		{"named, no text interface", typeText("new", 0), false, both, false, 0, 1, 0},
		{"named, text only", typeText("new", 0), false, both[1:], true, 1, 0, 0},
		{"named, text only, not offered", typeText("new", 0), false, both[1:], false, 0, 0, refusal.AnswerNotSupported},
		{"named, keys only", typeText("new", 0), false, both[:1], true, 0, 1, 0},
		{"owned", typeText("new", 0), true, both, true, 0, 1, 0},
		{"owned, text only", typeText("new", 0), true, both[1:], true, 1, 0, 0},
		{"pasted", paste("new"), false, both, true, 1, 0, 0},
		{"keys pressed", pressKeys("a", 1), true, both, true, 0, 1, 0},
		{"keys pressed, text only", pressKeys("a", 1), true, both[1:], true, 0, 0, refusal.AnswerNoPermittedRoute},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := typing()
			focused := desk.node("field")
			focused.States = focused.States.With(commonv1.ElementState_ELEMENT_STATE_FOCUSED)
			if c.offered {
				desk.deliver = nil
			}
			r := ready(t, desk)
			snap := r.snapshot(editor)
			o := r.order(snap, nodeField, c.act)
			if c.owned {
				o = r.onOwned(snap, nodeField, c.act)
			}
			resp := r.send(o.by(c.routes...))
			if resp.GetCode() != c.want || len(desk.sent()) != c.performed || arrived(desk) != c.typed {
				t.Fatalf("got %v, performed %d, typed %d", resp.GetCode(), len(desk.sent()), arrived(desk))
			}
			for _, p := range desk.sent() {
				if !slices.Equal(p.Routes, []commonv1.Route{textual}) {
					t.Fatalf("routes %v", p.Routes)
				}
			}
		})
	}
}

// Keys go only to an element that the application says has its focus, and that is what
// the snapshot recorded (C8.1, C8.4). What is refused spends nothing.
func TestKeysNeedTheFocus(t *testing.T) {
	sees := func(bend func(*Under)) func(*fake) {
		return func(f *fake) { f.under = func(_ int, u *Under) { bend(u) } }
	}
	cases := []struct {
		name    string
		happens func(*fake)
		want    refusal.Answer
	}{
		{"focus elsewhere", func(f *fake) { f.focus = "button" }, refusal.AnswerFocusChanged},
		{"no focus", func(f *fake) { f.focus = "" }, refusal.AnswerFocusChanged},
		{"another element", sees(func(u *Under) { u.Node.Object = "twin" }), refusal.AnswerFocusChanged},
		{"no element", sees(func(u *Under) { u.HasNode = false }), refusal.AnswerFocusChanged},
		{"another renderer", sees(func(u *Under) { u.Node.Renderer = 3 }), refusal.AnswerFocusChanged},
		{"another surface", sees(func(u *Under) { u.Surface = other.ID }), refusal.AnswerFocusChanged},
		{"became secure", sees(func(u *Under) { u.Node.Secure = true }), refusal.AnswerElementSecure},
		{"renamed", sees(func(u *Under) { u.Node.Name = "Other" }), refusal.AnswerElementDigestMismatch},
		{"disabled", sees(func(u *Under) { u.Node.States = 0 }), refusal.AnswerElementDigestMismatch},
		{"input", func(f *fake) { f.onPart = func(f *fake, _ int) { f.emit(Change{Kind: ChangeInput, Window: editor}) } }, refusal.AnswerPhysicalInputActive},
		{"input somewhere", func(f *fake) { f.onPart = func(f *fake, _ int) { f.emit(Change{Kind: ChangeInput}) } }, refusal.AnswerPhysicalInputActive},
		{"locked", func(f *fake) { f.desk.Locked = true }, refusal.AnswerScreenLocked},
		{"page", func(f *fake) { f.windows[0].Page.Document = "2" }, refusal.AnswerPageChanged},
	}
	acts := []*commonv1.Act{typeText("x", appends), paste("x"), pressKeys("ctrl+s", 1), holdKeys("shift+a", 100)}
	for _, c := range cases {
		for _, act := range acts {
			t.Run(c.name, func(t *testing.T) {
				desk := typing()
				r := ready(t, desk)
				o := r.onOwned(r.snapshot(editor), nodeField, act)
				desk.change(c.happens)
				refusedAs(t, r.send(o), c.want)
				if arrived(desk) != 0 || pressed(desk) != "" {
					t.Fatal("something was sent")
				}
				desk.change(func(f *fake) {
					f.under, f.onPart, f.focus, f.desk.Locked, f.windows[0].Page.Document = nil, nil, "field", false, ""
				})
				if resp := r.send(o); resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
					t.Fatalf("what was refused was spent: %v", resp.GetCode())
				}
			})
		}
	}
}

// An act that overwrites or extends compares the value in the same step; a chord does not.
func TestTypingByKeysComparesTheValue(t *testing.T) {
	for name, act := range map[string]*commonv1.Act{
		"type": typeText("x", replaces), "append": typeText("x", appends), "paste": paste("x"),
	} {
		t.Run(name, func(t *testing.T) {
			desk := typing()
			r := ready(t, desk)
			o := r.onOwned(r.snapshot(editor), nodeField, act)
			desk.change(func(f *fake) { f.node("field").Value = "the user's" })
			refusedAs(t, r.send(o), refusal.AnswerElementChanged)
			if pressed(desk) != "" {
				t.Fatal("something was typed")
			}
		})
	}
	desk := typing()
	r := ready(t, desk)
	o := r.onOwned(r.snapshot(editor), nodeField, pressKeys("ctrl+s", 1))
	desk.change(func(f *fake) { f.node("field").Value = "the user's" })
	if resp := r.send(o); resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
		t.Fatal(resp.GetCode())
	}
}

// An owned target that is written by its text interface must have the focus too, and is
// not given it (C8.1).
func TestOwnedTargetByTextNeedsTheFocus(t *testing.T) {
	for _, focused := range []bool{true, false} {
		t.Run(fmt.Sprint(focused), func(t *testing.T) {
			desk := openFake()
			if focused {
				desk.node("field").States = desk.node("field").States.With(commonv1.ElementState_ELEMENT_STATE_FOCUSED)
			}
			r := ready(t, desk)
			resp := r.send(r.onOwned(r.snapshot(editor), nodeField, typeText("new", 0)).by(textual))
			if focused {
				confirmed(t, resp, byText)
				return
			}
			refusedAs(t, resp, refusal.AnswerFocusChanged)
			if len(desk.sent()) != 0 {
				t.Fatal("something was sent")
			}
		})
	}
}

// Whoever is not named is owned, and only what is owned takes chords (C8.2).
func TestOwnedAndNamedAreTwoThings(t *testing.T) {
	field := func(r *rig, act *commonv1.Act) *order { return r.order(r.snapshot(editor), nodeField, act).by(seat) }
	cases := []struct {
		name string
		make func(*rig) *order
		want refusal.Answer
	}{
		{"chord on a named element", func(r *rig) *order { return field(r, pressKeys("a", 1)) }, refusal.AnswerNotSupported},
		{"held on a named element", func(r *rig) *order { return field(r, holdKeys("a", 1)) }, refusal.AnswerNotSupported},
		{"owned in the request only", func(r *rig) *order {
			o := field(r, typeText("x", 0))
			o.req.Owned = true
			return o
		}, refusal.AnswerPermitMismatch},
		{"owned in the permit only", func(r *rig) *order {
			o := field(r, typeText("x", 0))
			o.bound.Owned = true
			return r.seal(o)
		}, refusal.AnswerPermitMismatch},
		{"no element", func(r *rig) *order {
			o := r.onOwned(r.snapshot(editor), nodeField, typeText("x", 0))
			o.req.Token = nil
			return o
		}, refusal.AnswerElementUnknown},
		{"another element", func(r *rig) *order {
			snap := r.snapshot(editor)
			o := r.onOwned(snap, nodeField, typeText("x", 0))
			o.req.Token = snap.GetTokens()[16*nodeRoot : 16*nodeRoot+16]
			return o
		}, refusal.AnswerPermitMismatch},
		{"an owned click", func(r *rig) *order { return r.onOwned(r.snapshot(editor), nodeButton, click()) }, refusal.AnswerNotSupported},
		{"an owned value", func(r *rig) *order { return r.onOwned(r.snapshot(editor), nodeField, setValue("x")) }, refusal.AnswerNotSupported},
		{"an ambiguous key", func(r *rig) *order {
			return r.onOwned(r.snapshot(editor), nodeField, pressKeys("delete", 1))
		}, refusal.AnswerNotSupported},
		{"no chord", func(r *rig) *order {
			return r.onOwned(r.snapshot(editor), nodeField, holdKeys("hyper+x", 1))
		}, refusal.AnswerNotSupported},
		{"typing into a button", func(r *rig) *order {
			return r.order(r.snapshot(editor), nodeButton, typeText("x", 0)).by(seat, textual)
		}, refusal.AnswerElementNotActionable},
		{"pasting into a button", func(r *rig) *order {
			return r.order(r.snapshot(editor), nodeButton, paste("x")).by(seat, textual)
		}, refusal.AnswerElementNotActionable},
		{"a secure field", func(r *rig) *order {
			return r.order(r.snapshot(editor), nodeSecret, typeText("x", 0)).by(seat)
		}, refusal.AnswerElementSecure},
		{"an owned secure field", func(r *rig) *order {
			return r.onOwned(r.snapshot(editor), nodeSecret, typeText("x", 0))
		}, refusal.AnswerFocusChanged},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := typing()
			r := ready(t, desk)
			refusedAs(t, r.send(c.make(r)), c.want)
			if pressed(desk) != "" || len(desk.sent()) != 0 {
				t.Fatal("something was sent")
			}
		})
	}
}

// What ends a typing half way cuts it at a character and is told with the exact count
// (C7.4, C8.5, C12.2); nothing follows.
func TestTypingIsCutWithTheExactCount(t *testing.T) {
	const text = "ein längerer Text, größer als drei Stücke"
	cases := map[string]func(*rig, *fake){
		"input":      func(_ *rig, f *fake) { f.emit(Change{Kind: ChangeInput, Window: editor}) },
		"any input":  func(_ *rig, f *fake) { f.emit(Change{Kind: ChangeInput}) },
		"focus":      func(_ *rig, f *fake) { f.focus = "button" },
		"secure":     func(_ *rig, f *fake) { f.node("field").Secure = true },
		"disabled":   func(_ *rig, f *fake) { f.node("field").States = 0 },
		"stop":       func(r *rig, _ *fake) { r.e.endSession(testSession) },
		"cancel":     func(r *rig, _ *fake) { r.e.cancelDispatch(runningID{testSession, "d-1"}) },
		"halt":       func(r *rig, _ *fake) { r.e.halt() },
		"its target": func(_ *rig, f *fake) { f.node("field").Object = "field2" },
	}
	for name, happens := range cases {
		t.Run(name, func(t *testing.T) {
			desk := typing()
			r := ready(t, desk)
			desk.onPart = func(f *fake, at int) {
				if at == 2*chunk {
					happens(r, f)
				}
			}
			o := r.onOwned(r.snapshot(editor), nodeField, submitting(text, replaces))
			o.req.DispatchId = "d-1"
			resp := r.send(o)
			if resp.GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN || resp.GetCode() != cutBy(name) ||
				resp.GetDeliveredCount() != 2*chunk || resp.GetEffect() != commonv1.Effect_EFFECT_UNVERIFIABLE {
				t.Fatalf("got %v %v %d %v", resp.GetOutcome(), resp.GetCode(), resp.GetDeliveredCount(), resp.GetEffect())
			}
			if pressed(desk) != "ein |läng" {
				t.Fatalf("typed %q", pressed(desk))
			}
		})
	}
}

func TestInputElsewhereDoesNotCutATyping(t *testing.T) {
	desk := typing()
	r := ready(t, desk)
	desk.onPart = func(f *fake, _ int) {
		f.emit(Change{Kind: ChangeInput, Window: other})
		f.emit(Change{Kind: ChangeTree, PID: editor.PID})
	}
	confirmed(t, r.send(r.onOwned(r.snapshot(editor), nodeField, typeText("a longer text", 0))), byText)
}

// Return is pressed after the text's readback is complete, while it still stands there,
// and at no other time (C8.5).
func TestSubmitFollowsTheWholeTextOnly(t *testing.T) {
	cut := func(n int) func(f *fake) {
		return func(f *fake) {
			f.arrive = func(d Delivery) Delivery { d.Count = n; return d }
		}
	}
	cases := []struct {
		name    string
		bend    func(*fake)
		returns int
		outcome commonv1.Outcome
	}{
		{"whole", func(*fake) {}, 1, commonv1.Outcome_OUTCOME_OK},
		{"one character less", cut(2), 0, commonv1.Outcome_OUTCOME_UNKNOWN},
		{"stopped at the end", func(f *fake) {
			f.arrive = func(d Delivery) Delivery { d.Stopped = refusal.AnswerAborted; return d }
		}, 0, commonv1.Outcome_OUTCOME_UNKNOWN},
		{"unanswered", func(f *fake) {
			f.arrive = func(d Delivery) Delivery { d.Sent = Unanswered; return d }
		}, 0, commonv1.Outcome_OUTCOME_UNKNOWN},
		{"declined", func(f *fake) {
			f.arrive = func(d Delivery) Delivery { d.Sent = Declined; return d }
		}, 0, commonv1.Outcome_OUTCOME_FAILED},
		{"another text is there", func(f *fake) {
			f.point = func(f *fake, _ Input) { f.node("field").Value = "new!" }
		}, 0, commonv1.Outcome_OUTCOME_UNKNOWN},
		{"the text was not read in full", func(f *fake) {
			f.point = func(f *fake, _ Input) { f.node("field").ValueTruncated = true }
		}, 0, commonv1.Outcome_OUTCOME_UNKNOWN},
		{"changed after the readback", func(f *fake) {
			f.under = func(_ int, u *Under) {
				if u.Node.Value == "new" {
					u.Node.Value = "new, and the user's"
				}
			}
		}, 0, commonv1.Outcome_OUTCOME_UNKNOWN},
		{"focus lost after the readback", func(f *fake) {
			f.point = func(f *fake, in Input) { f.focus = "button" }
		}, 0, commonv1.Outcome_OUTCOME_UNKNOWN},
		{"input after the readback", func(f *fake) {
			f.point = func(f *fake, in Input) { f.emit(Change{Kind: ChangeInput, Window: editor}) }
		}, 0, commonv1.Outcome_OUTCOME_UNKNOWN},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := typing()
			r := ready(t, desk)
			o := r.onOwned(r.snapshot(editor), nodeField, submitting("new", replaces))
			desk.change(c.bend)
			resp := r.send(o)
			desk.mu.Lock()
			defer desk.mu.Unlock()
			returns := 0
			for _, k := range desk.keys {
				if k == "Return" {
					returns++
				}
			}
			if returns != c.returns || resp.GetOutcome() != c.outcome {
				t.Fatalf("Return was pressed %d times, got %v %v", returns, resp.GetOutcome(), resp.GetCode())
			}
			if c.returns == 1 {
				in := desk.inputs[1]
				if in.Focus || in.Object != "field" || in.Verb != commonv1.Verb_VERB_PRESS_KEYS ||
					!slices.Equal(in.Routes, []commonv1.Route{seat}) {
					t.Fatalf("sent %+v", in)
				}
				confirmed(t, resp, byText)
			}
		})
	}
}

// Without submit nothing is pressed, and what cannot be read back is never submitted.
func TestSubmitNeedsATextThatCanBeReadBack(t *testing.T) {
	terminal := func(f *fake) {
		n := f.node("field")
		n.Role, n.TakesText = commonv1.Role_ROLE_TERMINAL, false
	}
	long := func(f *fake) { f.node("field").ValueTruncated = true }
	cases := []struct {
		name string
		bend func(*fake)
		act  *commonv1.Act
		keys string
		want refusal.Answer
	}{
		{"no submit", func(*fake) {}, typeText("ls", replaces), "ls", 0},
		{"a terminal", terminal, typeText("ls", appends), "ls", 0},
		{"submit to a terminal", terminal, submitting("ls", appends), "", refusal.AnswerNotSupported},
		{"submit after a text that is cut", long, submitting("ls", appends), "", refusal.AnswerNoPermittedRoute},
		{"submit over a text that was cut", long, submitting("ls", replaces), "ls|Return", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := typing()
			c.bend(desk)
			r := ready(t, desk)
			o := r.onOwned(r.snapshot(editor), nodeField, c.act)
			desk.point = func(f *fake, _ Input) { f.node("field").ValueTruncated = false }
			resp := r.send(o)
			if resp.GetCode() != c.want || pressed(desk) != c.keys {
				t.Fatalf("got %v, pressed %q", resp.GetCode(), pressed(desk))
			}
			if c.name == "a terminal" && resp.GetEffect() != commonv1.Effect_EFFECT_UNVERIFIABLE {
				t.Fatal(resp.GetEffect())
			}
		})
	}
}

// A chord is confirmed by what it shows and never suspected of nothing (protocol.md).
func TestChords(t *testing.T) {
	cases := []struct {
		name   string
		act    *commonv1.Act
		does   func(*fake, Input)
		keys   string
		effect commonv1.Effect
	}{
		{"shows", pressKeys("ctrl+s", 0), relabel, "control+s", commonv1.Effect_EFFECT_CONFIRMED},
		{"shows nothing", pressKeys("ctrl+s", 1), nil, "control+s", commonv1.Effect_EFFECT_UNVERIFIABLE},
		{"three times", pressKeys("Down", 3), relabel, "Down|Down|Down", commonv1.Effect_EFFECT_CONFIRMED},
		{"held", holdKeys("shift+a", 1500), relabel, "shift+a", commonv1.Effect_EFFECT_CONFIRMED},
		{"held, shows nothing", holdKeys("a", 10), nil, "a", commonv1.Effect_EFFECT_UNVERIFIABLE},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			desk := typing()
			desk.point = c.does
			r := ready(t, desk)
			resp := r.send(r.onOwned(r.snapshot(editor), nodeField, c.act))
			if resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK || resp.GetEffect() != c.effect || pressed(desk) != c.keys {
				t.Fatalf("got %v %v %v, pressed %q", resp.GetCode(), resp.GetOutcome(), resp.GetEffect(), pressed(desk))
			}
			if in := desk.inputs[0]; c.name == "held" && in.Hold.Milliseconds() != 1500 || in.Focus {
				t.Fatalf("sent %+v", in)
			}
		})
	}
	t.Run("cut", func(t *testing.T) {
		desk := typing()
		desk.onPart = func(f *fake, at int) {
			if at == 2 {
				f.focus = "button"
			}
		}
		desk.point = relabel
		r := ready(t, desk)
		resp := r.send(r.onOwned(r.snapshot(editor), nodeField, pressKeys("Down", 5)))
		if resp.GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN || resp.GetDeliveredCount() != 2 {
			t.Fatalf("got %v %d", resp.GetOutcome(), resp.GetDeliveredCount())
		}
	})
	t.Run("fewer than asked for", func(t *testing.T) {
		desk := typing()
		desk.arrive = func(d Delivery) Delivery { d.Count = 4; return d }
		r := ready(t, desk)
		resp := r.send(r.onOwned(r.snapshot(editor), nodeField, pressKeys("Down", 5)))
		if resp.GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN || resp.GetDeliveredCount() != 4 {
			t.Fatalf("got %v %d", resp.GetOutcome(), resp.GetDeliveredCount())
		}
	})
}

// In a page only the page's own answer says what its text is (protocol.md).
func TestTextOfAPageIsConfirmedByThePage(t *testing.T) {
	for name, fromPage := range map[string]bool{"the page": true, "a mirror": false} {
		t.Run(name, func(t *testing.T) {
			desk := typing()
			n := desk.node("field")
			n.Renderer, n.FromPage = 7, fromPage
			r := ready(t, desk)
			resp := r.send(r.onOwned(r.snapshot(editor), nodeField, typeText("new", 0)))
			if fromPage {
				confirmed(t, resp, byPage)
			} else if resp.GetEffect() != commonv1.Effect_EFFECT_UNVERIFIABLE ||
				resp.GetOutcome() != commonv1.Outcome_OUTCOME_OK {
				t.Fatalf("got %v %v", resp.GetOutcome(), resp.GetEffect())
			}
		})
	}
}

// A platform that says "not sent" and counts what arrived contradicts itself: the worst
// case is told, and what was spent stays spent.
func TestNotSentButCountedIsUnknown(t *testing.T) {
	desk := typing()
	desk.arrive = func(d Delivery) Delivery { d.Sent = NotSent; return d }
	r := ready(t, desk)
	o := r.onOwned(r.snapshot(editor), nodeField, typeText("new", 0))
	resp := r.send(o)
	if resp.GetOutcome() != commonv1.Outcome_OUTCOME_UNKNOWN || !resp.GetMayStillHappen() {
		t.Fatalf("got %v", resp.GetOutcome())
	}
	o.req.DispatchId = "again"
	refusedAs(t, r.send(o), refusal.AnswerPermitSpent)
}

// Input into the window before an element act is sent makes it yield as well (C12.2).
func TestElementActYieldsToInput(t *testing.T) {
	for name, in := range map[string]Change{
		"its window": {Kind: ChangeInput, Window: editor}, "any window": {Kind: ChangeInput},
		"another window": {Kind: ChangeInput, Window: other},
	} {
		t.Run(name, func(t *testing.T) {
			desk := newFake()
			r := ready(t, desk)
			desk.beforeCheck = func() { desk.change(func(f *fake) { f.emit(in) }) }
			resp := r.act(r.snapshot(editor), nodeField, setValue("new"))
			if in.Window == other {
				confirmed(t, resp, byValue)
				return
			}
			refusedAs(t, resp, refusal.AnswerPhysicalInputActive)
			if len(desk.sent()) != 0 {
				t.Fatal("something was sent")
			}
		})
	}
}

// A delivery that waits is woken by the user's input, also where it asks nothing, and by
// the loss of what may have been input.
func TestInputWakesADelivery(t *testing.T) {
	for name, c := range map[string]Change{
		"its window": {Kind: ChangeInput, Window: editor}, "any": {Kind: ChangeInput}, "lost": {Kind: ChangeLost},
	} {
		t.Run(name, func(t *testing.T) {
			desk := typing()
			r := ready(t, desk)
			entered := make(chan struct{})
			desk.change(func(f *fake) {
				f.waiting = func(ctx context.Context) Delivery {
					close(entered)
					<-ctx.Done()
					return Refused(refusal.AnswerAborted)
				}
			})
			o := r.onOwned(r.snapshot(editor), nodeField, typeText("new", 0))
			got := make(chan *executorv1.DispatchResponse, 1)
			go func() { got <- r.send(o) }()
			<-entered
			desk.change(func(f *fake) { f.emit(c) })
			refusedAs(t, <-got, refusal.AnswerPhysicalInputActive)
		})
	}
}

// cutBy is what an act that was cut short is told with: the user's own input by its name.
func cutBy(name string) refusal.Answer {
	if name == "input" || name == "any input" {
		return refusal.AnswerPhysicalInputActive
	}
	return refusal.AnswerOutcomeUnknown
}
