package api

import (
	"strings"
	"testing"
)

func TestNodeReady(t *testing.T) {
	for name, tc := range map[string]struct{ node, want string }{
		"ready":     {`{"status":{"conditions":[{"type":"DiskPressure","status":"False"},{"type":"Ready","status":"True"}]}}`, ""},
		"not ready": {`{"status":{"conditions":[{"type":"Ready","status":"False","message":"cni plugin not initialized"}]}}`, "cni plugin not initialized"},
		"new":       {`{"status":{"conditions":[{"type":"DiskPressure","status":"True"}]}}`, "no condition Ready"},
	} {
		t.Run(name, func(t *testing.T) {
			err := nodeReady([]byte(tc.node))
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("nodeReady = %v, want %q", err, tc.want)
			}
		})
	}
}
