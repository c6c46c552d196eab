package output

import "github.com/go-logr/logr"

// Log returns a logger for what libraries log, such as the warnings of API servers.
func (w Writer) Log() logr.Logger { return logr.New(sink{w}) }

type sink struct{ to Writer }

func (s sink) Init(logr.RuntimeInfo)                {}
func (s sink) Enabled(int) bool                     { return true }
func (s sink) WithValues(...any) logr.LogSink       { return s }
func (s sink) WithName(string) logr.LogSink         { return s }
func (s sink) Info(_ int, message string, _ ...any) { s.to.Printf("%s\n", message) }

func (s sink) Error(err error, message string, _ ...any) { s.to.Printf("%s: %v\n", message, err) }
