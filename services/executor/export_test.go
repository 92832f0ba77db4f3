package executor

import (
	"context"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/ident"
)

// What the tests over the virtual desk need; it imports this package, so they cannot
// be part of it.

type Rig = rig

func Ready(t testing.TB, p Platform) *Rig { return ready(t, p) }

func (r *rig) Snapshot(w ident.Window) *executorv1.Snapshot { return r.snapshot(w) }

func (r *rig) Act(s *executorv1.Snapshot, i int, a *commonv1.Act) *executorv1.DispatchResponse {
	return r.act(s, i, a)
}

func (r *rig) Signed(
	s *executorv1.Snapshot, i int, a *commonv1.Act, routes ...commonv1.Route,
) *executorv1.DispatchRequest {
	o := r.order(s, i, a)
	o.claims.Routes = routes
	o.req.Permit = o.sign(o.claims)
	return o.req
}

// Direct dispatches without gRPC.
func (r *rig) Direct(req *executorv1.DispatchRequest) (*executorv1.DispatchResponse, error) {
	return r.e.dispatch(context.Background(), req)
}

func (r *rig) Picture(app string) *executorv1.PictureRequest {
	return &executorv1.PictureRequest{Permit: r.read(forPictures(app))}
}

func (r *rig) TrySnapshot(w ident.Window, pic *executorv1.PictureRequest) *executorv1.SnapshotResponse {
	return r.trySnapshot(w, r.read(forApp(w.App)), pic)
}
