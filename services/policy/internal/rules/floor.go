package rules

import (
	"path"
	"strings"
)

// The floor: apps that are off limits to agents on every path, whatever a bundle,
// an answer or a debug mode says (C10.4). It is a list of exact identities, never of
// parts of names: an app that merely has "password" in its name is not on it. Ids are
// compared without regard to case and without ".desktop". A program is compared by
// the last element of its path, wherever it lies, and so is a script that an
// interpreter runs.

// sensitiveIDs are ids the system gives: desktop files, scopes, macOS bundles.
var sensitiveIDs = set(
	// Credential managers, Linux.
	"org.gnome.seahorse.application", "org.gnome.seahorse", "org.gnome.world.secrets", "org.gnome.passwordsafe",
	"org.keepassxc.keepassxc", "org.keepass.keepass", "org.kde.kwalletmanager5", "org.kde.kwalletmanager",
	"org.kde.kwalletd5", "org.kde.kwalletd6", "org.kde.ksecretd", "com.bitwarden.desktop",
	"com.1password.1password", "com.onepassword.onepassword", "io.enpass.enpass", "com.enpass.enpass",
	"me.proton.pass", "proton.pass", "com.dashlane.dashlane", "com.lastpass.lastpass", "org.gnome.authenticator",
	"com.belmoussaoui.authenticator", "com.yubico.yubioath", "com.yubico.authenticator", "org.gnupg.gpa",
	"org.kde.kleopatra", "com.github.alecaddd.sequeler.keyring", "org.buttercup.buttercup", "com.buttercup.buttercup",
	// System authentication and lock screens, Linux.
	"org.gnome.shell", "org.gnome.gdm", "org.gnome.screensaver", "org.gnome.keyring.systemprompter",
	"org.gnome.keyring.prompter", "org.gnome.gcr.prompter", "org.freedesktop.policykit1.authenticationagent",
	"org.kde.polkit-kde-authentication-agent-1", "org.kde.screenlocker", "org.kde.ksmserver.lockscreen",
	"org.mate.screensaver", "org.cinnamon.screensaver", "org.xfce.screensaver",
	// macOS.
	"com.apple.securityagent", "com.apple.loginwindow", "com.apple.passwords", "com.apple.passwords.menubarextra",
	"com.apple.keychainaccess", "com.apple.keychaincircle.kdcagent", "com.apple.authorizationhost",
	"com.apple.coreauthui", "com.apple.localauthentication.uiagent", "com.apple.localauthenticationremoteservice",
	"com.apple.screensaver.engine", "com.apple.screensharing.agent", "com.apple.accessibility.universalaccessauthwarn",
	"com.apple.universalaccessauthwarn", "com.apple.directoryutility", "com.apple.ticketviewer",
	"com.agilebits.onepassword7", "com.agilebits.onepassword-osx", "com.agilebits.onepassword4",
	"com.dashlane.dashlanephonefinal", "in.sinew.enpass-desktop", "in.sinew.enpass-desktop.app",
	"com.lastpass.lastpassmacdesktop", "com.keepassium.ios", "com.markmcguill.strongbox.mac", "me.proton.pass.electron",
)

