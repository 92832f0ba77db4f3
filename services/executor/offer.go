package executor

// Offer puts a change into the channel of a subscriber to the changes of a process, or
// with pid 0 of all, and waits for nobody. An event says "look again", never what changed.
// Changes of content take up to half of the channel and are dropped beyond: content that
// changes all the time is no news, and never crowds out what is (C2.7). When all places but
// the last are taken by others, a ChangeLost takes that one, and what follows is dropped
// until the subscriber has read: so loss is always told, and whatever was missed happened
// before the subscriber looks again. Only one goroutine at a time may offer.
func Offer(ch chan Change, pid int32, c Change) {
	if pid != 0 && c.PID != 0 && c.PID != pid {
		return
	}
	switch free := cap(ch) - len(ch); {
	case free == 0:
	case c.Kind == ChangeTree && free <= cap(ch)/2:
	case free == 1:
		ch <- Change{Kind: ChangeLost}
	default:
		ch <- c
	}
}
