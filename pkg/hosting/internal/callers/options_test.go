package callers

import (
	"testing"

	"github.com/spf13/pflag"
)

func TestUIDHeadersIncludeTheStandardOne(t *testing.T) {
	for value, want := range map[string]bool{"X-Remote-Uid": true, "x-uid,x-remote-uid": true, "X-Uid": false, "X-Remote-User": false} {
		o := NewOptions(nil)
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.AddFlags(flags)
		if err := flags.Parse([]string{"--requestheader-uid-headers=" + value}); err != nil {
			t.Fatal(err)
		}
		if err := o.Complete(""); (err == nil) != want {
			t.Errorf("%s: the error is %v", value, err)
		}
	}
}
