package rules

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPlaceHasOneNameForOnePlace(t *testing.T) {
	tests := []struct{ given, want string }{
		{"", ""},
		{"https://shop.example", "https://shop.example:443"},
		{"https://shop.example:443", "https://shop.example:443"},
		{"http://shop.example", "http://shop.example:80"},
		{"http://shop.example:443", "http://shop.example:443"},
		{"HTTPS://Shop.Example", "https://shop.example:443"},
		{"https://shop.example.", "https://shop.example:443"},
		{"https://a_b-c.example:8443", "https://a_b-c.example:8443"},
		{"http://localhost:3000", "http://localhost:3000"},
		{"https://xn--bcher-kva.example", "https://xn--bcher-kva.example:443"},
		{"http://127.0.0.1", "http://127.0.0.1:80"},
		{"http://127.0.0.1.:8080", "http://127.0.0.1:8080"},
		{"http://[::1]:9222", "http://[::1]:9222"},
		{"http://[0:0::1]", "http://[::1]:80"},
		{"http://[2001:DB8::1]", "http://[2001:db8::1]:80"},
		{"http://[::ffff:127.0.0.1]", "http://127.0.0.1:80"},
		{"https://4chan.example7", "https://4chan.example7:443"},
		{"about:blank", Blank},
		{"About:Blank", Blank},
		{"about:config", "about:"},
		{"file:///home/u", "file:"},
		{"FILE:", "file:"},
		{"chrome://settings", "chrome:"},
		{"javascript:alert(1)", "javascript:"},
		{"view-source:https://shop.example", "view-source:"},
		{"ftp://shop.example", "ftp:"},
		{"x-app+1.0:open", "x-app+1.0:"},
	}
	for _, tt := range tests {
		if got, ok := Place(tt.given); !ok || got != tt.want {
			t.Errorf("Place(%q) = %q, %v; want %q", tt.given, got, ok, tt.want)
		}
	}
}

func TestTextThatNamesNoPlaceIsNeverRepaired(t *testing.T) {
	for _, text := range []string{
		"shop.example", "//shop.example", "://shop.example", ":", "1http://shop.example", "ht tp://shop.example",
		" https://shop.example", "https://shop.example ", "https:shop.example", "https:/shop.example", "https://",
		"https://:443", "https://shop.example/", "https://shop.example/x", "https://shop.example?x", "https://shop.example#x",
		"https://u@shop.example", "https://u:p@shop.example", "https://shop.example:", "https://shop.example:0",
		"https://shop.example:0443", "https://shop.example:65536", "https://shop.example:x", "https://shop.example:+1",
		"https://shop..example", "https://.shop.example", "https://shop.example..", "https://shop%2eexample",
		"https://bücher.example", "https://ban\u212a.example", "java\tscript:x", "\u212aile:x",
		"http://2130706433", "http://0x7f.1", "http://0x7f000001", "http://127.1", "http://0177.0.0.1", "http://127.0.0.01",
		"http://1.2.3.4.5", "http://shop.example.0x", "http://shop.example.09", "http://[::1", "http://::1", "http://[::1]x",
		"http://[::1%25eth0]", "http://[::1%eth0]", "http://[127.0.0.1]", "http://[]", "http://[shop.example]",
		"https://" + strings.Repeat("a", 64) + ".example", "https://" + strings.Repeat("a.", 127) + "example",
		"https://shop.example\\x", "https://shop.example\n", "https://shop.example\x00", "https://*.example",
	} {
		if got, ok := Place(text); ok {
			t.Errorf("Place(%q) = %q", text, got)
		}
	}
}

func TestPlaceOfAPlaceIsThatPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.String(),
			rapid.StringMatching(`[hH]ttps?://[a-zA-Z0-9.\[\]:-]{1,20}(:[0-9]{1,5})?`),
			rapid.StringMatching(`http://\[?[0-9a-fA-F:.x]{1,20}\]?(:[0-9]{1,5})?`),
		).Draw(t, "text")
		place, ok := Place(text)
		if !ok {
			return
		}
		if again, ok := Place(place); !ok || again != place {
			t.Fatalf("Place(%q) = %q, and of that %q, %v", text, place, again, ok)
		}
		if len(place) > len(text)+len(":443") {
			t.Fatalf("Place(%q) = %q", text, place)
		}
	})
}

