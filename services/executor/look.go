package executor

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"slices"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor/internal/digest"
	"fairlead.dev/services/executor/internal/picture"
	"fairlead.dev/services/shared/ident"
)

// look is what the executor remembers of one snapshot: enough to check any act on it
// without believing anything that comes back from outside. It never changes.
type look struct {
	window Window
	nodes  []Node
	depths []int32
	// digests of the elements, 16 bytes each.
	digests []byte
	// focused is the one element shown focused, -1 for none (C2.3).
	focused int
	// prefix begins the tokens of this look and of no other.
	prefix [12]byte
	// content covers all that is shown; still covers all but the focus.
	content, still ident.Digest
	limits         TreeLimits
	quality        commonv1.TreeQuality
	truncations    []Truncation
	// wide says that the read covered every window of the app.
	wide bool
	// shown is how many characters of each text travelled.
	shown int
	// pictured says that a picture of this scale went with it, of which tiles remember
	// what they showed; points bind to no look without (C6.1).
	pictured bool
	scale    float64
	tiles    picture.Tiles
}

const (
	digestSize = len(ident.Digest{})
	tokenSize  = len(ident.Token{})
	objectSize = 8
)

// record makes a look of a window and its tree. The same function serves every
// snapshot, also the one after an act (C0.8).
func (e *Executor) record(w *Window, t *Tree, limits TreeLimits) *look {
	l := &look{window: *w, nodes: t.Nodes, limits: limits, quality: t.Quality, truncations: t.Truncations}
	if over := len(l.nodes) - limits.Elements; over > 0 {
		l.nodes = l.nodes[:limits.Elements:limits.Elements]
		l.truncations = append(slices.Clip(l.truncations), Truncation{
			Kind: commonv1.TruncationKind_TRUNCATION_KIND_ELEMENTS, Missing: over,
		})
	}
	if _, err := rand.Read(l.prefix[:]); err != nil {
		panic("executor: the system has no randomness")
	}
	n := len(l.nodes)
	l.depths, l.digests, l.focused = make([]int32, n), make([]byte, 0, n*digestSize), l.oneFocused()
	h := e.keys.Hasher()
	for i := range l.nodes {
		if p := l.parent(i); p >= 0 {
			l.depths[i] = l.depths[p] + 1
		}
		d := l.digestOf(h, i, &l.nodes[i])
		l.digests = append(l.digests, d[:]...)
	}
	l.content, l.still = l.whole(h)
	return l
}

