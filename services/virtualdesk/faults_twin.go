package virtualdesk

// OpenAgain makes a running app open the windows it opens at start once more, on top of
// the stack and that far away from the first ones: the same titles, layout and elements,
// other windows. It returns their ids, lowest first. Whoever looks for a window by what it
// looks like finds the wrong one (C0.2, C1.3).
func (d *Desk) OpenAgain(appID string, dx, dy float64) ([]uint64, error) {
	var ids []uint64
	err := d.faultApp(appID, func(a *app) error {
		if !a.running {
			return ErrNotThere
		}
		before := len(d.stack)
		a.build(d, a)
		for _, w := range d.stack[before:] {
			w.bounds = shift(w.bounds, dx, dy)
			ids = append(ids, w.id)
		}
		return nil
	})
	return ids, err
}
