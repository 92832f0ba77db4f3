package atspi

import (
	"context"
	"errors"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	// callTime is how long a read waits without any answer of the application. Busy applications take some
	// hundred milliseconds for a large answer; a second and a half without one is a hung application.
	callTime = 1500 * time.Millisecond
	// window is how many calls are in flight at once: enough to hide the latency of two hops, small enough that
	// an application that is given up on has little left to work off.
	window = 96
)

// request is one call on one object.
type request struct {
	ref    Ref
	method string
	args   []any
}

// answer is its reply, or one of the classified errors.
type answer struct {
	body []any
	err  error
}

// get is the request for a property.
func get(ref Ref, iface, name string) request {
	return request{ref: ref, method: properties + "Get", args: []any{spi + iface, name}}
}

// method is the request for a method of an AT-SPI interface.
func method(ref Ref, name string, args ...any) request {
	return request{ref: ref, method: spi + name, args: args}
}

// start writes one request; the returned call is done when answered or when ctx ends.
func (c *Client) start(ctx context.Context, r request) *dbus.Call {
	object := c.conn.Object(r.ref.Bus, dbus.ObjectPath(r.ref.Path))
	return object.GoWithContext(ctx, r.method, dbus.FlagNoAutoStart, make(chan *dbus.Call, 1), r.args...)
}

// batch pipelines requests: at most window are unanswered at a time. It ends early when ctx ends or when nothing was
// answered for patience; what is unanswered then has ErrUnresponsive (or the context's error) as its answer.
func (c *Client) batch(ctx context.Context, patience time.Duration, requests []request) []answer {
	answers := make([]answer, len(requests))
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	calls := make([]*dbus.Call, len(requests))
	sent := 0
	for i := range requests {
		for ; sent < len(requests) && sent < i+window && inner.Err() == nil; sent++ {
			calls[sent] = c.start(inner, requests[sent])
		}
		if calls[i] == nil {
			answers[i].err = c.whyEnded(ctx)
			continue
		}
		select {
		case <-calls[i].Done:
			timer.Reset(patience)
		case <-timer.C:
			cancel()
			<-calls[i].Done
		}
		answers[i] = answer{body: calls[i].Body, err: classify(calls[i].Err)}
		if errors.Is(answers[i].err, ErrUnresponsive) && inner.Err() != nil {
			answers[i].err = c.whyEnded(ctx)
		}
	}
	return answers
}

// whyEnded tells a caller that gave up from an application that did not answer.
func (c *Client) whyEnded(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return ErrUnresponsive
}

// one is a batch of one.
func (c *Client) one(ctx context.Context, patience time.Duration, r request) answer {
	return c.batch(ctx, patience, []request{r})[0]
}

// rereadTime bounds the look right before a send: longer, and what was read first is stale again.
const rereadTime = 2 * time.Second
