package policy

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
	"fairlead.dev/services/policy/internal/audit"
	"fairlead.dev/services/shared/permit"
	"fairlead.dev/services/shared/telemetry"
)

var update = flag.Bool("update", false, "write the golden files")

func dump(b *bench) string {
	var s strings.Builder
	for _, e := range b.rec.Entries(0, 4096) {
		fmt.Fprintf(&s, "%#v\n", e.Record)
	}
	return s.String()
}

func verifyRecord(t *testing.T, b *bench) {
	t.Helper()
	if err := audit.Verify(b.rec.Entries(0, 4096), audit.Hash{}); err != nil {
		t.Error(err)
	}
}

func TestNewChecksWhatItIsGiven(t *testing.T) {
	good := Config{Key: ed25519.NewKeyFromSeed(seed), Generation: 1, Log: telemetry.Discard()}
	if _, err := New(good); err != nil {
		t.Errorf("New = %v", err)
	}
	wrongHalf := bytes.Clone(good.Key)
	wrongHalf[40]++
	for name, change := range map[string]func(*Config){
		"no key":                  func(c *Config) { c.Key = nil },
		"a short key":             func(c *Config) { c.Key = c.Key[:32] },
		"a key of unequal halves": func(c *Config) { c.Key = wrongHalf },
		"no generation":           func(c *Config) { c.Generation = 0 },
		"no logger":               func(c *Config) { c.Log = nil },
	} {
		cfg := good
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("New took %s", name)
		}
	}
}

func TestGenerationOnlyGrows(t *testing.T) {
	dir := t.TempDir()
	now := time.UnixMilli(1_700_000_000_000)
	first := NextGeneration(dir, now)
	if first != 1_700_000_000_000 {
		t.Errorf("the first is %d", first)
	}
	if next := NextGeneration(dir, now); next != first+1 {
		t.Errorf("in the same millisecond: %d after %d", next, first)
	}
	if next := NextGeneration(dir, now.Add(-time.Hour)); next != first+2 {
		t.Errorf("after the clock was set back: %d", next)
	}
	if next := NextGeneration(dir, now.Add(time.Hour)); next != 1_700_003_600_000 {
		t.Errorf("later: %d", next)
	}
	if err := os.WriteFile(filepath.Join(dir, generationFile), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, "", filepath.Join(dir, "none")} {
		if g := NextGeneration(d, now); g != first {
			t.Errorf("without a usable state directory: %d", g)
		}
	}
}

// The bytes of a permit are the contract between policy and every executor. The vectors
// hold key, claims and signature, so that another implementation can check itself.
func TestPermitVectors(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	for _, c := range []commonv1.LeaseClass{metadata, screenshot, semantic, keyboard, pointer} {
		b.lease(t, c, app(calc))
	}
	win := window(windowIn(calc), false)
	launch := click(verb(launchApp), facts(func(f *policyv1.ActFacts) { f.Window, f.ElementDigest = nil, nil }))
	page := click(onPage)
	b.sign = fixedID(b.sign)
	for name, p := range map[string]*commonv1.Permit{
		"act_click":       b.decide(t, click()).GetPermit(),
		"act_click_page":  b.decide(t, page).GetPermit(),
		"act_type_text":   b.decide(t, click(verb(typeText))).GetPermit(),
		"act_launch":      b.decide(t, launch).GetPermit(),
		"read_desk":       b.read(t, metadata, desk()).GetPermit(),
		"read_app":        b.read(t, metadata, app(calc)).GetPermit(),
		"read_screenshot": b.read(t, screenshot, win).GetPermit(),
	} {
		t.Run(name, func(t *testing.T) {
			b.claims(t, p)
			got := fmt.Sprintf("public %s\nclaims %s\nsignature %s\n", hex.EncodeToString(b.public),
				hex.EncodeToString(p.GetClaims()), hex.EncodeToString(p.GetSignature()))
			path := filepath.Join("testdata", "permits", name+".txt")
			if *update {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil || string(want) != got {
				t.Errorf("%s is not what is signed; see the difference with -update (%v)", path, err)
			}
		})
	}
}

// fixedID signs the same claims with the same id every time.
func fixedID(sign func(*commonv1.PermitClaims) *commonv1.Permit) func(*commonv1.PermitClaims) *commonv1.Permit {
	return func(c *commonv1.PermitClaims) *commonv1.Permit {
		c.PermitId = bytes.Repeat([]byte{1}, 16)
		return sign(c)
	}
}

func TestChangedPermitDoesNotVerify(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	b.lease(t, semantic, app(calc))
	p := b.decide(t, click()).GetPermit()
	for i := range p.GetClaims() {
		p.Claims[i] ^= 1
		if _, err := permit.Verify(b.public, p); err == nil {
			t.Fatalf("byte %d can be changed", i)
		}
		p.Claims[i] ^= 1
	}
	b.claims(t, p)
}

func TestEveryPermitHasItsOwnID(t *testing.T) {
	b := newBench(t, permitAll)
	b.begin(t, "s")
	b.lease(t, semantic, app(calc))
	seen := map[string]bool{}
	for range 32 {
		id := string(b.claims(t, b.decide(t, click()).GetPermit()).GetPermitId())
		if seen[id] {
			t.Fatal("an id came twice")
		}
		seen[id] = true
	}
	verifyRecord(t, b)
}
