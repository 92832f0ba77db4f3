package virtualdesk

import (
	"net/url"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
)

// Addresses the browser knows; any other has a page with a heading.
const (
	StartAddress  = "https://start.test/"
	ShopAddress   = "https://shop.test/"
	BasketAddress = "https://shop.test/basket"
	BankAddress   = "https://bank.test/"
)

// buildBrowser opens a browser with one page.
func buildBrowser(d *Desk, a *app) {
	w := d.openWindow(a, frame{title: "Browser", bounds: rect(780, 500, 600, 380), role: commonv1.Role_ROLE_WINDOW})
	w.site = &site{}
	bar := d.attach(w.root, plain(commonv1.Role_ROLE_TOOLBAR, "Toolbar", rect(0, 30, 600, 30)))
	d.attach(bar, button("Back", rect(8, 33, 60, 24), func(d *Desk, e *element) { d.goBack(e.win) }))
	address := plain(commonv1.Role_ROLE_LABEL, "", rect(80, 35, 400, 20))
	address.ident = "address"
	d.attach(bar, address)
	area := plain(commonv1.Role_ROLE_WEB_AREA, "", rect(1, 60, 598, 319))
	area.ident = "page"
	d.attach(w.root, area)
	d.load(w, webAddress(StartAddress))
}

// buildPage fills the page with what is at an address.
func buildPage(d *Desk, area *element, u *url.URL) {
	said := plain(commonv1.Role_ROLE_LABEL, "Ready", rect(24, 344, 400, 20))
	said.ident = "status"
	area.hooks.context = contextOf("Reload image", "Inspect")
	switch u.Host + u.Path {
	case "start.test/":
		d.attach(area, plain(commonv1.Role_ROLE_HEADING, "Start", rect(24, 76, 300, 28)))
		d.attach(area, pageLink("Shop", ShopAddress, 24, 116))
		d.attach(area, pageLink("Bank", BankAddress, 84, 116))
	case "shop.test/":
		d.attach(area, plain(commonv1.Role_ROLE_HEADING, "Shop", rect(24, 76, 300, 28)))
		d.attach(area, pageLink("Basket", BasketAddress, 24, 116))
		search := textField("Search", rect(24, 150, 240, 28))
		search.ident = "search"
		search.hooks.submit = says("Searched")
		d.attach(area, search)
		size := comboBox("Size", rect(280, 150, 120, 28), []string{"Small", "Large"}, "Small")
		d.attach(area, size)
		d.attach(area, checkable(commonv1.Role_ROLE_CHECK_BOX, "Gift", rect(24, 190, 100, 22)))
		buy := button("Buy", rect(24, 222, 90, 30), says("Bought"))
		buy.hooks.double = says("Bought twice")
		d.attach(area, buy)
	default:
		d.attach(area, plain(commonv1.Role_ROLE_HEADING, u.Hostname(), rect(24, 76, 400, 28)))
		d.attach(area, pageLink("Start", StartAddress, 24, 116))
	}
	d.attach(area, said)
}

// pageLink leads to an address when it is pressed. The middle button only says so: there
// is one page.
func pageLink(name, to string, x, y float64) *element {
	e := link(name, rect(x, y, 54, 22), func(d *Desk, e *element) {
		if u := webAddress(to); u != nil && e.win.site != nil {
			d.navigate(e.win, u)
		}
	})
	e.hooks.middle = says("Auxiliary click on " + name)
	return e
}
