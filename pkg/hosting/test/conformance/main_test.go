// Package conformance tests pkg/hosting with the real API server as the client: what
// counts is what an API server makes of the answers.
package conformance

import (
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var cluster *kube.Cluster

func TestMain(m *testing.M) { kube.Main(m, &cluster) }