// oneFocused is the element shown focused; two claimants are none (C2.3).
func (l *look) oneFocused() int {
	found := -1
	for i := range l.nodes {
		if !l.nodes[i].States.Has(commonv1.ElementState_ELEMENT_STATE_FOCUSED) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// parent is the index of the parent, -1 for the root and for anything out of order.
func (l *look) parent(i int) int {
	if p := l.nodes[i].Parent; p < i {
		return max(p, -1)
	}
	return -1
}

// digestOf is the content digest of an element as it is read now, in the place that
// the look shows it in (C6.2).
func (l *look) digestOf(h *digest.Hasher, i int, now *Node) ident.Digest {
	e := digest.Element{
		Role: int32(now.Role), Subrole: now.Subrole, Identifier: now.Identifier,
		Name: now.Name, Description: now.Description,
		Secure: now.Secure, Enabled: now.States.Has(commonv1.ElementState_ELEMENT_STATE_ENABLED),
		Actions: actionBits(now.Actions), Editable: editable(now), Value: now.Value,
	}
	for p := l.parent(i); p >= 0 && e.Depth < digest.AncestorsMax; p = l.parent(p) {
		e.Ancestors[e.Depth] = int32(l.nodes[p].Role)
		e.Depth++
	}
	return h.Element(&e)
}

func actionBits(actions []commonv1.ElementAction) uint32 {
	var b uint32
	for _, a := range actions {
		b |= 1 << (uint32(a) & 31)
	}
	return b
}

// editable reports whether the user can change the value.
func editable(n *Node) bool {
	if n.TakesText || n.TakesNumber || n.States.Has(commonv1.ElementState_ELEMENT_STATE_EDITABLE) {
		return true
	}
	switch n.Role {
	case commonv1.Role_ROLE_COMBO_BOX, commonv1.Role_ROLE_SLIDER, commonv1.Role_ROLE_SPIN_BUTTON,
		commonv1.Role_ROLE_SCROLL_BAR, commonv1.Role_ROLE_SPLITTER, commonv1.Role_ROLE_TERMINAL:
		return true
	default:
		return false
	}
}

// whole is the digest of everything shown, and of everything but the focus.
func (l *look) whole(h *digest.Hasher) (content, still ident.Digest) {
	h.Begin()
	for i := range l.nodes {
		n := &l.nodes[i]
		s := digest.Shown{
			Digest: l.digest(i), Depth: int(l.depths[i]), States: uint32(n.States &^ focusedBit), Value: n.Value,
			X: n.Bounds.X, Y: n.Bounds.Y, W: n.Bounds.W, H: n.Bounds.H, Surface: l.surfaceIndex(i),
		}
		h.Add(&s)
	}
	still = h.End()
	h.Begin()
	h.Add(&digest.Shown{Digest: still, Depth: l.focused + 1})
	return h.End(), still
}

const focusedBit = States(1) << States(commonv1.ElementState_ELEMENT_STATE_FOCUSED)

func (l *look) digest(i int) ident.Digest {
	return ident.Digest(l.digests[i*digestSize : (i+1)*digestSize])
}

// states are the states as shown: at most one element is focused.
func (l *look) states(i int) States {
	if i == l.focused {
		return l.nodes[i].States
	}
	return l.nodes[i].States &^ focusedBit
}

func (l *look) surfaceIndex(i int) int {
	if s := l.nodes[i].Surface; s >= 0 && s < min(len(l.window.Surfaces), surfacesMax) {
		return s
	}
	return 0
}

// surfaceID is the surface an element was seen on.
func (l *look) surfaceID(i int) uint64 {
	if len(l.window.Surfaces) == 0 {
		return l.window.Identity.ID
	}
	return l.window.Surfaces[l.surfaceIndex(i)].ID
}

// token names element i in this look.
func (l *look) token(i int) ident.Token {
	var t ident.Token
	copy(t[:], l.prefix[:])
	binary.BigEndian.PutUint32(t[len(l.prefix):], uint32(i))
	return t
}

// index is the element a token names, false when it names none of this look.
func (l *look) index(token []byte) (int, bool) {
	if len(token) != tokenSize || subtle.ConstantTimeCompare(token[:len(l.prefix)], l.prefix[:]) == 0 {
		return 0, false
	}
	i := binary.BigEndian.Uint32(token[len(l.prefix):])
	return int(i), int64(i) < int64(len(l.nodes))
}

// complete reports whether the tree is known to list everything (C2.10). Containers
// that only list what is in view hide nothing that a picture could show.
func (l *look) complete() bool {
	if l.quality != commonv1.TreeQuality_TREE_QUALITY_USABLE {
		return false
	}
	for _, t := range l.truncations {
		if t.Kind != commonv1.TruncationKind_TRUNCATION_KIND_VIRTUAL {
			return false
		}
	}
	return true
}

// sameScene reports whether geometry and content of two looks are the same (C2.1).
func (l *look) sameScene(o *look) bool {
	return l.content == o.content && l.window.Bounds == o.window.Bounds && l.window.Scale == o.window.Scale &&
		l.window.Hidden == o.window.Hidden && slices.Equal(l.window.Surfaces, o.window.Surfaces)
}

// at finds an object in the look, -1 when it is not there.
func (l *look) at(o Object, renderer uint64) int {
	for i := range l.nodes {
		if l.nodes[i].Object == o && l.nodes[i].Renderer == renderer {
			return i
		}
	}
	return -1
}

// weight is no less than the bytes that the elements take in a message.
func (l *look) weight(text int) int {
	const (
		fixed   = 256 // numbers, place, states, actions, token, digest, object
		longest = 4   // bytes of a character
	)
	sum := 0
	for i := range l.nodes {
		n := &l.nodes[i]
		sum += fixed
		for _, s := range [...]string{n.Name, n.Description, n.Identifier, n.Value} {
			sum += min(len(s), longest*text)
		}
	}
	return sum
}
