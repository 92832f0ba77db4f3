package rules

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

var words = Vocabulary{
	Classes: []string{"metadata_read", "screenshot_read", "semantic_mutation", "keyboard_mutation", "pointer_mutation"},
	Verbs: []string{
		"click_element", "set_value", "type_text", "set_checked", "set_expanded", "select_option", "perform",
		"focus_element", "launch_app", "press_keys", "close_window",
	},
	Routes: []string{"accessibility_action", "agent_seat"},
}

const permitAll = `@id("all") permit (principal, action, resource);`

func mustParse(t *testing.T, bundle string) *Rules {
	t.Helper()
	r, err := Parse([]byte(bundle), words)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return r
}

func TestFloorRefusesEverySensitiveAppWhateverTheBundleSays(t *testing.T) {
	r := mustParse(t, permitAll)
	for id := range sensitiveIDs {
		for _, form := range []string{id, strings.ToUpper(id), id + ".desktop"} {
			refusesSensitive(t, r, form)
		}
	}
	for name := range sensitiveNames {
		for _, form := range []string{
			name, "exe:/usr/bin/" + name, "exe:/opt/" + strings.ToUpper(name), "exe:/home/u/" + name + ".AppImage",
			"exe:/usr/bin/python3 /usr/bin/" + name, "exe:/usr/bin/python3:/usr/share/" + name,
			"exe:/usr/bin/python3+/usr/share/" + name, name + ".desktop", name + ".exe",
		} {
			refusesSensitive(t, r, form)
		}
	}
}

func TestFloorNamesTheAppsOfTheProduct(t *testing.T) {
	r := mustParse(t, permitAll)
	for _, app := range []string{
		"org.gnome.seahorse.Application", "org.keepassxc.KeePassXC", "exe:/usr/bin/seahorse",
		"com.apple.securityagent", "com.apple.loginwindow", "com.apple.passwords", "com.apple.keychainaccess",
		"securityagent", "logonui.exe", "credentialuibroker.exe", "consent.exe", "lockapp.exe",
		"1password", "1password.exe", "bitwarden", "bitwarden.exe", "keepass", "keepass.exe", "keepassxc",
		"keepassxc.exe", "com.1password.1password", "com.bitwarden.desktop",
		"exe:/usr/lib/policykit-1-gnome/polkit-gnome-authentication-agent-1", "exe:/usr/bin/i3lock",
		"fairlead", "exe:/usr/local/bin/fairlead", "exe:/usr/lib/fairlead/fairlead-host", "fairlead-policy",
		"exe:/x/fairlead-executor-linux", "dev.fairlead.Panel", "dev.fairlead",
	} {
		refusesSensitive(t, r, app)
	}
}

func refusesSensitive(t *testing.T, r *Rules, app string) {
	t.Helper()
	for _, action := range []string{
		Lease("metadata_read"), Lease("screenshot_read"), Act("click_element"), Act("launch_app"), PicturesRemote,
	} {
		v := r.Decide(Question{Action: action, App: app})
		if v.Allowed || !v.Sensitive || v.Rule != FloorSensitive {
			t.Fatalf("%s on %q = %+v, want the floor's refusal", action, app, v)
		}
	}
}

func TestFloorRefusesAppsTheSystemCannotName(t *testing.T) {
	r := mustParse(t, permitAll)
	for _, app := range []string{"unknown", "Unknown"} {
		if v := r.Decide(Question{Action: Lease("metadata_read"), App: app}); v.Allowed || v.Rule != FloorUnknown {
			t.Errorf("%q = %+v, want the floor's refusal", app, v)
		}
	}
	if v := OnFloor(""); v.Allowed {
		t.Error("an app without an id passes the floor")
	}
}

func TestFloorLeavesOtherAppsAlone(t *testing.T) {
	r := mustParse(t, permitAll)
	for _, app := range []string{
		"org.gnome.Calculator", "fairlead.virtual.calculator", "fairlead.virtual.form", "fairlead.virtual.notes",
		"org.xfce.mousepad", "exe:/usr/bin/zenity", "com.example.password-hints", "exe:/usr/bin/keepassxc-themes-viewer",
		"exe:/home/fairlead/bin/editor",
	} {
		if v := r.Decide(Question{Action: Act("click_element"), App: app}); !v.Allowed {
			t.Errorf("%q = %+v, want allowed", app, v)
		}
	}
}

func TestDeskMayOnlyBeListed(t *testing.T) {
	r := mustParse(t, permitAll)
	for _, action := range []string{
		Lease("screenshot_read"), Lease("semantic_mutation"), Act("click_element"), PicturesRemote,
	} {
		if v := r.Decide(Question{Action: action}); v.Allowed || v.Rule != FloorDesk {
			t.Errorf("%s on the desk = %+v", action, v)
		}
	}
	if v := r.Decide(Question{Action: Lease(MetadataRead)}); !v.Allowed {
		t.Errorf("listing = %+v", v)
	}
}

