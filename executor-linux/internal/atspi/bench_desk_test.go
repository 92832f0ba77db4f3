//go:build desk

package atspi

import (
	"context"
	"slices"
	"testing"
	"time"
)

// TestFigures prints what reading costs; it fails only on what would be a defect.
func TestFigures(t *testing.T) {
	for _, program := range [][]string{
		{"mousepad", "--disable-server"}, {"gnome-calculator"}, {"gtk3-widget-factory"},
	} {
		t.Run(program[0], func(t *testing.T) {
			d := startDesk(t)
			c := d.dial(t)
			a, top := app(t, c, d.start(t, nil, []string{"GSK_RENDERER=cairo"}, program[0], program[1:]...))
			tree := read(t, c, top.Ref, Limits{})
			bare := median(t, func(ctx context.Context) error {
				return c.one(ctx, callTime, method(Ref{Bus: a.Root.Bus, Path: cachePath}, "Cache.GetItems")).err
			})
			whole := median(t, func(ctx context.Context) error {
				_, err := c.ReadTree(ctx, top.Ref, Limits{})
				return err
			})
			last := tree.Nodes[len(tree.Nodes)-1].Ref
			again := median(t, func(ctx context.Context) error {
				_, err := c.Reread(ctx, top.Ref, last)
				return err
			})
			probe := median(t, func(ctx context.Context) error { return c.Alive(ctx, a.Root) })
			c.mu.Lock()
			c.toolkits[a.Root.Bus] = ToolkitQt
			c.mu.Unlock()
			uncached := median(t, func(ctx context.Context) error {
				_, err := c.ReadTree(ctx, top.Ref, Limits{})
				return err
			})
			t.Logf("%d nodes: GetItems %v, ReadTree %v, without the cache %v, Reread %v, Alive %v",
				len(tree.Nodes), bare, whole, uncached, again, probe)
			if whole > timeMax {
				t.Error("a small window takes longer than the limit")
			}
		})
	}
}

// median is the median duration of nine runs.
func median(t *testing.T, run func(context.Context) error) time.Duration {
	t.Helper()
	var took []time.Duration
	for range 9 {
		began := time.Now()
		if err := run(t.Context()); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2].Round(10 * time.Microsecond)
}
