package lane

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/services/shared/refusal"
)

func TestOneActPerWindowInOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, k := New(), Key{Executor: 1, Root: 7}
		first, err := l.Take(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		for i := range 3 {
			go func() {
				release, err := l.Take(t.Context(), k)
				if err != nil {
					t.Errorf("take: %v", err)
					return
				}
				order = append(order, i) // only the lane's holder writes
				release()
			}()
			synctest.Wait()
		}
		if len(order) != 0 {
			t.Fatal("a lane was taken twice")
		}
		first()
		synctest.Wait()
		if len(order) != 3 || order[0] != 0 || order[1] != 1 || order[2] != 2 {
			t.Errorf("order %v", order)
		}
	})
}

func TestAnotherWindowIsNotDelayed(t *testing.T) {
	l := New()
	if _, err := l.Take(t.Context(), Key{Executor: 1, Root: 7}); err != nil {
		t.Fatal(err)
	}
	for _, k := range []Key{{Executor: 1, Root: 8}, {Executor: 2, Root: 7}, {Executor: 1, Launch: true}} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, err := l.Take(ctx, k); err != nil {
			t.Errorf("%+v: %v", k, err)
		}
		cancel()
	}
}

func TestAFullQueueIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, k := New(), Key{Root: 1}
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := l.Take(ctx, k); err != nil {
			t.Fatal(err)
		}
		for range waitingMax {
			go func() { _, _ = l.Take(ctx, k) }()
		}
		synctest.Wait()
		var r *refusal.Error
		if _, err := l.Take(ctx, k); !errors.As(err, &r) || r.Code != refusal.Busy {
			t.Errorf("got %v", err)
		}
		cancel()
		synctest.Wait()
		if _, waiting := l.Count(); waiting != 0 || len(l.turns) != 0 {
			t.Errorf("%d still wait after they left, %d channels are kept", waiting, len(l.turns))
		}
	})
}

func TestAWaiterThatLeavesTakesNothing(t *testing.T) {
	l, k := New(), Key{Root: 1}
	release, err := l.Take(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Take(gone, k); err == nil {
		t.Fatal("a caller that is gone took the lane")
	}
	release()
	release() // letting go twice is letting go once
	if held, _ := l.Count(); held != 0 {
		t.Errorf("%d lanes held", held)
	}
}

// TestATurnThatComesToAWaiterThatLeavesGoesOn ends a wait at the moment its turn comes,
// in both orders: the next in line gets the lane.
func TestATurnThatComesToAWaiterThatLeavesGoesOn(t *testing.T) {
	for round := range 200 {
		synctest.Test(t, func(t *testing.T) {
			l, k := New(), Key{Root: 1}
			first, err := l.Take(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			take := func(ctx context.Context) {
				if release, err := l.Take(ctx, k); err == nil {
					release()
				} else if ctx.Err() == nil {
					t.Errorf("take: %v", err)
				}
			}
			go take(ctx)
			synctest.Wait()
			go take(t.Context())
			synctest.Wait()
			if _, waiting := l.Count(); waiting != 2 {
				t.Fatalf("%d wait", waiting)
			}
			if round%2 == 0 {
				cancel()
				first()
			} else {
				first()
				cancel()
			}
			synctest.Wait()
			if held, waiting := l.Count(); held != 0 || waiting != 0 || len(l.turns) != 0 {
				t.Fatalf("%d held, %d wait, %d channels are kept", held, waiting, len(l.turns))
			}
		})
	}
}
