// Package httpserver runs the manager's own HTTP servers, for health probes and for metrics.
//
// A client of these servers can be any pod of the cluster. Each server therefore has a limit for
// the size of a header, for the number of connections, and for the time that each step takes.
package httpserver
