package virtualdesk

import (
	"net/url"
	"strings"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	"fairlead.dev/services/executor"
	"fairlead.dev/services/shared/refusal"
)

const (
	// redirectsMax bounds the addresses that lead elsewhere, and how often one navigation
	// is led on.
	redirectsMax = 8
	// historyMax bounds how far back a browser can go.
	historyMax = 64
)

// site is what a browser's window shows: one address, and those before it.
type site struct {
	at      *url.URL
	history []*url.URL
}

// webAddress reads an address that a browser opens, nil for any other.
func webAddress(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u
}

// destinationOf is where an address leads: scheme, host and port, nothing else.
func destinationOf(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "http":
		port = "80"
	default:
		port = "443"
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// planPage turns an act on a page into the step of its browser.
func (d *Desk) planPage(w *window, m executor.Management) (step, refusal.Answer) {
	s := step{route: commonv1.Route_ROUTE_PAGE_DOM}
	if w.site == nil {
		return s, refusal.AnswerNotSupported
	}
	switch m.Verb {
	case commonv1.Verb_VERB_NAVIGATE:
		u := webAddress(m.URL)
		if u == nil {
			return s, refusal.AnswerNotSupported
		}
		s.do = func() { d.navigate(w, u) }
	case commonv1.Verb_VERB_GO_BACK:
		if len(w.site.history) == 0 {
			return s, refusal.AnswerElementNotActionable
		}
		s.do = func() { d.goBack(w) }
	default:
		s.do = func() { d.load(w, w.site.at) }
	}
	return s, 0
}

// navigate opens an address, or what it leads to.
func (d *Desk) navigate(w *window, u *url.URL) {
	for range redirectsMax {
		to := webAddress(d.redirects[u.String()])
		if to == nil {
			break
		}
		u = to
	}
	if len(w.site.history) >= historyMax {
		w.site.history = w.site.history[1:]
	}
	w.site.history = append(w.site.history, w.site.at)
	d.load(w, u)
}

func (d *Desk) goBack(w *window) {
	last := len(w.site.history) - 1
	if last < 0 {
		return
	}
	u := w.site.history[last]
	w.site.history = w.site.history[:last]
	d.load(w, u)
}

// load shows an address: a new document, and another renderer for another host (C1.4, C2.8).
func (d *Desk) load(w *window, u *url.URL) {
	area := w.find("page")
	if area == nil {
		return
	}
	if w.site.at == nil || w.site.at.Host != u.Host {
		d.next.renderer++
		w.renderer = d.next.renderer
	}
	w.site.at, w.destination = u, destinationOf(u)
	w.page = d.newPage("tab-1")
	for len(area.children) > 0 {
		d.detach(area.children[0])
	}
	d.closeContext(w)
	area.name = u.Hostname()
	if shown := w.find("address"); shown != nil {
		shown.name = u.Hostname()
	}
	buildPage(d, area, u)
	d.emit(executor.ChangeTree, w.app.pid)
}
