package executorlink

import (
	"context"

	executorv1 "fairlead.dev/gen/fairlead/executor/v1"
	"fairlead.dev/services/shared/ident"
	"fairlead.dev/services/shared/refusal"
	"fairlead.dev/services/shared/rpc"
)

// BeginSession gives the executor a session's act key.
func (l *Link) BeginSession(ctx context.Context, id ident.SessionID, key ident.ActKey) error {
	resp, err := l.client.BeginSession(ctx, &executorv1.BeginSessionRequest{
		Fence: l.wireFence(), SessionId: string(id), ActKey: key[:],
	})
	if err != nil {
		return readFailed(ctx)
	}
	if resp.GetCode() != 0 {
		return refusal.FromAnswer(resp.GetCode(), nil)
	}
	return nil
}

// EndSession makes the executor forget a session. It has its own deadline: a caller
// that is gone must not keep an executor from forgetting.
func (l *Link) EndSession(ctx context.Context, id ident.SessionID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelMax)
	defer cancel()
	// A failure means that the incarnation is ending, and everything with it.
	_, _ = l.client.EndSession(ctx, &executorv1.EndSessionRequest{Fence: l.wireFence(), SessionId: string(id)})
}

// Cancel cancels a dispatch by name (C9.7).
func (l *Link) Cancel(ctx context.Context, id ident.SessionID, dispatch string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelMax)
	defer cancel()
	// The dispatch itself answers with its outcome; this call only asks.
	_, _ = l.client.Cancel(ctx, &executorv1.CancelRequest{
		Fence: l.wireFence(), SessionId: string(id), DispatchId: dispatch,
	})
}

// ListApps lists apps.
func (l *Link) ListApps(
	ctx context.Context, req *executorv1.ListAppsRequest,
) (*executorv1.ListAppsResponse, error) {
	req.Fence = l.wireFence()
	resp, err := l.client.ListApps(ctx, req)
	if err != nil {
		return nil, readFailed(ctx)
	}
	if resp.GetCode() != 0 {
		return nil, refusal.FromAnswer(resp.GetCode(), nil)
	}
	return resp, l.readable(resp)
}

// ListWindows lists windows.
func (l *Link) ListWindows(
	ctx context.Context, req *executorv1.ListWindowsRequest,
) (*executorv1.ListWindowsResponse, error) {
	req.Fence = l.wireFence()
	resp, err := l.client.ListWindows(ctx, req)
	if err != nil {
		return nil, readFailed(ctx)
	}
	if resp.GetCode() != 0 {
		return nil, refusal.FromAnswer(resp.GetCode(), nil)
	}
	return resp, l.readable(resp)
}

// ResolveApp resolves an app id.
func (l *Link) ResolveApp(
	ctx context.Context, req *executorv1.ResolveAppRequest,
) (*executorv1.ResolveAppResponse, error) {
	req.Fence = l.wireFence()
	resp, err := l.client.ResolveApp(ctx, req)
	if err != nil {
		return nil, readFailed(ctx)
	}
	if resp.GetCode() != 0 {
		return nil, refusal.FromAnswer(resp.GetCode(), nil)
	}
	return resp, l.readable(resp)
}

// Capture takes a region of a snapshot's window.
func (l *Link) Capture(
	ctx context.Context, req *executorv1.CaptureRequest,
) (*executorv1.CaptureResponse, error) {
	req.Fence = l.wireFence()
	resp, err := l.client.Capture(ctx, req)
	if err != nil {
		return nil, readFailed(ctx)
	}
	if resp.GetCode() != 0 {
		return nil, refusal.FromAnswer(resp.GetCode(), resp.GetDetail())
	}
	return resp, l.readable(resp)
}

// GetDesk tells about the desk itself.
func (l *Link) GetDesk(
	ctx context.Context, req *executorv1.GetDeskRequest,
) (*executorv1.GetDeskResponse, error) {
	req.Fence = l.wireFence()
	resp, err := l.client.GetDesk(ctx, req)
	if err != nil {
		return nil, readFailed(ctx)
	}
	if resp.GetCode() != 0 {
		return nil, refusal.FromAnswer(resp.GetCode(), nil)
	}
	return resp, l.readable(resp)
}

// Snapshot reads a window. The caller checks the tree.
func (l *Link) Snapshot(
	ctx context.Context, req *executorv1.SnapshotRequest,
) (*executorv1.Snapshot, error) {
	req.Fence = l.wireFence()
	resp, err := l.client.Snapshot(ctx, req)
	if err != nil {
		return nil, readFailed(ctx)
	}
	if resp.GetCode() != 0 {
		return nil, refusal.FromAnswer(resp.GetCode(), resp.GetDetail())
	}
	return resp.GetSnapshot(), nil
}

// Dispatch sends an act. It is never abandoned: the caller's context does not cancel
// it, only the deadline and Cancel do, because dropping the call loses the outcome.
func (l *Link) Dispatch(
	ctx context.Context, req *executorv1.DispatchRequest,
) (*executorv1.DispatchResponse, error) {
	req.Fence = l.wireFence()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rpc.CallMax)
	defer cancel()
	ctx, written := rpc.Track(ctx)
	resp, err := l.client.Dispatch(ctx, req)
	if err != nil {
		return nil, actFailed(written)
	}
	return resp, nil
}

// Launch launches a resolved app, under the same rules as Dispatch.
func (l *Link) Launch(
	ctx context.Context, req *executorv1.LaunchAppRequest,
) (*executorv1.LaunchAppResponse, error) {
	req.Fence = l.wireFence()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rpc.CallMax)
	defer cancel()
	ctx, written := rpc.Track(ctx)
	resp, err := l.client.LaunchApp(ctx, req)
	if err != nil {
		return nil, actFailed(written)
	}
	if rpc.Unknown(resp) {
		l.Violated()
		return nil, refusal.New(refusal.OutcomeUnknown)
	}
	return resp, nil
}