func TestBuiltinRulesAllowListingAndNothingElse(t *testing.T) {
	r := Builtin(words)
	if !r.Builtin() || r.Digest() == ([32]byte{}) {
		t.Error("the built-in rules do not say what they are")
	}
	if v := r.Decide(Question{Action: Lease(MetadataRead)}); !v.Allowed || v.Rule != "builtin:desk-listing" {
		t.Errorf("listing = %+v", v)
	}
	for _, c := range words.Classes {
		if v := r.Decide(Question{Action: Lease(c), App: "org.gnome.Calculator"}); v.Allowed || v.Rule != NoRule {
			t.Errorf("%s = %+v, want no rule", c, v)
		}
	}
}

func TestDecide(t *testing.T) {
	q := Question{UID: 1000, Action: Act("click_element"), App: "a.B", Class: "semantic_mutation", Role: "button"}
	tests := []struct {
		name, bundle string
		want         Verdict
	}{
		{"nothing permits", `@id("other") permit (principal, action, resource == App::"c.D");`, Verdict{Rule: NoRule}},
		{"a rule permits", `@id("yes") permit (principal == Uid::"1000", action == Action::"act:click_element",
			resource == App::"a.B");`, Verdict{Allowed: true, Rule: "yes"}},
		{"another user", `@id("yes") permit (principal == Uid::"1001", action, resource);`, Verdict{Rule: NoRule}},
		{
			"a forbid wins", permitAll + `@id("no") forbid (principal, action, resource == App::"a.B");`,
			Verdict{Rule: "no", Forbidden: true},
		},
		{
			"a forbid makes an app sensitive", permitAll + `@id("no") @sensitive forbid (principal, action, resource);`,
			Verdict{Rule: "no", Forbidden: true, Sensitive: true},
		},
		{
			"a forbid that cannot be evaluated forbids",
			permitAll + `@id("broken") forbid (principal, action, resource) when { context.nothing == 1 };`,
			Verdict{Rule: "broken", Forbidden: true},
		},
		{
			"a permit that cannot be evaluated does not permit",
			`@id("broken") permit (principal, action, resource) when { context.nothing == 1 };`,
			Verdict{Rule: NoRule},
		},
		{
			"a group of actions", `@id("g") permit (principal, action in Action::"act", resource);`,
			Verdict{Allowed: true, Rule: "g"},
		},
		{"another group", `@id("g") permit (principal, action in Action::"lease", resource);`, Verdict{Rule: NoRule}},
		{
			"the first of several names it", `@id("z") permit (principal, action, resource);
			@id("b") permit (principal, action, resource); @id("a") permit (principal, action, resource);`,
			Verdict{Allowed: true, Rule: "z"},
		},
		{
			"a rule without an id is named by its line", "\n\npermit (principal, action, resource);",
			Verdict{Allowed: true, Rule: "line:3"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := mustParse(t, tt.bundle)
			for range 8 {
				if got := r.Decide(q); got != tt.want {
					t.Fatalf("Decide = %+v, want %+v", got, tt.want)
				}
			}
		})
	}
}

func TestEveryContextAttributeIsSeenByRules(t *testing.T) {
	tests := []struct {
		condition string
		set       func(*Question)
	}{
		{`context.class == "x"`, func(q *Question) { q.Class = "x" }},
		{`context.verb == "x"`, func(q *Question) { q.Verb = "x" }},
		{`context.role == "x"`, func(q *Question) { q.Role = "x" }},
		{`context.effect == "x"`, func(q *Question) { q.Effect = "x" }},
		{`context.destination == "https://shop.example:443"`, func(q *Question) { q.Destination = "https://shop.example:443" }},
		{`context.client == "x"`, func(q *Question) { q.Client = "x" }},
		{`context.secure`, func(q *Question) { q.Secure = true }},
		{`context.dialogs`, func(q *Question) { q.Dialogs = true }},
		{`context.window`, func(q *Question) { q.Window = true }},
		{`context.page`, func(q *Question) { q.Page = true }},
		{`context.vision`, func(q *Question) { q.Vision = true }},
		{`context.remote_pictures`, func(q *Question) { q.Remote = true }},
		{`context.text_length > 10`, func(q *Question) { q.TextLength = 11 }},
		{`principal == Uid::"7"`, func(q *Question) { q.UID = 7 }},
	}
	for _, tt := range tests {
		t.Run(tt.condition, func(t *testing.T) {
			r := mustParse(t, permitAll+`@id("no") forbid (principal, action, resource) when { `+tt.condition+` };`)
			q := Question{Action: Act("click_element"), App: "a.B"}
			if v := r.Decide(q); !v.Allowed {
				t.Errorf("without it = %+v", v)
			}
			tt.set(&q)
			if v := r.Decide(q); v.Allowed {
				t.Errorf("with it = %+v", v)
			}
		})
	}
}

