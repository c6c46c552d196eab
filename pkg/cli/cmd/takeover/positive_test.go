package takeover

import (
	"io"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The error names the flag. No cluster is read: the kubeconfig does not exist.
func TestFlagsOfAtLeastOne(t *testing.T) {
	for _, test := range []struct{ command, flag, value string }{
		{"plan", "concurrency", "0"}, {"plan", "manager-replicas", "-1"},
		{"run", "concurrency", "0"}, {"run", "manager-replicas", "0"},
		{"undo", "concurrency", "0"}, {"undo", "manager-replicas", "0"}, {"undo", "olm-replicas", "0"},
	} {
		t.Run(test.command+" "+test.flag, func(t *testing.T) {
			cmd := NewCommand()
			cmd.SetArgs([]string{test.command, "--kubeconfig=/does/not/exist", "--" + test.flag + "=" + test.value})
			cmd.SetOut(io.Discard)
			cmd.SetErr(io.Discard)
			err := cmd.Execute()
			if err == nil {
				t.Fatal("no error")
			}
			installtest.Contains(t, err.Error(), "--"+test.flag, "it must be at least 1")
		})
	}
}