func TestFloorOfDestinationsHoldsWhateverTheBundleSays(t *testing.T) {
	r := mustParse(t, permitAll)
	for scheme := range blockedSchemes {
		for _, form := range []string{scheme + ":", scheme + "://", scheme + "://x", strings.ToUpper(scheme) + ":x"} {
			place, ok := Place(form)
			v := r.Decide(Question{Action: Act("click_element"), App: "a.B", Destination: place})
			if !ok || v != (Verdict{Rule: FloorBlocked, Blocked: true, Forbidden: true}) {
				t.Errorf("%q = %+v", form, v)
			}
		}
	}
	for _, form := range []string{"ftp://shop.example", "blob:https://shop.example", "mailto:", "ws://shop.example", "slack:"} {
		place, ok := Place(form)
		v := r.Decide(Question{Action: Act("click_element"), App: "a.B", Destination: place})
		if !ok || v != (Verdict{Rule: FloorUnsupported, Forbidden: true}) {
			t.Errorf("%q = %+v", form, v)
		}
	}
	for _, place := range []string{"", Blank, "http://localhost:3000", "https://shop.example:443"} {
		if v := r.Decide(Question{Action: Act("click_element"), App: "a.B", Destination: place}); !v.Allowed {
			t.Errorf("%q = %+v", place, v)
		}
	}
}

func TestFloorOfAppsComesBeforeThatOfDestinations(t *testing.T) {
	v := Builtin(words).Decide(Question{Action: Act("click_element"), App: "org.keepassxc.KeePassXC", Destination: "file:"})
	if v.Rule != FloorSensitive {
		t.Errorf("Decide = %+v", v)
	}
}

func TestARuleThatBlocksADestinationIsHeardBeforeThoseThatForbid(t *testing.T) {
	const (
		no    = `@id("no") forbid (principal, action, resource); `
		mine  = `@id("mine") @sensitive forbid (principal, action, resource); `
		bank  = `@id("bank") @code("BLOCKED_URL") forbid (principal, action, resource) when { context.destination like "*bank*" }; `
		other = `@id("other") @code("BLOCKED_URL") forbid (principal, action, resource); `
		bad   = `@id("bad") @code("BLOCKED_URL") forbid (principal, action, resource) when { context.nothing }; `
	)
	blocked := func(rule string) Verdict { return Verdict{Rule: rule, Forbidden: true, Blocked: true} }
	tests := []struct {
		name, bundle, destination string
		want                      Verdict
	}{
		{"it alone", permitAll + bank, "https://bank.example:443", blocked("bank")},
		{"after one that forbids", permitAll + no + bank, "https://bank.example:443", blocked("bank")},
		{"after one that makes sensitive", mine + permitAll + bank, "https://bank.example:443", blocked("bank")},
		{"the first of two", permitAll + other + bank, "https://bank.example:443", blocked("other")},
		{"one that cannot be evaluated", permitAll + no + bad, "https://shop.example:443", blocked("bad")},
		{"another place", permitAll + bank, "https://shop.example:443", Verdict{Allowed: true, Rule: "all"}},
		{"no place", permitAll + other, "", Verdict{Rule: "other", Forbidden: true}},
		{"no place, after one that forbids", no + other, "", Verdict{Rule: "no", Forbidden: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := mustParse(t, tt.bundle)
			for range 8 {
				q := Question{Action: Act("click_element"), App: "a.B", Destination: tt.destination}
				if got := r.Decide(q); got != tt.want {
					t.Fatalf("Decide = %+v, want %+v", got, tt.want)
				}
			}
		})
	}
}

func FuzzPlace(f *testing.F) {
	for _, s := range []string{"https://shop.example:443", "http://[::1]:80", "about:blank", "file://", "http://0x7f.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		place, ok := Place(text)
		if !ok {
			return
		}
		if again, ok := Place(place); !ok || again != place {
			t.Fatalf("Place(%q) = %q, and of that %q, %v", text, place, again, ok)
		}
		if v := PlaceOnFloor(place); v.Allowed && place != "" && place != Blank && !strings.HasPrefix(place, "http") {
			t.Fatalf("%q is a place of the web", place)
		}
	})
}
