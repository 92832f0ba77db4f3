package atspi

import (
	"context"
	"math"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/godbus/dbus/v5"
)

const (
	// textActMax bounds the characters that one act sends.
	textActMax = 100_000
	// readTextMax bounds ReadText.
	readTextMax = 100_000
)

// ready looks at the element right before an act: it must exist, not be a secure field, and offer the interface.
func (c *Client) ready(ctx context.Context, ref Ref, need Interfaces) (Node, Toolkit, error) {
	if !ref.valid() {
		return Node{}, ToolkitUnknown, ErrInvalid
	}
	n, kit, err := c.look(ctx, ref)
	switch {
	case err != nil:
		return Node{}, kit, err
	case n.States.Has(StateSecure):
		return Node{}, kit, ErrSecure
	case !n.Interfaces.Has(need):
		return Node{}, kit, ErrUnsupported
	}
	return n, kit, nil
}

// around reads what an element is by where it lies, as spread does in a walk: whether it is a secure field or the text
// inside one, and whether it is the button of a popup. Most elements need no question for that.
func (c *Client) around(ctx context.Context, kit Toolkit, n *Node) (State, error) {
	var out State
	text := n.Interfaces.Has(HasText) || n.Interfaces.Has(HasValue)
	button := n.Role == RoleButton || n.Role == RoleToggleButton
	if !n.States.Has(StateSecure) && (text || button && kit == ToolkitGTK4) {
		parent, err := c.kinAt(ctx, kit, get(n.Ref, "Accessible", "Parent"))
		if err != nil {
			return 0, err
		}
		if text && parent.role == RolePasswordText {
			out |= StateSecure
		}
		if opensPopup(kit, n.Role, parent, kin{}) {
			out |= StateHasPopup
		}
	}
	if button && kit == ToolkitGTK3 && n.Children > 0 {
		child, err := c.kinAt(ctx, kit, method(n.Ref, "Accessible.GetChildAtIndex", int32(0)))
		if err != nil {
			return 0, err
		}
		if opensPopup(kit, n.Role, kin{}, child) {
			out |= StateHasPopup
		}
	}
	return out, nil
}

// kinAt is the element that a request answers with, the zero value when there is none.
func (c *Client) kinAt(ctx context.Context, kit Toolkit, r request) (kin, error) {
	a := c.one(ctx, aliveTime, r)
	if a.err != nil {
		return kin{}, basic(a.err)
	}
	if len(a.body) != 1 {
		return kin{}, ErrProtocol
	}
	ref, ok := asRef(a.body[0])
	if !ok || !ref.valid() {
		return kin{}, nil
	}
	got := c.batch(ctx, aliveTime, []request{method(ref, "Accessible.GetRole"), method(ref, "Accessible.GetState")})
	for _, a := range got {
		if a.err != nil {
			return kin{}, basic(a.err)
		}
	}
	number, ok := asUint(got[0].body)
	if !ok || len(got[1].body) != 1 {
		return kin{}, ErrProtocol
	}
	bits, ok := asBits(got[1].body[0])
	if !ok {
		return kin{}, ErrProtocol
	}
	role := roleOf(number)
	return kin{role: role, states: statesOf(kit, role, bits)}, nil
}

// prepareTime bounds what comes before a send.
const prepareTime = 2 * time.Second

// act is the shape of all acts: a bounded look, then one send.
func (c *Client) act(ctx context.Context, ref Ref, need Interfaces,
	make func(context.Context, Node, Toolkit) (request, error), accepted func([]any) bool,
) (Sent, error) {
	look, cancel := context.WithTimeoutCause(ctx, prepareTime, ErrUnresponsive)
	defer cancel()
	// What was sent to a stopped application happens when it continues, so nothing is sent to one (C7.7); the look
	// is the probe.
	n, kit, err := c.ready(look, ref, need)
	if err != nil {
		return SentNothing, err
	}
	r, err := make(look, n, kit)
	if err != nil {
		return SentNothing, err
	}
	return c.send(ctx, r, accepted)
}

// DoAction performs the named action of the element. The index that AT-SPI wants is found by the plain names of this
// very moment. ErrUnsupported says that the element does not offer the action.
func (c *Client) DoAction(ctx context.Context, ref Ref, action Action) (Sent, error) {
	if action == ActionNone || action >= actionEnd {
		return SentNothing, ErrInvalid
	}
	return c.act(ctx, ref, HasAction, func(ctx context.Context, n Node, kit Toolkit) (request, error) {
		names, err := c.plainNames(ctx, ref)
		if err != nil {
			return request{}, err
		}
		r := resolve(kit, n.Role, n.States, names, actionsMax)
		for k, a := range r.actions {
			if a == action {
				return method(ref, "Action.DoAction", int32(r.index[k])), nil
			}
		}
		return request{}, ErrUnsupported
	}, saidYes)
}

