// Package httpserver runs servers for health probes and metrics. Any pod may be a client: headers,
// connections and the time of each step are limited.
package httpserver
