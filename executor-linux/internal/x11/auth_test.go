package x11

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func encodeAuth(entries ...authEntry) []byte {
	var b []byte
	for _, e := range entries {
		b = binary.BigEndian.AppendUint16(b, e.family)
		for _, f := range [][]byte{[]byte(e.address), []byte(e.display), []byte(e.name), e.data} {
			b = binary.BigEndian.AppendUint16(b, uint16(len(f)))
			b = append(b, f...)
		}
	}
	return b
}

func entry(family uint16, address, display, data string) authEntry {
	return authEntry{family: family, address: address, display: display, name: cookieProtocol, data: []byte(data)}
}

func TestCookieIsPickedByHostAndDisplay(t *testing.T) {
	other := authEntry{family: familyWild, display: "1", name: "XDM-AUTHORIZATION-1", data: []byte("xdm")}
	tests := []struct {
		name    string
		entries []authEntry
		want    string
	}{
		{"exact", []authEntry{entry(familyLocal, "me", "1", "a")}, "a"},
		{"local with empty number", []authEntry{entry(familyLocal, "me", "", "b")}, "b"},
		{"wild with empty number", []authEntry{entry(familyWild, "", "", "c")}, "c"},
		{"wild with address", []authEntry{entry(familyWild, "elsewhere", "1", "d")}, "d"},
		{"other host", []authEntry{entry(familyLocal, "you", "1", "e")}, ""},
		{"other display", []authEntry{entry(familyLocal, "me", "2", "f")}, ""},
		{"other family", []authEntry{entry(0, "me", "1", "g")}, ""},
		{"other protocol", []authEntry{other}, ""},
		{"number beats catch-all", []authEntry{entry(familyWild, "", "", "old"), entry(familyLocal, "me", "1", "h")}, "h"},
		{"first of equals", []authEntry{entry(familyWild, "", "1", "i"), entry(familyWild, "", "1", "j")}, "i"},
		{"none", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			parsed, err := parseAuth(encodeAuth(tt.entries...))
			if err != nil {
				t.Fatal(err)
			}
			e, ok := pickAuth(parsed, "me", "1")
			if string(e.data) != tt.want || ok != (tt.want != "") {
				t.Errorf("cookie = %q, %v; want %q", e.data, ok, tt.want)
			}
		})
	}
}

func TestDamagedAuthFileKeepsEarlierEntries(t *testing.T) {
	whole := encodeAuth(entry(familyWild, "", "", "cookie"))
	for cut := 1; cut < len(whole); cut++ {
		b := append(bytes.Clone(whole), whole[:cut]...)
		entries, err := parseAuth(b)
		if !errors.Is(err, errAuthFormat) || len(entries) != 1 {
			t.Fatalf("cut at %d: %d entries, error %v", cut, len(entries), err)
		}
	}
}

func TestMissingAuthFileMeansNoCookie(t *testing.T) {
	name, data, err := loadAuth(filepath.Join(t.TempDir(), "none"), "0")
	if name != "" || data != nil || err != nil {
		t.Errorf("got %q %q %v", name, data, err)
	}
	path := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(path, []byte{1}, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := loadAuth(path, "0"); !errors.Is(err, errAuthFormat) {
		t.Errorf("error = %v", err)
	}
}

func TestOnlyLocalDisplaysAreDialled(t *testing.T) {
	for display, want := range map[string]string{
		":0": "0", ":12.0": "12", "unix:3": "3", ":007": "7",
		"host:0": "", ":0.1": "", ":x": "", "tcp/host:0": "", "/tmp/s:0": "", ":": "", ":../1": "",
	} {
		number, socket, err := localDisplay(display)
		if number != want || (err != nil) != (want == "") {
			t.Errorf("%q = %q %q %v, want %q", display, number, socket, err, want)
		}
	}
}

func FuzzParseAuth(f *testing.F) {
	f.Add(encodeAuth(entry(familyLocal, "me", "1", "0123456789abcdef")))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := parseAuth(b)
		if err == nil && !bytes.Equal(encodeAuth(entries...), b) {
			t.Error("an accepted file does not encode to itself")
		}
	})
}
