module fairlead.dev/executor-linux

go 1.26.0

require (
	github.com/godbus/dbus/v5 v5.2.4 // indirect
	github.com/jezek/xgb v1.1.1 // indirect
	golang.org/x/sys v0.50.0 // indirect
)
