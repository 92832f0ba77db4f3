package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
)

// costs measures what one agent's calls cost in a place.
func costs(ctx context.Context, out io.Writer, o options, p place, within time.Duration) (_ *claim, err error) {
	if lack := p.absent(o); lack != "" {
		missing(out, p.title, lack)
		return nil, nil
	}
	var all closers
	defer func() { err = errors.Join(err, all.close()) }()
	b, err := p.start(ctx, &all, o, sceneSights)
	if err != nil {
		return nil, err
	}
	cc, err := b.dial(b.agent)
	if err != nil {
		return nil, err
	}
	vs, err := variants(ctx, &all, filepath.Join(b.dir, "echo"), cc, p.apart)
	if err != nil {
		return nil, err
	}
	f, err := measure(ctx, p.title, within, o, vs)
	if err != nil {
		return nil, err
	}
	f.print(out)
	if !f.complete() {
		return nil, nil
	}
	return f.claim(), nil
}

// variants are the rows of a system with the populated desk.
func variants(
	ctx context.Context, all *closers, dir string, cc grpc.ClientConnInterface, apart bool,
) ([]variant, error) {
	e, end, err := startEcho(ctx, dir, apart)
	if err != nil {
		return nil, err
	}
	all.add(end)
	db, err := openStore(ctx, dir)
	if err != nil {
		return nil, err
	}
	all.add(db.close)
	vs := []variant{{rowEcho, 8, e.call}, {rowThree, 4, e.three}, {rowInsert, 4, func(ctx context.Context) error {
		return errors.Join(e.three(ctx), db.add(ctx))
	}}}
	var looks []variant
	for i, s := range sights {
		c, err := newClient(ctx, cc)
		if err != nil {
			return nil, err
		}
		if err := c.mayAct(ctx, s.app); err != nil {
			return nil, err
		}
		if err := c.find(ctx, s.app, s.title); err != nil {
			return nil, err
		}
		if int(c.seen) != s.elements {
			return nil, fmt.Errorf("%s shows %d elements", s.title, c.seen)
		}
		act, times := rowAct(s.elements), 1
		if i == 0 {
			act, times = rowEmpty, 4
		}
		vs = append(vs, variant{act, times, c.toggle})
		looks = append(looks, variant{rowObserve(s.elements), times, c.outline})
	}
	return append(vs, looks...), nil
}