// sensitiveNames are names of programs, and ids that are nothing but such a name.
var sensitiveNames = set(
	// Credential managers.
	"seahorse", "secrets", "gnome-passwordsafe", "keepassxc", "keepass", "keepass2", "keepassx", "kwalletmanager",
	"kwalletmanager5", "kwalletd5", "kwalletd6", "ksecretd", "bitwarden", "bitwarden-desktop", "1password",
	"onepassword", "enpass", "proton-pass", "dashlane", "lastpass", "qtpass", "gopass-ui", "pass-import", "revelation",
	"figaros-password-manager2", "password-gorilla", "pwsafe", "buttercup", "buttercup-desktop", "authenticator",
	"yubioath-desktop", "yubico-authenticator", "kleopatra", "gpa", "gnome-keyring-3", "gnome-keyring-daemon",
	// System authentication.
	"polkit-gnome-authentication-agent-1", "polkit-kde-authentication-agent-1", "polkit-mate-authentication-agent-1",
	"polkit-agent-helper-1", "lxpolkit", "lxqt-policykit-agent", "mate-polkit", "xfce-polkit", "ukui-polkit",
	"polkit-dde-authentication-agent", "hyprpolkitagent", "soteria", "cmd-polkit-agent", "pkttyagent", "pkexec",
	"pinentry", "pinentry-gtk", "pinentry-gtk-2", "pinentry-gtk2", "pinentry-gnome3", "pinentry-qt", "pinentry-qt4",
	"pinentry-qt5", "pinentry-qt6", "pinentry-x11", "pinentry-fltk", "pinentry-efl", "pinentry-mac", "gcr-prompter",
	"gcr4-ssh-askpass", "gcr-ssh-askpass", "ssh-askpass", "x11-ssh-askpass", "gnome-ssh-askpass", "gnome-ssh-askpass2",
	"gnome-ssh-askpass3", "lxqt-openssh-askpass", "ksshaskpass", "ssh-askpass-fullscreen", "ssh-askpass-gnome",
	"gksu", "gksudo", "kdesu", "kdesudo", "lxqt-sudo", "lxsudo", "securityagent",
	// Lock screens and greeters.
	"gnome-shell", "gnome-screensaver", "gnome-screensaver-dialog", "xscreensaver", "xscreensaver-auth",
	"xscreensaver-gfx", "xscreensaver-systemd", "xsecurelock", "auth_x11", "i3lock", "i3lock-color", "betterlockscreen",
	"light-locker", "dm-tool", "xfce4-screensaver", "xfce4-screensaver-dialog", "mate-screensaver",
	"mate-screensaver-dialog", "cinnamon-screensaver", "cinnamon-screensaver-main.py", "cinnamon-unlock-dialog",
	"kscreenlocker_greet", "swaylock", "hyprlock", "waylock", "gtklock", "physlock", "slock", "xlock", "xtrlock", "vlock",
	"alock", "lightdm-gtk-greeter", "slick-greeter", "unity-greeter", "arctica-greeter", "web-greeter",
	"lightdm-webkit2-greeter", "pi-greeter", "sddm-greeter", "sddm-greeter-qt6", "regreet", "gtkgreet", "qtgreet",
	// The credential surfaces of Windows, as the list this one was drawn from has them.
	"logonui", "credentialuibroker", "consent", "lockapp",
)

// Fairlead's own processes and surfaces: no agent decides what an agent may do. The
// applications of the virtual desk, fairlead.virtual.*, are not among them.
const (
	ownProgram = "fairlead"
	ownPrefix  = "fairlead-"
	ownID      = "dev.fairlead"
)

func sensitive(app string) bool {
	id := strings.ToLower(strings.TrimSpace(app))
	for _, part := range append(parts(id), id) {
		// With the ending first: "com.bitwarden.desktop" is a whole id.
		if sensitiveIDs[part] || sensitiveIDs[strings.TrimSuffix(part, ".desktop")] || sensitiveName(part) {
			return true
		}
	}
	return false
}

// parts returns the names inside an id: exe:/path and exe:/interpreter with a script,
// however the two are joined, and the id itself.
func parts(id string) []string {
	split := func(r rune) bool { return r == ' ' || r == '\t' || r == ':' || r == '+' }
	out := []string{path.Base(id)}
	for _, f := range strings.FieldsFunc(id, split) {
		out = append(out, path.Base(f))
	}
	return out
}

// suffixes are endings that say how a program is packed, not which one it is.
var suffixes = []string{".exe", ".appimage", ".app", ".desktop", ".bin", ".py"}

func sensitiveName(name string) bool {
	if own(name) || sensitiveNames[name] {
		return true
	}
	for _, s := range suffixes {
		if short, ok := strings.CutSuffix(name, s); ok && (own(short) || sensitiveNames[short]) {
			return true
		}
	}
	return false
}

func own(name string) bool {
	return name == ownProgram || strings.HasPrefix(name, ownPrefix) ||
		name == ownID || strings.HasPrefix(name, ownID+".")
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}
