package harness

import (
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	hostv1 "fairlead.dev/gen/fairlead/host/v1"
)

// App names an app as a target.
func App(id string) *commonv1.Target {
	return &commonv1.Target{Target: &commonv1.Target_App{App: &commonv1.AppTarget{AppId: id}}}
}

// Desk names the desk as a target.
func Desk() *commonv1.Target {
	return &commonv1.Target{Target: &commonv1.Target_Desk{Desk: &commonv1.DeskTarget{}}}
}

// OfApp asks for the one window of an app.
func OfApp(app string) *hostv1.ObserveRequest {
	return &hostv1.ObserveRequest{Target: &hostv1.ObserveRequest_AppId{AppId: app}}
}

// OfWindow asks for a window.
func OfWindow(w *commonv1.WindowIdentity) *hostv1.ObserveRequest {
	return &hostv1.ObserveRequest{Target: &hostv1.ObserveRequest_Window{Window: w}}
}

// OneWindow names a window as a target.
func OneWindow(w *commonv1.WindowIdentity) *commonv1.Target {
	return &commonv1.Target{Target: &commonv1.Target_Window{Window: &commonv1.WindowTarget{Window: w}}}
}