// plainMax bounds how many actions of one element are asked for their names (GTK4 lists whole action groups).
const plainMax = 64

// plainNames reads the untranslated names of all actions of an element.
func (c *Client) plainNames(ctx context.Context, ref Ref) ([]string, error) {
	a := c.one(ctx, callTime, get(ref, "Action", "NActions"))
	if a.err != nil {
		return nil, optional(a.err)
	}
	count, ok := asInt(a.body)
	if !ok || count < 0 {
		return nil, ErrProtocol
	}
	count = min(count, plainMax)
	requests := make([]request, count)
	for k := range requests {
		requests[k] = method(ref, "Action.GetName", int32(k))
	}
	names := make([]string, count)
	for k, a := range c.batch(ctx, callTime, requests) {
		if a.err != nil {
			return nil, optional(a.err)
		}
		if names[k], ok = asString(a.body); !ok {
			return nil, ErrProtocol
		}
	}
	return names, nil
}

// SetValue sets the element's number. Toolkits clamp and round it silently: read it back.
func (c *Client) SetValue(ctx context.Context, ref Ref, value float64) (Sent, error) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return SentNothing, ErrInvalid
	}
	return c.act(ctx, ref, HasValue, func(context.Context, Node, Toolkit) (request, error) {
		return request{
			ref: ref, method: properties + "Set",
			args: []any{spi + "Value", "CurrentValue", dbus.MakeVariant(value)},
		}, nil
	}, saidAnything)
}

// SetText replaces the whole text of the element. A spin button takes it over only with ActionActivate.
func (c *Client) SetText(ctx context.Context, ref Ref, text string) (Sent, error) {
	if !sendable(text) {
		return SentNothing, ErrInvalid
	}
	return c.act(ctx, ref, HasEditableText, func(_ context.Context, n Node, _ Toolkit) (request, error) {
		if !writable(n) {
			return request{}, ErrUnsupported
		}
		return method(ref, "EditableText.SetTextContents", text), nil
	}, saidYes)
}

// InsertText inserts text before the character at pos, which must not lie behind the end of the text.
func (c *Client) InsertText(ctx context.Context, ref Ref, pos int, text string) (Sent, error) {
	if !sendable(text) || text == "" || pos < 0 {
		return SentNothing, ErrInvalid
	}
	return c.act(ctx, ref, HasEditableText|HasText, func(ctx context.Context, n Node, kit Toolkit) (request, error) {
		size, ok := insertLen(kit, text)
		if !writable(n) || !ok {
			return request{}, ErrUnsupported
		}
		count, err := c.textLen(ctx, ref)
		if err != nil {
			return request{}, err
		}
		if pos > count {
			return request{}, ErrInvalid
		}
		return method(ref, "EditableText.InsertText", int32(pos), text, int32(size)), nil
	}, saidYes)
}

// insertLen is the length argument of InsertText: GTK reads that many bytes, Qt resizes its UTF-16 string to it. Where
// the unit is not known, only text for which it does not matter can be inserted.
func insertLen(kit Toolkit, text string) (int, bool) {
	units := len(utf16.Encode([]rune(text)))
	switch kit {
	case ToolkitGTK3, ToolkitGTK4, ToolkitLibreOffice:
		return len(text), true
	case ToolkitQt:
		return units, true
	case ToolkitChromium, ToolkitUnknown:
	}
	return units, units == len(text)
}

// writable says whether the application lets its user change the text.
func writable(n Node) bool {
	return n.States.Has(StateEditable) && !n.States.Has(StateReadOnly)
}

// sendable says whether D-Bus can carry the text within our limit.
func sendable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0) && utf8.RuneCountInString(text) <= textActMax
}

// SelectChild selects the child with this index of an element with a selection, such as a tab list. In a combo box it
// is the position in its list, although the element's only child may be a menu.
func (c *Client) SelectChild(ctx context.Context, ref Ref, child int) (Sent, error) {
	if child < 0 || child > childrenMax {
		return SentNothing, ErrInvalid
	}
	return c.act(ctx, ref, HasSelection, func(_ context.Context, n Node, _ Toolkit) (request, error) {
		if n.Role != RoleComboBox && n.Children >= 0 && child >= n.Children {
			return request{}, ErrInvalid
		}
		return method(ref, "Selection.SelectChild", int32(child)), nil
	}, saidYes)
}