func TestParseNamesTheLineAndNothingElse(t *testing.T) {
	const canary = "CANARY-7f3a"
	tests := []struct {
		name, bundle string
		want         Error
	}{
		{"syntax", "\n\npermit (principal, action, " + canary + ");", Error{FaultSyntax, 3}},
		{"a broken string", "\npermit (principal, action, resource == App::\"" + canary, Error{Fault: FaultSyntax}},
		{"not text", "\xff\xfe" + canary, Error{Fault: FaultSyntax}},
		{"nothing", "// " + canary, Error{FaultEmpty, 0}},
		{
			"an action that does not exist", "\n@id(\"x\")\npermit (principal, action == Action::\"" + canary + "\", resource);",
			Error{FaultAction, 2},
		},
		{
			"one of several", "permit (principal, action in [Action::\"act:perform\", Action::\"" + canary + "\"], resource);",
			Error{FaultAction, 1},
		},
		{
			"a principal that does not exist", "permit (principal == User::\"" + canary + "\", action, resource);",
			Error{FaultEntity, 1},
		},
		{
			"a resource that does not exist", "permit (principal, action, resource == Window::\"" + canary + "\");",
			Error{FaultEntity, 1},
		},
		{"another desk", "permit (principal, action, resource == Desk::\"" + canary + "\");", Error{FaultEntity, 1}},
		{"an id with a space", "@id(\"" + canary + " b\") permit (principal, action, resource);", Error{FaultID, 1}},
		{"an id of the floor", "@id(\"floor:x\") permit (principal, action, resource);", Error{FaultID, 1}},
		{"an id twice", permitAll + "\n" + permitAll, Error{FaultDuplicate, 2}},
		{
			"sensitive on a permit", "@id(\"a\") @sensitive permit (principal, action, resource);",
			Error{FaultAnnotation, 1},
		},
		{
			"sensitive on a permit without an id", "\n@sensitive permit (principal, action, resource);",
			Error{FaultAnnotation, 2},
		},
		{
			"a code on a permit", "@code(\"BLOCKED_URL\") permit (principal, action, resource);", Error{FaultAnnotation, 1},
		},
		{
			"a code and sensitive", "@code(\"BLOCKED_URL\") @sensitive forbid (principal, action, resource);",
			Error{FaultAnnotation, 1},
		},
		{"a code that does not exist", "\n@code(\"" + canary + "\") forbid (principal, action, resource);", Error{FaultCode, 2}},
		{"a code that says nothing", "@code forbid (principal, action, resource);", Error{FaultCode, 1}},
		{"a code in lower case", "@code(\"blocked_url\") forbid (principal, action, resource);", Error{FaultCode, 1}},
		{"a code that is another refusal", "@code(\"PAUSED\") forbid (principal, action, resource);", Error{FaultCode, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.bundle), words)
			var got *Error
			if !errors.As(err, &got) || got.Fault != tt.want.Fault {
				t.Fatalf("Parse = %v, want %q", err, tt.want.Fault)
			}
			if tt.want.Line != 0 && got.Line != tt.want.Line {
				t.Errorf("line %d, want %d", got.Line, tt.want.Line)
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("the error tells what the bundle says: %v", err)
			}
		})
	}
}

func TestLoadBelievesOnlyAFileNobodyElseCanChange(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good", permitAll, 0o644)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path string
		want       Fault
	}{
		{"a good file", good, ""},
		{"no path", "", FaultMissing},
		{"no file", filepath.Join(dir, "none"), FaultMissing},
		{"a link", link, FaultLink},
		{"a directory", dir, FaultNotFile},
		{"a pipe", pipe, FaultNotFile},
		{"writable by the group", write("group", permitAll, 0o620), FaultWritable},
		{"writable by others", write("others", permitAll, 0o602), FaultWritable},
		{"too large", write("large", permitAll+strings.Repeat(" ", BundleMax), 0o600), FaultTooLarge},
		{"as large as it may be", write("full", permitAll+strings.Repeat(" ", BundleMax-len(permitAll)), 0o600), ""},
		{"empty", write("empty", "", 0o600), FaultEmpty},
		{"not Cedar", write("broken", "permit", 0o600), FaultSyntax},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Load(tt.path, words)
			var got *Error
			switch {
			case tt.want == "" && (err != nil || r.Builtin() || r.Len() != 1):
				t.Fatalf("Load = %v", err)
			case tt.want != "" && (!errors.As(err, &got) || got.Fault != tt.want):
				t.Fatalf("Load = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestABundleOfAnotherUserIsNotBelieved(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("only root can give a file away, and CI has to see this test run")
		}
		t.Skip("only root can give a file away")
	}
	path := filepath.Join(t.TempDir(), "bundle")
	if err := os.WriteFile(path, []byte(permitAll), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	var got *Error
	if _, err := Load(path, words); !errors.As(err, &got) || got.Fault != FaultOwner {
		t.Errorf("Load = %v, want %q", err, FaultOwner)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(permitAll))
	f.Add([]byte(builtin))
	f.Add([]byte("permit(principal,action==Action::\"act\",resource) when {context.a has b};"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Parse(b, words)
		if err == nil && r.Decide(Question{Action: Lease("metadata_read"), App: "org.keepassxc.KeePassXC"}).Allowed {
			t.Fatal("a bundle got below the floor")
		}
	})
}
